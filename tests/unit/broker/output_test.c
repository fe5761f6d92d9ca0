/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct output output;
static struct buffer text;

static void expect_text(const char *expected)
{
	cr_assert_eq(text.size, strlen(expected), "%.*s", (int)text.size, text.bytes);
	cr_assert_eq(memcmp(text.bytes, expected, text.size), 0, "%.*s", (int)text.size,
		     text.bytes);
	buffer_done(&text);
}

static void add_numbered(size_t count)
{
	char line[32];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(line, sizeof(line), "%07zu\n", i);
		output_add(&output, line, 8);
	}
}

Test(output, keeps_all_that_fits)
{
	output_add(&output, "one\n", 4);
	output_add(&output, "two", 3);
	cr_assert_not(output_show(&output, 9000, &text));
	expect_text("one\ntwo");
	cr_assert_eq(output_text_size(&output), 7);
}

Test(output, keeps_the_longest_whole_output)
{
	add_numbered(2 * OUTPUT_END_BYTES / 8);
	cr_assert_eq(output.total, 2 * OUTPUT_END_BYTES);
	cr_assert_not(output_show(&output, 2 * OUTPUT_END_BYTES, &text));
	cr_assert_eq(text.size, 2 * OUTPUT_END_BYTES);
	for (size_t i = 0; i < text.size / 8; i++)
		cr_assert_eq((size_t)strtol(text.bytes + 8 * i, NULL, 10), i);
	buffer_done(&text);
}

Test(output, keeps_beginning_and_end_of_more)
{
	add_numbered(1000000);
	cr_assert(output_show(&output, 9600, &text));
	cr_assert_eq(memcmp(text.bytes, "0000000\n0000001\n", 16), 0);
	cr_assert_eq(memcmp(text.bytes + text.size - 16, "0999998\n0999999\n", 16), 0);
	cr_assert_leq(text.size, 9700);
	buffer_append(&text, "", 1);
	/* 4800 bytes at each end */
	cr_assert_not_null(strstr(text.bytes, "\n[... 7990400 bytes omitted ...]\n"));
	buffer_done(&text);
}

Test(output, keeps_the_end_of_one_large_piece)
{
	char *bytes = malloc(100000);

	cr_assert_not_null(bytes);
	memset(bytes, 'x', 100000);
	memcpy(bytes + 99997, "end", 3);
	output_add(&output, bytes, 100000);
	cr_assert_eq(output.total, 100000);
	cr_assert(output_show(&output, 1000, &text));
	cr_assert_eq(memcmp(text.bytes + text.size - 3, "end", 3), 0);
	buffer_done(&text);
	free(bytes);
}

Test(output, pieces_of_any_size_give_the_same)
{
	for (size_t piece = 1; piece < 9000; piece = piece * 3 + 1) {
		char bytes[9000];
		uint64_t at = 0;

		memset(&output, 0, sizeof(output));
		while (at < 30000) {
			const size_t size = 30000 - at < piece ? (size_t)(30000 - at) : piece;

			for (size_t i = 0; i < size; i++)
				bytes[i] = (char)('a' + (at + i) % 23);
			output_add(&output, bytes, size);
			at += size;
		}
		cr_assert_eq(output.total, 30000);
		cr_assert(output_show(&output, 20000, &text));
		for (size_t i = 0; i < OUTPUT_END_BYTES; i++) {
			cr_assert_eq(text.bytes[i], (char)('a' + i % 23));
			cr_assert_eq(text.bytes[text.size - 1 - i], (char)('a' + (29999 - i) % 23));
		}
		buffer_done(&text);
	}
}

Test(output, a_small_room_shows_less)
{
	output_add(&output, "0123456789abcdefghij", 20);
	cr_assert(output_show(&output, 10, &text));
	expect_text("01234\n[... 10 bytes omitted ...]\nfghij");
}

/* The gap goes through three-byte characters. */
Test(output, does_not_show_halves_of_characters)
{
	for (int i = 0; i < 10000; i++)
		output_add(&output, "\xe2\x82\xac", 3);
	cr_assert(output_show(&output, 20000, &text));
	cr_assert_null(memchr(text.bytes, '\\', text.size));
	buffer_append(&text, "", 1);
	cr_assert_not_null(strstr(text.bytes, "[... 20004 bytes omitted ...]"));
	buffer_done(&text);
}

/* Binary output is shown four times as long, and still fits. */
Test(output, the_room_counts_what_is_shown)
{
	for (int i = 0; i < 20000; i++)
		output_add(&output, "\xff", 1);
	cr_assert(output_show(&output, 1000, &text));
	cr_assert_leq(text.size, 1100);
	buffer_done(&text);
}
