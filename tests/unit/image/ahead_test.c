/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources that are read by the second thread: all bytes in their order, their end or refusal behind
 * them, one source after the other, and ends that come early.
 */
#include "image/ahead.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "image/refuse.h"

/* More than two turns. */
#define PIECES 100U
#define PIECE_BYTES ((size_t)64 << 10)

/* Pieces, each of which has its number in each byte. */
struct numbers {
	uint32_t pieces;
	const char *refusal; /* at the end; NULL: none */
	size_t bytes;        /* of a piece */
	atomic_uint asked;
	uint8_t piece[8 * PIECE_BYTES * 10];
};

static struct numbers numbers;
static atomic_uint confined;

static void confine(void)
{
	confined++;
}

static ssize_t read_numbers(void *context, const void **ret)
{
	struct numbers *from = context;

	if (from->asked == from->pieces)
		return from->refusal ? refuse("%s", from->refusal) : 0;
	memset(from->piece, (int)from->asked++, from->bytes);
	*ret = from->piece;
	return (ssize_t)from->bytes;
}

static void begin(uint32_t pieces, size_t bytes, const char *refusal)
{
	numbers.pieces = pieces;
	numbers.bytes = bytes;
	numbers.refusal = refusal;
	numbers.asked = 0;
	ahead_begin(read_numbers, &numbers);
}

/* Read all, and check each byte. Returns the end. */
static ssize_t read_all(size_t *ret_bytes)
{
	const void *bytes;
	ssize_t size;

	*ret_bytes = 0;
	while ((size = ahead_next(&bytes)) > 0) {
		for (size_t i = 0; i < (size_t)size; i += 1021)
			cr_assert_eq(((const uint8_t *)bytes)[i],
				     (uint8_t)((*ret_bytes + i) / numbers.bytes));
		*ret_bytes += (size_t)size;
	}
	return size;
}

static void set_up(void)
{
	ahead_start(confine);
	refuse_in_layer(1, 2, "0123456789abcdef");
}

TestSuite(ahead, .init = set_up, .timeout = 60);

Test(ahead, one_source_after_the_other)
{
	size_t bytes;

	for (uint32_t round = 0; round < 200; round++) {
		const uint32_t pieces = round % 3 == 0 ? 0 : round % 3 == 1 ? 1 : PIECES;

		begin(pieces, PIECE_BYTES, NULL);
		cr_assert_eq(read_all(&bytes), 0);
		cr_assert_eq(bytes, pieces * PIECE_BYTES);
		cr_assert_eq(read_all(&bytes), 0, "an end stays");
		ahead_end();
	}
	cr_expect_eq(confined, 1);
}

Test(ahead, pieces_longer_than_a_turn)
{
	size_t bytes;

	begin(5, sizeof(numbers.piece), NULL);
	cr_expect_eq(read_all(&bytes), 0);
	cr_expect_eq(bytes, 5 * sizeof(numbers.piece));
}

Test(ahead, a_refusal_comes_behind_the_bytes_before_it)
{
	size_t bytes;

	begin(PIECES, PIECE_BYTES, "it is bad");
	refuse_in_entry("etc/name");
	cr_expect_eq(read_all(&bytes), -1);
	cr_expect_eq(bytes, PIECES * PIECE_BYTES);
	cr_expect_str_eq(report.text, "layer 1 of 2 (0123456789ab), 'etc/name': it is bad",
			 "the entry is that of the first thread");
	cr_expect_eq(read_all(&bytes), -1, "it stays");
}

Test(ahead, an_early_end)
{
	const void *read;
	size_t bytes;

	for (uint32_t round = 0; round < 200; round++) {
		begin(UINT32_MAX, PIECE_BYTES, NULL);
		for (uint32_t i = 0; i < round % 4; i++)
			cr_assert_gt(ahead_next(&read), 0);
		ahead_end();
		cr_assert_lt(numbers.asked, 1000000, "it is not read to its end");
	}
	begin(1, PIECE_BYTES, NULL);
	cr_expect_eq(read_all(&bytes), 0);
	cr_expect_eq(bytes, PIECE_BYTES, "the next begins at its beginning");
}

Test(ahead, nothing_was_begun)
{
	ahead_end();
	cr_expect_eq(report.text[0], '\0');
}

Test(ahead, a_refusal_of_the_first_thread_is_kept)
{
	begin(PIECES, PIECE_BYTES, "it is bad");
	(void)refuse("the layers have too much");
	ahead_end();
	cr_expect_not_null(strstr(report.text, "the layers have too much"), "%s", report.text);
}
