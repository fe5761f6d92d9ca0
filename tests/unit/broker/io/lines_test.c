/* SPDX-License-Identifier: Apache-2.0 */
#include "io/lines.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct lines lines;

static void add(const char *bytes, size_t size)
{
	while (size > 0) {
		size_t room;
		char *space = lines_space(&lines, &room);
		const size_t part = size < room ? size : room;

		memcpy(space, bytes, part);
		lines_added(&lines, part);
		bytes += part;
		size -= part;
	}
}

static void add_text(const char *text)
{
	add(text, strlen(text));
}

static void expect_line(const char *expected)
{
	size_t size;
	char *line;

	cr_assert_eq(lines_next(&lines, &line, &size), LINES_LINE);
	cr_assert_eq(size, strlen(expected));
	cr_assert_eq(memcmp(line, expected, size), 0);
}

static void expect_event(enum lines_event expected)
{
	size_t size;
	char *line;

	cr_assert_eq(lines_next(&lines, &line, &size), expected);
}

TestSuite(lines, .fini = NULL);

Test(lines, splits_at_newlines)
{
	add_text("one\ntwo\n\nfour");
	expect_line("one");
	expect_line("two");
	expect_line("");
	expect_event(LINES_NONE);
	add_text(" and more\n");
	expect_line("four and more");
	expect_event(LINES_NONE);
	lines_done(&lines);
}

Test(lines, takes_bytes_one_at_a_time)
{
	const char text[] = "\xef\xbb\xbf{}\r\n[]\n";

	for (size_t i = 0; i < strlen(text); i++) {
		add(text + i, 1);
		if (text[i] != '\n')
			expect_event(LINES_NONE);
		else
			expect_line(i < 7 ? "{}" : "[]");
	}
	lines_done(&lines);
}

Test(lines, strips_carriage_return_and_byte_order_mark)
{
	add_text("\xef\xbb\xbf"
		 "a\r\n\r\n\xef\xbb\xbf\nb\rc\n");
	expect_line("a");
	expect_line("");
	expect_line("");
	expect_line("b\rc");
	lines_done(&lines);
}

/* A line of exactly `size` bytes and what follows. */
static void add_long(size_t size, const char *then)
{
	char *bytes = malloc(size);

	cr_assert_not_null(bytes);
	memset(bytes, 'x', size);
	add_text(""); /* nothing added is fine */
	for (size_t at = 0; at < size;) {
		const size_t part = size - at < 100000 ? size - at : 100000;

		add(bytes + at, part);
		at += part;
		if (at < size)
			expect_event(LINES_NONE);
	}
	free(bytes);
	add_text(then);
}

static void expect_size(size_t expected)
{
	size_t size;
	char *line;

	cr_assert_eq(lines_next(&lines, &line, &size), LINES_LINE);
	cr_assert_eq(size, expected);
}

Test(lines, takes_the_longest_line)
{
	add_long(LINE_BYTES_MAX, "\nnext\n");
	expect_size(LINE_BYTES_MAX);
	expect_line("next");
	add_long(LINE_BYTES_MAX, "\r\n");
	expect_size(LINE_BYTES_MAX);
	lines_done(&lines);
}

Test(lines, discards_what_is_longer_and_goes_on)
{
	add_long(LINE_BYTES_MAX + 1, "\nnext\n");
	expect_event(LINES_TOO_LONG);
	expect_line("next");
	add_long(5 * LINE_BYTES_MAX, "");
	expect_event(LINES_NONE);
	cr_assert_leq(lines.room, LINE_BYTES_MAX + 70000, "memory stays bounded");
	add_text("the rest\nnext\n");
	expect_event(LINES_TOO_LONG);
	expect_line("next");
	expect_event(LINES_NONE);
	lines_done(&lines);
}

Test(lines, gives_memory_back)
{
	size_t room;

	add_long(LINE_BYTES_MAX, "\n");
	expect_size(LINE_BYTES_MAX);
	(void)lines_space(&lines, &room);
	cr_assert_leq(lines.room, (size_t)1 << 20);
	lines_done(&lines);
}
