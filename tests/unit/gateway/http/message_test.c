/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests as they are written anew, refusals with their rules, and answers.
 */
#include "gateway/http/message.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

#define END "\r\n\r\n"

static struct head head;
static struct buffer written;
static struct refusal refusal;

static bool request(const struct target *target, const char *text)
{
	cr_assert_eq(head_read_request(text, strlen(text), &head), HEAD_SOUND, "%s", text);
	written.size = 0;
	return message_write_request(target, &head, &written, &refusal);
}

static const char *text_of(void)
{
	buffer_append(&written, "", 1);
	return written.bytes;
}

Test(message, request_is_written_anew)
{
	struct rig rig;

	rig_make(&rig);
	cr_assert(request(&rig.api, "POST /repos/acme/x?y HTTP/1.1\r\nhOST: API.example:443\r\n"
				    "Accept-Charset: utf-16\r\naccept_encoding: br\r\nX-MS-Range: "
				    "bytes=1-2\r\nA-IM: gzip\r\n"
				    "Accept-Encoding: gzip\r\nRange: bytes=1-2\r\nTE: trailers\r\n"
				    "Connection: keep-alive\r\nProxy-Authorization: a\r\n"
				    "Authorization:token msp-secret-TOKEN\r\nX-Y:  z\r\n"
				    "Content-Length: 7" END));
	cr_expect_str_eq(text_of(), "POST /repos/acme/x?y HTTP/1.1\r\nHost: api.example\r\n"
				    "Authorization: token " RIG_TOKEN "\r\nX-Y: z\r\n"
				    "Content-Length: 7\r\nAccept-Encoding: identity" END);
	cr_assert(request(&rig.open, "PURGE //a/../b HTTP/1.1\r\nHost: a.open.example:8443\r\n"
				     "Accept-Encoding: gzip\r\nRange: bytes=1-2\r\n"
				     "Transfer-Encoding: chunked\r\nConnection: close" END));
	cr_expect_str_eq(text_of(), "PURGE //a/../b HTTP/1.1\r\nHost: a.open.example:8443\r\n"
				    "Accept-Encoding: gzip\r\nRange: bytes=1-2\r\n"
				    "Transfer-Encoding: chunked\r\nConnection: close" END);
}

static const struct {
	const char *line, *field;
	uint32_t status;
	enum connection_refused reason;
	const char *words[3];
} refused_rows[] = {
	{ "GET /user HTTP/1.1",
	  "Host: b.example",
	  421,
	  CONNECTION_REFUSED_HOST,
	  { "refused: request GET https://api.example/user\n", "Host", "(msp.yaml:3)" } },
	{ "PUT /repos/acme/x HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { "PUT", "api.example allows", "(msp.yaml:" } },
	{ "GET /repos/acmex HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { "/repos/acmex" } },
	{ "DELETE / HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { "OPTIONS" } },
	{ "FOO /user HTTP/1.1", "Host: api.example", 403, CONNECTION_REFUSED_REQUEST, { "" } },
	{ "GET /repos/acme/../../x HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { ".." } },
	{ "GET /repos/acme/%2e%2e/x HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { "%" } },
	{ "GET /repos/acme//x HTTP/1.1",
	  "Host: api.example",
	  403,
	  CONNECTION_REFUSED_REQUEST,
	  { "//" } },
};

Test(message, refusals)
{
	struct rig rig;

	rig_make(&rig);
	for (size_t i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "%s\r\n%s" END, refused_rows[i].line,
			       refused_rows[i].field);
		cr_expect_not(request(&rig.api, text), "%s", text);
		cr_expect_eq(refusal.status, refused_rows[i].status, "%zu", i);
		cr_expect_eq(refusal.reason, refused_rows[i].reason, "%zu", i);
		for (size_t j = 0; j < 3 && refused_rows[i].words[j]; j++)
			cr_expect(strstr(refusal.text, refused_rows[i].words[j]), "%zu: %s", i,
				  refusal.text);
		cr_expect_eq(written.size, 0, "%zu", i);
	}
	cr_expect_not(request(&rig.api, "GET /user HTTP/1.1\r\nHost: api.example\r\n"
					"x-http-method-override: DELETE" END));
	cr_expect_eq(refusal.status, 403);
	cr_expect(strstr(refusal.text, "X-HTTP-Method-Override"));
	cr_expect_not(request(&rig.api, "GET /user HTTP/1.1\r\nHost: api.example\r\n"
					"X_HTTP_Method_Override: DELETE" END));
	cr_expect_not(request(&rig.api, "GET /user?a=b&_method=DELETE HTTP/1.1\r\n"
					"Host: api.example" END));
	cr_expect(strstr(refusal.text, "_method"));
	cr_expect(request(&rig.api, "GET /user?a=_method HTTP/1.1\r\nHost: api.example\r\n"
				    "Content_Length: 7" END));
	cr_expect_null(strstr(text_of(), "Content_Length"));
	cr_expect(request(&rig.open, "GET /user?_method=a HTTP/1.1\r\nHost: a.open.example:8443\r\n"
				     "x-http-method-override: DELETE" END));
	cr_expect(request(&rig.api, "OPTIONS //any HTTP/1.1\r\nHost: api.example" END));
}

Test(message, placeholders_elsewhere)
{
	struct rig rig;
	static const char *const texts[] = {
		"GET /user?t=msp-secret-TOKEN HTTP/1.1\r\nHost: api.example" END,
		"GET /user HTTP/1.1\r\nHost: api.example\r\nX: msp-secret-TOKEN" END,
		"OPTIONS /msp-secret-TOKEN HTTP/1.1\r\nHost: api.example" END,
		"GET /user HTTP/1.1\r\nHost: api.example\r\nmsp-secret-TOKEN: a" END,
		"GET /user HTTP/1.1\r\nHost: api.example\r\nX: msp-secret-TOKEN2" END,
		"GET /user HTTP/1.1\r\nHost: api.example\r\nAuthorization: msp-secret-TOKEN\r\n"
		"X: msp-secret-PASS" END,
	};

	rig_make(&rig);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_expect_not(request(&rig.api, texts[i]), "%zu", i);
		cr_expect_eq(refusal.reason, CONNECTION_REFUSED_SECRET, "%zu", i);
		cr_expect_null(strstr(refusal.text, RIG_TOKEN), "%zu", i);
		cr_expect_eq(written.size, 0, "%zu", i);
	}
	cr_expect_not(
		request(&rig.plain, "Amsp-secret-PASS / HTTP/1.1\r\nHost: plain.example" END));
	cr_expect(strstr(refusal.text, "PASS goes into") || strstr(refusal.text, "PASS is not"));
}

Test(message, rules_come_before_secrets)
{
	struct rig rig;

	rig_make(&rig);
	cr_expect_not(request(&rig.api, "PUT /user HTTP/1.1\r\nHost: api.example\r\n"
					"Authorization: msp-secret-TOKEN" END));
	cr_expect_eq(refusal.reason, CONNECTION_REFUSED_REQUEST);
}

Test(message, longest_refusal_is_whole)
{
	struct rig rig;
	static char text[4096];

	rig_make(&rig);
	memset(text, 'a', sizeof(text) - 100);
	memcpy(text, "GET /", 5);
	memcpy(text + sizeof(text) - 101, " HTTP/1.1\r\nHost: api.example" END, 33);
	cr_expect_not(request(&rig.api, text));
	cr_expect(strstr(refusal.text, "(msp.yaml:"), "%s", refusal.text);
}

static const char *answer(const char *text, bool redacts)
{
	static struct redact redact;

	redact_begin(&redact);
	cr_assert_eq(head_read_answer(text, strlen(text), false, &head), HEAD_SOUND, "%s", text);
	written.size = 0;
	message_write_answer(&head, redacts ? &redact : NULL, &written);
	return text_of();
}

Test(message, answers)
{
	struct rig rig;

	rig_make(&rig);
	cr_expect_str_eq(answer("HTTP/1.1 200 O K\r\nServer: a\r\nContent-Length: 3\r\n"
				"Connection: x\r\nKeep-Alive: y\r\nContent-Encoding: gzip" END,
				false),
			 "HTTP/1.1 200 O K\r\nServer: a\r\nContent-Encoding: gzip\r\n"
			 "Content-Length: 3" END);
	cr_expect(message_is_coded(&head));
	cr_expect_str_eq(answer("HTTP/1.0 200 " RIG_TOKEN "\r\nX-" RIG_PASS ": a" RIG_TOKEN
				"\r\nContent-Encoding: identity\r\nContent-Length: 3" END,
				true),
			 "HTTP/1.1 200 msp-secret-TOKEN*******\r\nX-msp-secr: "
			 "amsp-secret-TOKEN*******\r\nContent-Encoding: identity\r\n"
			 "Content-Length: 3\r\nConnection: close" END);
	cr_expect_not(message_is_coded(&head));
	cr_expect_str_eq(answer("HTTP/1.1 200 OK" END, false),
			 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close" END);
	/* The length of a compressed text tells whether it has a guess twice. */
	cr_expect_str_eq(answer("HTTP/1.1 304 N\r\nContent-Encoding: gzip\r\n"
				"Content-Length: 3" END,
				true),
			 "HTTP/1.1 304 N\r\nContent-Encoding: gzip" END);
	cr_expect_str_eq(answer("HTTP/1.1 304 N\r\nContent-Encoding: gzip\r\n"
				"Content-Length: 3" END,
				false),
			 "HTTP/1.1 304 N\r\nContent-Encoding: gzip\r\nContent-Length: 3" END);
	cr_expect_str_eq(answer("HTTP/1.1 304 N\r\nContent-Length: 3" END, true),
			 "HTTP/1.1 304 N\r\nContent-Length: 3" END);
	cr_expect_str_eq(answer("HTTP/1.1 204 N\r\nContent-Length: 3" END, false),
			 "HTTP/1.1 204 N" END);
}
