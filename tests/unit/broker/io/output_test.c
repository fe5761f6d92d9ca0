/* SPDX-License-Identifier: Apache-2.0
 *
 * What logs keep, and that they stay within their bounds.
 */
#include "io/output.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK OUTPUT_BLOCK_BYTES

static struct output_log output;

/* The byte at each place of the stream that the tests print. */
static char byte_at(uint64_t offset)
{
	return (char)('a' + offset % 23 + offset / 1000 % 3);
}

static void print(struct output_log *to, enum output_stream stream, size_t size, size_t piece)
{
	char *bytes = malloc(piece);

	cr_assert_not_null(bytes);
	while (size > 0) {
		const size_t part = size < piece ? size : piece;

		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(to->streams[stream].total + i);
		output_add(to, stream, bytes, part);
		size -= part;
	}
	free(bytes);
}

/* Everything that is kept is right; returns how much that is. */
static uint64_t check(const struct output *stream)
{
	static char bytes[3 * BLOCK];
	uint64_t kept = 0;

	for (uint64_t at = output_kept_from(stream, 0); at < stream->total;
	     at = output_kept_from(stream, at)) {
		const size_t size = output_read(stream, at, bytes, sizeof(bytes));

		cr_assert_gt(size, 0);
		for (size_t i = 0; i < size; i++)
			cr_assert_eq(bytes[i], byte_at(at + i));
		at += size;
		kept += size;
	}
	return kept;
}

Test(output, keeps_all_that_fits)
{
	output.bytes_max = 16 * BLOCK;
	print(&output, OUTPUT_OUT, 16 * BLOCK, 1000);
	cr_assert_eq(check(&output.streams[OUTPUT_OUT]), 16 * BLOCK);
	cr_assert_eq(output_kept_from(&output.streams[OUTPUT_OUT], 77), 77);
	cr_assert_eq(output_kept_from(&output.streams[OUTPUT_OUT], 16 * BLOCK), 16 * BLOCK);
	cr_assert_eq(output_kept_from(&output.streams[OUTPUT_OUT], UINT64_MAX), 16 * BLOCK);
}

Test(output, keeps_beginning_and_end_of_more)
{
	const struct output *out = &output.streams[OUTPUT_OUT];
	char byte;

	output.bytes_max = 16 * BLOCK;
	print(&output, OUTPUT_OUT, 1000 * BLOCK, 5000);
	cr_assert_eq(out->total, 1000 * BLOCK);
	cr_assert_eq(check(out), 16 * BLOCK);
	cr_assert_eq(output_kept_from(out, 8 * BLOCK), 992 * BLOCK, "half at each end");
	cr_assert_eq(output_read(out, 8 * BLOCK, &byte, 1), 0);
	cr_assert_eq(output_memory(), 16 * BLOCK);
}

/* Nothing is read across the hole. */
Test(output, reads_up_to_what_is_missing)
{
	static char bytes[64 * BLOCK];

	output.bytes_max = 4 * BLOCK;
	print(&output, OUTPUT_OUT, 30 * BLOCK, BLOCK);
	cr_assert_eq(output_read(&output.streams[OUTPUT_OUT], 10, bytes, sizeof(bytes)),
		     2 * BLOCK - 10);
	cr_assert_eq(output_read(&output.streams[OUTPUT_OUT], 29 * BLOCK, bytes, 7), 7);
}

Test(output, pieces_of_any_size_give_the_same)
{
	for (size_t piece = 1; piece < 9 * BLOCK; piece = piece * 3 + 1) {
		output = (struct output_log){ .bytes_max = 6 * BLOCK };
		print(&output, OUTPUT_ERR, 20 * BLOCK + 5, piece);
		cr_assert_eq(check(&output.streams[OUTPUT_ERR]), 5 * BLOCK + 5);
		output_log_drop(&output);
	}
}

/* One flood does not push out what the other stream said, be it a little or as much. */
Test(output, streams_share_the_room)
{
	output.bytes_max = 16 * BLOCK;
	print(&output, OUTPUT_ERR, 3 * BLOCK, 100);
	print(&output, OUTPUT_OUT, 500 * BLOCK, 3000);
	cr_assert_eq(check(&output.streams[OUTPUT_ERR]), 3 * BLOCK);
	cr_assert_eq(check(&output.streams[OUTPUT_OUT]), 13 * BLOCK);
	print(&output, OUTPUT_ERR, 500 * BLOCK, 3000);
	cr_assert_eq(output.head_bytes + output.tail_bytes, 16 * BLOCK);
	cr_assert_geq(check(&output.streams[OUTPUT_OUT]), 8 * BLOCK);
	cr_assert_geq(check(&output.streams[OUTPUT_ERR]), 6 * BLOCK);
	cr_assert_eq(output_memory(), 16 * BLOCK);
}

/* A bound of nothing: a block at each end of each stream. */
Test(output, keeps_a_little_at_least)
{
	print(&output, OUTPUT_OUT, 100 * BLOCK, 999);
	print(&output, OUTPUT_ERR, 100 * BLOCK, 999);
	cr_assert_eq(output_memory(), 4 * BLOCK);
	cr_assert_eq(check(&output.streams[OUTPUT_OUT]), 2 * BLOCK);
	cr_assert_eq(output_kept_from(&output.streams[OUTPUT_OUT], BLOCK), 99 * BLOCK);
	cr_assert_not(output_log_shrink(&output));
}

Test(output, gives_back_when_it_is_asked_to)
{
	output.bytes_max = 16 * BLOCK;
	print(&output, OUTPUT_OUT, 16 * BLOCK, 999);
	for (int i = 0; i < 7; i++)
		cr_assert(output_log_shrink(&output));
	cr_assert_not(output_log_shrink(&output));
	cr_assert_eq(check(&output.streams[OUTPUT_OUT]), 9 * BLOCK);
	output_log_drop(&output);
	cr_assert_eq(output_memory(), 0);
	cr_assert_eq(output.streams[OUTPUT_OUT].total, 16 * BLOCK, "it is still counted");
	cr_assert_eq(output_kept_from(&output.streams[OUTPUT_OUT], 0), 16 * BLOCK);
	output_log_drop(&output);
}

/* Beginnings are not given back while it runs, so all of them together stop growing before they
 * fill everything. */
Test(output, beginnings_leave_room_for_ends)
{
	static struct output_log many[20];

	for (size_t i = 0; i < 20; i++) {
		many[i].bytes_max = OUTPUT_MEMORY_MAX / 4;
		print(&many[i], OUTPUT_OUT, OUTPUT_MEMORY_MAX / 8, BLOCK);
		while (output_log_shrink(&many[i]))
			;
	}
	cr_assert_leq(output_memory(), OUTPUT_MEMORY_MAX / 2 + 40 * BLOCK);
	for (size_t i = 0; i < 20; i++)
		output_log_drop(&many[i]);
	print(&output, OUTPUT_OUT, 1, 1);
	cr_assert_eq(output_memory(), BLOCK);
	output.bytes_max = 8 * BLOCK;
	print(&output, OUTPUT_OUT, 9 * BLOCK, BLOCK);
	cr_assert_eq(output.head_bytes, 4 * BLOCK, "what was dropped does not count any more");
}
