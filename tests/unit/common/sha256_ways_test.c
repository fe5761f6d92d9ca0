/* SPDX-License-Identifier: Apache-2.0
 *
 * Both ways to compress a block say the same. They are the file's own, so it is included.
 */
#include "../../../common/sha256.c"

#include <criterion/criterion.h>

#include "support.h"

Test(sha256_ways, are_the_same)
{
	uint32_t seed = 1;

	if (!has_instructions())
		cr_skip("this processor has no instructions for it");
	for (int i = 0; i < 10000; i++) {
		uint8_t block[BLOCK_BYTES];
		uint32_t one[8];
		uint32_t other[8];

		for (size_t j = 0; j < sizeof(block); j++)
			block[j] = (uint8_t)(random_next(&seed) >> 16);
		for (size_t j = 0; j < 8; j++)
			one[j] = other[j] = random_next(&seed);
		compress_plain(one, block);
		compress_by_instructions(other, block);
		cr_assert_arr_eq(one, other, sizeof(one));
	}
}

Test(sha256_ways, the_plain_one_is_right)
{
	/* "abc", padded: FIPS 180-4's first example. */
	static const uint32_t expected[8] = { 0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
					      0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad };
	const uint8_t block[BLOCK_BYTES] = { 'a', 'b', 'c', 0x80, [63] = 24 };
	uint32_t state[8];

	memcpy(state, initial, sizeof(state));
	compress_plain(state, block);
	cr_expect_arr_eq(state, expected, sizeof(state));
}

Test(sha256_ways, in_pieces)
{
	static uint8_t bytes[1000];
	uint8_t whole[SHA256_BYTES];
	uint32_t seed = 2;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(random_next(&seed) >> 16);
	for (size_t size = 0; size < sizeof(bytes); size += 7) {
		struct sha256 state;
		uint8_t pieces[SHA256_BYTES];

		sha256(bytes, size, whole);
		sha256_begin(&state);
		for (size_t at = 0; at < size;) {
			size_t part = random_next(&seed) % 150;

			part = part < size - at ? part : size - at;
			sha256_add(&state, bytes + at, part);
			at += part;
		}
		sha256_end(&state, pieces);
		cr_assert_arr_eq(pieces, whole, sizeof(whole), "%zu bytes", size);
	}
}
