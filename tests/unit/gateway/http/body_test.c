/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in one piece and byte by byte: the same data, and the same end.
 */
#include "gateway/http/body.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct body body;
static char data[256];
static size_t data_size;

/* Take a text in pieces; the bytes that were taken. */
static size_t take(const char *text, size_t piece)
{
	const size_t size = strlen(text);
	size_t at = 0;

	data_size = 0;
	while (at < size) {
		const size_t most = size - at < piece ? size - at : piece;
		struct slice some;
		const size_t taken = body_take(&body, text + at, most, &some);

		if (taken == 0)
			break;
		memcpy(data + data_size, some.bytes, some.size);
		data_size += some.size;
		at += taken;
	}
	return at;
}

static void begin(enum head_framing framing, uint64_t length)
{
	static struct head head;

	head.framing = framing;
	head.length = length;
	body_begin(&body, &head);
}

Test(body, chunks)
{
	static const struct {
		const char *text, *data;
		enum body_state state;
		size_t left; /* bytes behind the body */
	} rows[] = {
		{ "0\r\n\r\n", "", BODY_DONE, 0 },
		{ "3\r\nabc\r\n0\r\n\r\nGET", "abc", BODY_DONE, 3 },
		{ "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", "abc0123456789", BODY_DONE, 0 },
		{ "3;a=b\r\nabc\r\n0;x\r\nTrailer: a\r\nOther: b\r\n\r\n", "abc", BODY_DONE, 0 },
		{ "03\r\nabc\r\n00\r\n\r\n", "abc", BODY_DONE, 0 },
		{ "3\r\nab", "ab", BODY_DATA, 0 },
		{ "3\r\nabc\r\n", "abc", BODY_SIZE, 0 },
		{ "0\r\n", "", BODY_TRAILER, 0 },
		{ "3\nabc\r\n0\r\n\r\n", "", BODY_BROKEN, 10 },
		{ "3\r\nabc0\r\n\r\n", "abc", BODY_BROKEN, 4 },
		{ "3\r\nabcd\r\n0\r\n\r\n", "abc", BODY_BROKEN, 7 },
		{ "3\r\nabc\n0\r\n\r\n", "abc", BODY_BROKEN, 5 },
		{ "3 \r\nabc\r\n0\r\n\r\n", "", BODY_BROKEN, 12 },
		{ " 3\r\nabc\r\n0\r\n\r\n", "", BODY_BROKEN, 13 },
		{ "0x3\r\nabc\r\n0\r\n\r\n", "", BODY_BROKEN, 13 },
		{ "-3\r\nabc", "", BODY_BROKEN, 6 },
		{ "\r\n\r\n", "", BODY_BROKEN, 3 },
		{ "g\r\n", "", BODY_BROKEN, 2 },
		{ "1000000000000000\r\n", "", BODY_BROKEN, 2 },
		{ "3;a\x01\r\nabc", "", BODY_BROKEN, 5 },
		{ "3;a\nabc", "", BODY_BROKEN, 3 },
		{ "0\r\nX: a\n\r\n", "", BODY_BROKEN, 2 },
		{ "0\r\n\rX", "", BODY_BROKEN, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t piece = 1; piece < 64; piece += 62) {
			size_t taken;

			begin(HEAD_CHUNKED, 0);
			taken = take(rows[i].text, piece);
			cr_expect_eq(body.state, rows[i].state, "%zu: %d", i, (int)body.state);
			cr_expect_eq(strlen(rows[i].text) - taken, rows[i].left, "%zu: %zu", i,
				     strlen(rows[i].text) - taken);
			cr_expect_eq(data_size, strlen(rows[i].data), "%zu", i);
			cr_expect_eq(memcmp(data, rows[i].data, data_size), 0, "%zu", i);
		}
	}
}

Test(body, trailer_has_a_limit)
{
	char text[64] = "0\r\n";

	begin(HEAD_CHUNKED, 0);
	(void)take(text, 64);
	memcpy(text, "X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 36);
	for (int i = 0; i < 300 && body.state != BODY_BROKEN; i++)
		(void)take(text, 64);
	cr_expect_eq(body.state, BODY_BROKEN);
}

Test(body, length)
{
	begin(HEAD_LENGTH, 5);
	cr_expect_eq(take("abcdefg", 2), 5);
	cr_expect_eq(body.state, BODY_DONE);
	cr_expect_eq(data_size, 5);
	begin(HEAD_LENGTH, 5);
	cr_expect_eq(take("abc", 64), 3);
	cr_expect_not(body_end(&body));
	begin(HEAD_LENGTH, 0);
	cr_expect_eq(body.state, BODY_DONE);
	begin(HEAD_NO_BODY, 0);
	cr_expect_eq(take("abc", 64), 0);
	cr_expect_eq(body.state, BODY_DONE);
}

Test(body, until_close)
{
	begin(HEAD_UNTIL_CLOSE, 0);
	cr_expect_eq(take("abcdefg", 3), 7);
	cr_expect_eq(body.state, BODY_DATA);
	cr_expect(body_end(&body));
	cr_expect_eq(body.state, BODY_DONE);
	begin(HEAD_CHUNKED, 0);
	(void)take("3\r\nabc\r\n", 64);
	cr_expect_not(body_end(&body));
}
