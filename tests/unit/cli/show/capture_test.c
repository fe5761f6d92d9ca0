/* SPDX-License-Identifier: Apache-2.0 */
#include "show/capture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MOST (CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES)

static struct capture capture;

static void begin(void)
{
	capture_init(&capture);
}

static void end(void)
{
	free(capture.head);
}

TestSuite(capture, .init = begin, .fini = end);

/* Byte number `position` of a stream that never repeats within the sizes used here. */
static uint8_t byte_at(uint64_t position)
{
	return (uint8_t)('!' + (position ^ position >> 7 ^ position >> 13) % 90);
}

/* Add the first `size` bytes of that stream, `step` at a time. */
static void fill(size_t size, size_t step)
{
	uint8_t *bytes = malloc(step);

	for (size_t at = 0; at < size; at += step) {
		const size_t part = size - at < step ? size - at : step;

		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(at + i);
		capture_add(&capture, bytes, part);
	}
	free(bytes);
}

static void expect_stream(size_t size)
{
	const struct capture_parts parts = capture_finish(&capture);
	const uint64_t gap_end = parts.sizes[0] + parts.omitted;

	cr_expect_eq(capture.total, size);
	cr_expect_eq(parts.sizes[0] + parts.omitted + parts.sizes[1], size);
	cr_expect_eq(parts.omitted, size > MOST ? size - MOST : 0);
	for (size_t i = 0; i < parts.sizes[0]; i++)
		cr_assert_eq(parts.parts[0][i], byte_at(i), "head, byte %zu", i);
	for (size_t i = 0; i < parts.sizes[1]; i++)
		cr_assert_eq(parts.parts[1][i], byte_at(gap_end + i), "tail, byte %zu", i);
	cr_expect(parts.is_utf8);
}

Test(capture, nothing)
{
	expect_stream(0);
}

Test(capture, a_little)
{
	fill(10, 3);
	expect_stream(10);
}

Test(capture, exactly_the_head)
{
	fill(CAPTURE_HEAD_BYTES, 65536);
	expect_stream(CAPTURE_HEAD_BYTES);
}

Test(capture, exactly_everything)
{
	fill(MOST, 4097);
	expect_stream(MOST);
}

Test(capture, one_too_many)
{
	fill(MOST + 1, 65536);
	expect_stream(MOST + 1);
}

Test(capture, many_times_round)
{
	fill(5 * MOST + 12345, 65521);
	expect_stream(5 * MOST + 12345);
}

Test(capture, one_huge_piece)
{
	fill(3 * MOST + 7, 3 * MOST + 7);
	expect_stream(3 * MOST + 7);
}

Test(capture, a_character_across_head_and_tail_is_kept)
{
	fill(CAPTURE_HEAD_BYTES - 1, 65536);
	capture_add(&capture, (const uint8_t *)"\xc3\xa9", 2);
	const struct capture_parts parts = capture_finish(&capture);

	cr_expect(parts.is_utf8);
	cr_expect_eq(parts.sizes[0], CAPTURE_HEAD_BYTES + 1);
	cr_expect_eq(parts.sizes[1], 0U);
}

Test(capture, characters_cut_by_the_gap_are_left_out)
{
	uint8_t *euros = malloc(3 * MOST);
	struct capture_parts parts;

	for (size_t i = 0; i < MOST; i++)
		memcpy(euros + 3 * i, "\xe2\x82\xac", 3);
	capture_add(&capture, euros, 3 * MOST);
	free(euros);
	parts = capture_finish(&capture);
	cr_expect(parts.is_utf8);
	cr_expect_eq(parts.sizes[0] % 3, 0U);
	cr_expect_eq(parts.sizes[1] % 3, 0U);
	cr_expect_eq(parts.sizes[0] + parts.omitted + parts.sizes[1], 3 * MOST);
}

Test(capture, bytes_are_not_text)
{
	capture_add(&capture, (const uint8_t *)"a\xff", 2);
	cr_expect_not(capture_finish(&capture).is_utf8);
}
