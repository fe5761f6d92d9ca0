/* SPDX-License-Identifier: Apache-2.0 */
#include "index_hash.h"

#include <endian.h>
#include <string.h>

#define BLOCK 64

static uint32_t rotate_word(uint32_t word, unsigned int bits)
{
	return word << bits | word >> (32 - bits);
}

static void mix_block(uint32_t state[5], const uint8_t *block)
{
	uint32_t words[80], now[5];

	for (size_t i = 0; i < 16; i++) {
		memcpy(&words[i], block + 4 * i, sizeof(words[i]));
		words[i] = be32toh(words[i]);
	}
	for (size_t i = 16; i < 80; i++)
		words[i] =
			rotate_word(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
	memcpy(now, state, sizeof(now));
	for (size_t i = 0; i < 80; i++) {
		const uint32_t b = now[1], c = now[2], d = now[3];
		const uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
				       : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
				       : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
						: (b ^ c ^ d) + 0xca62c1d6;
		const uint32_t first = rotate_word(now[0], 5) + mixed + now[4] + words[i];

		now[4] = d;
		now[3] = c;
		now[2] = rotate_word(b, 30);
		now[1] = now[0];
		now[0] = first;
	}
	for (size_t i = 0; i < 5; i++)
		state[i] += now[i];
}

void index_hash(uint8_t *bytes, size_t size, uint8_t ret[INDEX_HASH_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	const size_t whole = (size + 9 + BLOCK - 1) / BLOCK * BLOCK;
	const uint64_t bits = htobe64(8 * (uint64_t)size);

	memset(bytes + size, 0, whole - size);
	bytes[size] = 0x80;
	memcpy(bytes + whole - sizeof(bits), &bits, sizeof(bits));
	for (size_t at = 0; at < whole; at += BLOCK)
		mix_block(state, bytes + at);
	for (size_t i = 0; i < 5; i++) {
		const uint32_t word = htobe32(state[i]);

		memcpy(ret + 4 * i, &word, sizeof(word));
	}
}
