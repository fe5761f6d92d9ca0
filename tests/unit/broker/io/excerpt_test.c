/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of an output as text: what is left out is said, nothing is torn apart.
 */
#include "io/excerpt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct output_log output;
static struct buffer text;
static uint64_t omitted;

static void reset(void)
{
	output_log_drop(&output);
	memset(&output, 0, sizeof(output));
	output.bytes_max = 1 << 20;
}

TestSuite(excerpt, .init = reset, .fini = reset);

static void add(const char *bytes, size_t size)
{
	output_add(&output, OUTPUT_OUT, bytes, size);
}

static bool show(uint64_t from, uint64_t to, size_t room)
{
	const struct excerpt excerpt = { &output.streams[OUTPUT_OUT], from, to };

	return excerpt_append(&excerpt, room, &text, &omitted);
}

static bool show_all(size_t room)
{
	return show(0, output.streams[OUTPUT_OUT].total, room);
}

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
		add(line, 8);
	}
}

Test(excerpt, shows_all_that_fits)
{
	const struct excerpt all = { &output.streams[OUTPUT_OUT], 0, 7 };

	add("one\ntwo", 7);
	cr_assert_not(show_all(9000));
	expect_text("one\ntwo");
	cr_assert_eq(excerpt_text_size(&all, 100), 7);
	cr_assert_eq(excerpt_text_size(&all, 5), 5);
	cr_assert_not(show_all(7));
	expect_text("one\ntwo");
	cr_assert_not(show(4, 6, 7));
	expect_text("tw");
	cr_assert_not(show(7, 7, 7));
	cr_assert_eq(text.size, 0);
}

Test(excerpt, shows_beginning_and_end_of_more)
{
	add_numbered(1000000);
	cr_assert(show_all(9600));
	cr_assert_eq(memcmp(text.bytes, "0000000\n0000001\n", 16), 0);
	cr_assert_eq(memcmp(text.bytes + text.size - 16, "0999998\n0999999\n", 16), 0);
	cr_assert_leq(text.size, 9700);
	buffer_append(&text, "", 1);
	/* 4800 bytes at each end */
	cr_assert_not_null(strstr(text.bytes, "\n[... 7990400 bytes omitted ...]\n"));
	cr_assert_eq(omitted, 4800);
	buffer_done(&text);
}

Test(excerpt, a_small_room_shows_less)
{
	add("0123456789abcdefghij", 20);
	cr_assert(show_all(10));
	expect_text("01234\n[... 10 bytes omitted ...]\nfghij");
	cr_assert_eq(omitted, 5);
}

/* The gap goes through three-byte characters. */
Test(excerpt, does_not_show_halves_of_characters)
{
	add("a", 1);
	for (int i = 0; i < 1000000; i++)
		add("\xe2\x82\xac", 3);
	for (size_t room = 100; room < 110; room++) {
		cr_assert(show_all(room));
		cr_assert_null(memchr(text.bytes, '\\', text.size));
		buffer_done(&text);
	}
	/* the log's own hole begins and ends in the middle of one */
	const uint64_t begin = output.bytes_max / 2;
	const uint64_t end = output_kept_from(&output.streams[OUTPUT_OUT], begin);

	cr_assert_neq(begin % 3, 1);
	cr_assert_neq(end % 3, 1, "after the a");
	cr_assert(show(begin - 31, end + 28, 200));
	cr_assert_null(memchr(text.bytes, '\\', text.size));
	cr_assert_gt(text.size, 50);
	buffer_done(&text);
}

/* Binary output is shown four times as long, and still fits. */
Test(excerpt, the_room_counts_what_is_shown)
{
	for (int i = 0; i < 20000; i++)
		add("\xff", 1);
	cr_assert(show_all(1000));
	cr_assert_leq(text.size, 1100);
	buffer_done(&text);
}

/* What was dropped in the middle: the end is shown all the same. */
Test(excerpt, shows_what_is_left_of_it)
{
	output.bytes_max = 4 * OUTPUT_BLOCK_BYTES;
	add_numbered(100000);
	cr_assert(show(400000, 800000, 32));
	expect_text("[... 399984 bytes omitted ...]\n0099998\n0099999\n");
	cr_assert_eq(omitted, 400000);
	output_log_drop(&output);
	cr_assert(show_all(40));
	expect_text("[... 800000 bytes omitted ...]\n");
}

static void expect_first(uint64_t from, uint64_t to, size_t room, uint64_t first, uint64_t end)
{
	const struct excerpt excerpt = { &output.streams[OUTPUT_OUT], from, to };
	uint64_t got_first = 0, got_end = 0;

	buffer_done(&text);
	excerpt_append_first(&excerpt, room, &text, &got_first, &got_end);
	cr_assert_eq(got_first, first, "%llu", (unsigned long long)got_first);
	cr_assert_eq(got_end, end, "%llu", (unsigned long long)got_end);
}

Test(excerpt, in_order)
{
	add("0123456789", 10);
	expect_first(0, 10, 4, 0, 4);
	expect_text("0123");
	expect_first(4, 10, 100, 4, 10);
	expect_text("456789");
	expect_first(10, 10, 100, 10, 10);
	cr_assert_eq(text.size, 0);
}

Test(excerpt, in_order_without_halves)
{
	add("ab\xe2\x82\xac"
	    "c\r\nd",
	    9);
	expect_first(0, 9, 4, 0, 2);
	expect_text("ab");
	expect_first(2, 9, 4, 2, 6);
	expect_text("\xe2\x82\xac"
		    "c");
	expect_first(6, 9, 1, 6, 8);
	expect_text("\n");
	/* what is no character does not hold it up */
	reset();
	add("\xe2\xe2\xe2\xe2", 4);
	expect_first(0, 4, 4, 0, 1);
	expect_text("\\xe2");
}

Test(excerpt, in_order_over_the_hole)
{
	output.bytes_max = 4 * OUTPUT_BLOCK_BYTES;
	add_numbered(100000);
	expect_first(2 * OUTPUT_BLOCK_BYTES - 8, 800000, 100, 2 * OUTPUT_BLOCK_BYTES - 8,
		     2 * OUTPUT_BLOCK_BYTES);
	expect_text("0002047\n");
	expect_first(2 * OUTPUT_BLOCK_BYTES, 800000, 8,
		     output_kept_from(&output.streams[OUTPUT_OUT], 2 * OUTPUT_BLOCK_BYTES),
		     output_kept_from(&output.streams[OUTPUT_OUT], 2 * OUTPUT_BLOCK_BYTES) + 8);
	buffer_done(&text);
}

Test(excerpt, ends_where_it_is_whole)
{
	static const struct {
		const char *bytes;
		size_t size, whole;
	} ends[] = {
		{ "ab", 2, 2 },
		{ "", 0, 0 },
		{ "a\xe2", 2, 1 },
		{ "a\xe2\x82", 3, 1 },
		{ "a\xe2\x82\xac", 4, 4 },
		{ "a\xf0\x9f\x98", 4, 1 },
		{ "a\r", 2, 1 },
		{ "a\r\n", 3, 3 },
		{ "\x82\x82\x82\x82", 4, 4 },
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		reset();
		add(ends[i].bytes, ends[i].size);
		cr_assert_eq(excerpt_whole(&output.streams[OUTPUT_OUT], 0, ends[i].size),
			     ends[i].whole, "%zu", i);
	}
	reset();
	add("a\xe2", 2);
	cr_assert_eq(excerpt_whole(&output.streams[OUTPUT_OUT], 2, 2), 2, "nothing is taken back");
}
