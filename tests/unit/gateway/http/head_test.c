/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads in the one spelling, and the spellings by which two readers come to see two requests.
 */
#include "gateway/http/head.h"

#include <criterion/criterion.h>
#include <string.h>

#define END "\r\n\r\n"
#define HOST "\r\nHost: a.example"

static struct head head;

static enum head_fault read_request(const char *text, size_t size)
{
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0;
	const size_t end = head_find_end(text, size, &at, &fault);

	if (fault != HEAD_SOUND)
		return fault;
	cr_assert_eq(end, size, "%s", text);
	return head_read_request(text, end, &head);
}

struct row {
	const char *text;
	enum head_fault fault;
};

static const struct row rows[] = {
	{ "GET / HTTP/1.1" HOST END, HEAD_SOUND },
	{ "GET /a/b?c=d HTTP/1.1" HOST "\r\nX: \r\nY:a  b \t\r\nZ: \xc3\xa9" END, HEAD_SOUND },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 0" END, HEAD_SOUND },
	{ "POST / HTTP/1.1" HOST "\r\ncontent-length: 123" END, HEAD_SOUND },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: Chunked" END, HEAD_SOUND },
	{ "GET / HTTP/1.1" HOST "\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings" END,
	  HEAD_SOUND },
	/* the request line */
	{ "GET  / HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "GET / HTTP/1.1 " HOST END, HEAD_BAD_REQUEST_LINE },
	{ "GET /a b HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ " GET / HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "GET\t/ HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "GET /" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "G(T / HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "\r\nGET / HTTP/1.1" HOST END, HEAD_BAD_REQUEST_LINE },
	{ "GET / HTTP/1.0" HOST END, HEAD_BAD_VERSION },
	{ "GET / HTTP/2.0" HOST END, HEAD_BAD_VERSION },
	{ "GET / http/1.1" HOST END, HEAD_BAD_VERSION },
	{ "GET / HTTP/1.10" HOST END, HEAD_BAD_VERSION },
	{ "CONNECT a.example:443 HTTP/1.1" HOST END, HEAD_BAD_METHOD },
	{ "connect / HTTP/1.1" HOST END, HEAD_BAD_METHOD },
	{ "TRACE / HTTP/1.1" HOST END, HEAD_BAD_METHOD },
	{ "GET http://b.example/ HTTP/1.1" HOST END, HEAD_BAD_TARGET },
	{ "OPTIONS * HTTP/1.1" HOST END, HEAD_BAD_TARGET },
	{ "GET /#a HTTP/1.1" HOST END, HEAD_BAD_TARGET },
	{ "GET /\x80 HTTP/1.1" HOST END, HEAD_BAD_TARGET },
	{ "GET /\x01 HTTP/1.1" HOST END, HEAD_BAD_TARGET },
	/* lines */
	{ "GET / HTTP/1.1" HOST "\r\nX: a\nY: b" END, HEAD_BAD_LINE_END },
	{ "GET / HTTP/1.1" HOST "\r\nX: a\rY: b" END, HEAD_BAD_LINE_END },
	{ "GET / HTTP/1.1\nHost: a.example\n\n", HEAD_BAD_LINE_END },
	{ "GET / HTTP/1.1\r\r\nHost: a.example" END, HEAD_BAD_LINE_END },
	{ "GET / HTTP/1.1" HOST "\r\n folded: 1" END, HEAD_FOLDED },
	{ "GET / HTTP/1.1" HOST "\r\n\tfolded: 1" END, HEAD_FOLDED },
	{ "GET / HTTP/1.1" HOST "\r\nX : a" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\nX\t: a" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\n: a" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\nX" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\nX{: a" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\n\xc3\xa9: a" END, HEAD_BAD_FIELD_NAME },
	{ "GET / HTTP/1.1" HOST "\r\nX: a\x01" END, HEAD_BAD_FIELD_VALUE },
	{ "GET / HTTP/1.1" HOST "\r\nX: a\x7f" END, HEAD_BAD_FIELD_VALUE },
	/* the host */
	{ "GET / HTTP/1.1" END, HEAD_BAD_HOST },
	{ "GET / HTTP/1.1\r\nHost:" END, HEAD_BAD_HOST },
	{ "GET / HTTP/1.1" HOST HOST END, HEAD_BAD_HOST },
	{ "GET / HTTP/1.1" HOST "\r\nhost: b.example" END, HEAD_BAD_HOST },
	/* the length */
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 1\r\nContent-Length: 1" END,
	  HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 0\r\nContent-Length: 1" END,
	  HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 1, 1" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: +1" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: -1" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 0x1" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 1 1" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length:" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 9999999999999999999" END, HEAD_BAD_LENGTH },
	{ "POST / HTTP/1.1" HOST "\r\nContent-Length: 1\r\nTransfer-Encoding: chunked" END,
	  HEAD_TWO_LENGTHS },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: chunked\r\nContent-Length: 1" END,
	  HEAD_TWO_LENGTHS },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked" END,
	  HEAD_BAD_ENCODING },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: gzip, chunked" END, HEAD_BAD_ENCODING },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: chunked, identity" END,
	  HEAD_BAD_ENCODING },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: xchunked" END, HEAD_BAD_ENCODING },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: \x0b"
	  "chunked" END,
	  HEAD_BAD_FIELD_VALUE },
	{ "POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: identity" END, HEAD_BAD_ENCODING },
	{ "GET / HTTP/1.1" HOST "\r\nUpgrade: websocket" END, HEAD_UPGRADES },
	{ "GET / HTTP/1.1" HOST "\r\nUpgrade: h2c, websocket" END, HEAD_UPGRADES },
};

Test(head, requests)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(read_request(rows[i].text, strlen(rows[i].text)), rows[i].fault,
			     "%zu: %s", i, rows[i].text);
}

Test(head, a_nul_ends_no_head)
{
	static const char text[] = "GET / HTTP/1.1" HOST "\r\nX: a\0b" END;

	cr_expect_eq(read_request(text, sizeof(text) - 1), HEAD_BAD_LINE_END);
}

Test(head, parts_of_a_request)
{
	static const char text[] = "PUT /a/b?c=/d HTTP/1.1" HOST ":8443\r\nX: \t a b \t\r\n"
				   "Content-Length: 42\r\nConnection: TE, close" END;

	cr_assert_eq(read_request(text, strlen(text)), HEAD_SOUND);
	cr_expect(slice_is(head.method, "PUT") && slice_is(head.target, "/a/b?c=/d"));
	cr_expect_eq(head.path_size, 4);
	cr_expect(slice_is(head.host, "a.example:8443"));
	cr_expect(slice_is(head.fields[1].value, "a b"));
	cr_expect_eq(head.framing, HEAD_LENGTH);
	cr_expect_eq(head.length, 42);
	cr_expect(head.is_last);
}

Test(head, end_is_found_in_pieces)
{
	static const char text[] = "GET / HTTP/1.1" HOST END "GET";
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0, end = 0;

	for (size_t size = 0; size < sizeof(text) - 4; size++)
		cr_expect_eq(head_find_end(text, size, &at, &fault), 0, "%zu", size);
	end = head_find_end(text, sizeof(text) - 1, &at, &fault);
	cr_expect_eq(end, sizeof(text) - 4);
	cr_expect_eq(fault, HEAD_SOUND);
}

Test(head, head_of_any_length_is_refused)
{
	static char text[HEAD_BYTES_MAX];
	enum head_fault fault = HEAD_SOUND;
	size_t at = 0;

	memset(text, 'a', sizeof(text));
	cr_expect_eq(head_find_end(text, sizeof(text) - 1, &at, &fault), 0);
	cr_expect_eq(fault, HEAD_SOUND);
	cr_expect_eq(head_find_end(text, sizeof(text), &at, &fault), 0);
	cr_expect_eq(fault, HEAD_LONG);
}

Test(head, fields_have_a_limit)
{
	char text[8192] = "GET / HTTP/1.1" HOST "\r\n";

	for (size_t i = 0; i < HEAD_FIELDS_MAX - 1; i++)
		memcpy(text + strlen(text), "a: b\r\n", 7);
	memcpy(text + strlen(text), "\r\n", 3);
	cr_expect_eq(read_request(text, strlen(text)), HEAD_SOUND);
	memcpy(text + strlen(text) - 2, "a: b\r\n\r\n", 9);
	cr_expect_eq(read_request(text, strlen(text)), HEAD_FIELDS);
}

static enum head_fault read_answer(const char *text, bool is_of_head)
{
	return head_read_answer(text, strlen(text), is_of_head, &head);
}

static const struct {
	const char *text;
	bool is_of_head;
	enum head_fault fault;
	enum head_framing framing;
	bool is_last;
} answers[] = {
	{ "HTTP/1.1 200 OK" END, false, HEAD_SOUND, HEAD_UNTIL_CLOSE, true },
	{ "HTTP/1.1 200" END, true, HEAD_SOUND, HEAD_NO_BODY, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 3" END, false, HEAD_SOUND, HEAD_LENGTH, false },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 3" END, false, HEAD_SOUND, HEAD_LENGTH, true },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 3" END, true, HEAD_SOUND, HEAD_NO_BODY, false },
	{ "HTTP/1.1 204 \r\nContent-Length: 3" END, false, HEAD_SOUND, HEAD_NO_BODY, false },
	{ "HTTP/1.1 304 N\r\nTransfer-Encoding: chunked" END, false, HEAD_SOUND, HEAD_NO_BODY,
	  false },
	{ "HTTP/1.1 100 Continue" END, false, HEAD_SOUND, HEAD_NO_BODY, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close" END, false,
	  HEAD_SOUND, HEAD_CHUNKED, true },
	{ "HTTP/1.1 200 OK\r\nUpgrade: h2c" END, false, HEAD_SOUND, HEAD_UNTIL_CLOSE, true },
	{ "HTTP/1.1 101 Switching\r\nUpgrade: h2c" END, false, HEAD_UPGRADES, 0, false },
	{ "HTTP/2 200 OK" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "HTTP/1.1 20 OK" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "HTTP/1.1 099 OK" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "HTTP/1.1 600 OK" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "ICY 200 OK" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "HTTP/1.1 200 a\x01" END, false, HEAD_BAD_STATUS_LINE, 0, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked" END, false,
	  HEAD_TWO_LENGTHS, 0, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked" END, false, HEAD_BAD_ENCODING, 0,
	  false },
	{ "HTTP/1.1 200 OK\r\nX : a" END, false, HEAD_BAD_FIELD_NAME, 0, false },
};

Test(head, answers)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		cr_expect_eq(read_answer(answers[i].text, answers[i].is_of_head), answers[i].fault,
			     "%zu", i);
		if (answers[i].fault != HEAD_SOUND)
			continue;
		cr_expect_eq(head.framing, answers[i].framing, "%zu", i);
		cr_expect_eq(head.is_last, answers[i].is_last, "%zu", i);
	}
}

Test(head, server_may_say_which_protocols_it_has)
{
	cr_expect_eq(read_answer("HTTP/1.1 200 OK\r\nUpgrade: h2,h2c" END, false), HEAD_SOUND);
}

Test(head, each_fault_has_a_rule)
{
	for (int i = HEAD_SOUND + 1; i < HEAD_FAULT_COUNT; i++) {
		cr_expect_gt(strlen(head_fault_rule((enum head_fault)i)), 10, "%d", i);
		cr_expect_geq(head_fault_status((enum head_fault)i), 400, "%d", i);
	}
}
