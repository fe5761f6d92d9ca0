/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of forms that give a method, in pieces of any size.
 */
#include "gateway/http/form.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define FORM "application/x-www-form-urlencoded"
#define OF_SET FORM "; charset="
#define PART "--x\r\nContent-Disposition: form-data; "

/* Take a body in pieces. Return whether a field in it gives a method. */
static bool overrides(bool has_rules, const char *type, const char *body, size_t piece)
{
	static struct head head;
	struct form form;
	char text[256];
	bool is_found = false;

	(void)snprintf(text, sizeof(text), "POST /repos/acme/ HTTP/1.1\r\nHost: a%s%s\r\n\r\n",
		       type ? "\r\nContent-Type: " : "", type ? type : "");
	cr_assert_eq(head_read_request(text, strlen(text), &head), HEAD_SOUND);
	form_begin(&form, &head, has_rules);
	for (size_t at = 0, size = strlen(body); at < size; at += piece)
		is_found |= form_overrides(
			&form, (struct slice){ body + at, size - at < piece ? size - at : piece });
	return is_found;
}

Test(form, fields)
{
	static const struct {
		const char *type, *body;
		bool is_found;
	} rows[] = {
		{ "application/x-www-form-urlencoded", "_method=DELETE", true },
		{ "application/x-www-form-urlencoded; charset=utf-8", "a=b&_method=DELETE", true },
		{ "Application/X-WWW-Form-URLEncoded", "a;%5Fmetho%64=DELETE", true },
		{ "application/x-www-form-urlencoded", "+%20%20%20%20 .method=DELETE", true },
		{ "application/x-www-form-urlencoded", "_method[]=DELETE", true },
		{ "application/x-www-form-urlencoded", "a=_methods&method=b&my_method=c", false },
		{ "multipart/form-data; boundary=x", PART "name=\"_method\"\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name=_method\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name=\"a\"\r\n\r\nmy _method", false },
		{ "multipart/form-data; boundary=x", PART "name=_method; x=y\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name=_method \r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name='_method'\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name=\"\\_method\"\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", PART "name*=utf-8''_method\r\n\r\nPUT", true },
		{ "multipart/form-data; boundary=x", "--x\r\nContent-ID: _method\r\n\r\nPUT",
		  true },
		{ "multipart/form-data; boundary=x", PART "name=a; x=y\r\n\r\nb: c", false },
		{ NULL, "a=b&_method=DELETE", true }, /* Rack takes it for a form */
		{ NULL, "{\"a\": \"b\"}", false },
		{ "text/plain", "_method=DELETE", false },
		{ OF_SET "utf-16", "%00_%00m%00e%00t%00h%00o%00d=%00P%00U%00T", true },
		{ OF_SET "IBM037", "m%85%a3%88%96%84=x", true },
		{ OF_SET "utf-8; charset=utf-16", "a=b", true },
		{ OF_SET "\"UTF-8\"", "a=b", false },
		{ OF_SET "ISO-8859-1", "a=b", false },
		{ FORM "\r\nContent-Encoding: gzip", "\x1f\x8b", true },
		{ FORM "\r\nContent-Encoding: identity", "a=b", false },
		{ FORM "\r\nContent_Encoding: gzip", "\x1f\x8b", true },
		{ "application/x-git-upload-pack-request\r\nContent-Encoding: gzip", "\x1f\x8b",
		  false },
		{ "application/json", "{\"_method\": \"DELETE\"}", false }, /* it is not read */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t piece = 1; piece < 20; piece += 6) {
			cr_expect_eq(overrides(true, rows[i].type, rows[i].body, piece),
				     rows[i].is_found, "%s", rows[i].body);
			cr_expect_not(overrides(false, rows[i].type, rows[i].body, piece),
				      "a host without rules");
		}
	}
}
