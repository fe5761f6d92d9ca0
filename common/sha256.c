/* SPDX-License-Identifier: Apache-2.0
 *
 * The names are those of FIPS 180-4, sections 4.1.2, 5 and 6.2.
 */
#include "common/sha256.h"

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK_BYTES 64
#define LENGTH_BYTES 8 /* at the end of the last block: the number of bits */
#define ROUNDS 64

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

/* 5.3.3: the same of the square roots of the first 8 primes. */
static const uint32_t initial[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rot_r(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static void make_schedule(const uint8_t block[BLOCK_BYTES], uint32_t w[ROUNDS])
{
	for (size_t t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
		       (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	for (size_t t = 16; t < ROUNDS; t++) {
		const uint32_t s0 = rot_r(w[t - 15], 7) ^ rot_r(w[t - 15], 18) ^ (w[t - 15] >> 3);
		const uint32_t s1 = rot_r(w[t - 2], 17) ^ rot_r(w[t - 2], 19) ^ (w[t - 2] >> 10);

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
}

/* One round; the caller gives the eight variables in turn, so that none has to be moved. */
#define ROUND(a, b, c, d, e, f, g, h, t)                                                           \
	do {                                                                                       \
		const uint32_t t1 = (h) + (rot_r(e, 6) ^ rot_r(e, 11) ^ rot_r(e, 25)) +            \
				    (((e) & (f)) ^ (~(e) & (g))) + k[t] + w[t];                    \
		const uint32_t t2 = (rot_r(a, 2) ^ rot_r(a, 13) ^ rot_r(a, 22)) +                  \
				    (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c)));                     \
		(d) += t1;                                                                         \
		(h) = t1 + t2;                                                                     \
	} while (0)

static void compress_plain(uint32_t state[8], const uint8_t block[BLOCK_BYTES])
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	uint32_t w[ROUNDS];

	make_schedule(block, w);
	for (size_t t = 0; t < ROUNDS; t += 8) {
		ROUND(a, b, c, d, e, f, g, h, t);
		ROUND(h, a, b, c, d, e, f, g, t + 1);
		ROUND(g, h, a, b, c, d, e, f, t + 2);
		ROUND(f, g, h, a, b, c, d, e, t + 3);
		ROUND(e, f, g, h, a, b, c, d, t + 4);
		ROUND(d, e, f, g, h, a, b, c, t + 5);
		ROUND(c, d, e, f, g, h, a, b, t + 6);
		ROUND(b, c, d, e, f, g, h, a, t + 7);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

/*
 * Compress with the instructions that most processors have for it: they keep the state as A B E F
 * and C D G H, do two rounds at once, and four words of the schedule. Unrolled, these stay in
 * registers.
 */
__attribute__((target("sha,ssse3,sse4.1"))) static void
compress_by_instructions(uint32_t state[8], const uint8_t block[BLOCK_BYTES])
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	const __m128i before[2] = {
		_mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]),
		_mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]),
	};
	__m128i abef = before[0];
	__m128i cdgh = before[1];
	__m128i w[4]; /* the last sixteen words */

	for (size_t i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)block + i),
					swap);
#pragma GCC unroll 16
	for (size_t t = 0; t < ROUNDS / 4; t++) {
		__m128i *now = &w[t % 4];
		const __m128i first = w[(t + 1) % 4];
		const __m128i last = w[(t + 3) % 4];
		__m128i sum;

		if (t >= 4)
			*now = _mm_sha256msg2_epu32(
				_mm_add_epi32(_mm_sha256msg1_epu32(*now, first),
					      _mm_alignr_epi8(last, w[(t + 2) % 4], 4)),
				last);
		sum = _mm_add_epi32(*now,
				    _mm_loadu_si128((const __m128i *)(const void *)&k[4 * t]));
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
	}
	abef = _mm_add_epi32(abef, before[0]);
	cdgh = _mm_add_epi32(cdgh, before[1]);
	state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
	state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
	state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
	state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
	state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
	state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
	state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
	state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

/* Has the processor these? In a virtual machine each time it is asked is dear. */
static bool has_instructions(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid_max(0, NULL) < 7)
		return false;
	__cpuid(1, a, b, c, d);
	if (!(c & bit_SSSE3) || !(c & bit_SSE4_1))
		return false;
	__cpuid_count(7, 0, a, b, c, d);
	return (b & bit_SHA) != 0;
}

static void compress_block(uint32_t state[8], const uint8_t block[BLOCK_BYTES])
{
	static enum { UNKNOWN, PLAIN, BY_INSTRUCTIONS } way;

	if (way == UNKNOWN)
		way = has_instructions() ? BY_INSTRUCTIONS : PLAIN;
	if (way == BY_INSTRUCTIONS)
		compress_by_instructions(state, block);
	else
		compress_plain(state, block);
}

void sha256_begin(struct sha256 *state)
{
	memcpy(state->h, initial, sizeof(state->h));
	state->size = 0;
}

void sha256_add(struct sha256 *state, const void *data, size_t size)
{
	const uint8_t *from = data;
	size_t used = state->size % BLOCK_BYTES;

	state->size += size;
	if (used > 0) {
		const size_t part = size < BLOCK_BYTES - used ? size : BLOCK_BYTES - used;

		memcpy(state->block + used, from, part);
		from += part;
		size -= part;
		if (used + part < BLOCK_BYTES)
			return;
		compress_block(state->h, state->block);
	}
	for (; size >= BLOCK_BYTES; size -= BLOCK_BYTES, from += BLOCK_BYTES)
		compress_block(state->h, from);
	if (size > 0)
		memcpy(state->block, from, size);
}

/* 5.1.1: a one, zeros, and the length at the end of this block or one more. */
void sha256_end(struct sha256 *state, uint8_t ret[SHA256_BYTES])
{
	static const uint8_t padding[2 * BLOCK_BYTES] = { 0x80 };
	const uint64_t bits = state->size * 8;
	const size_t used = state->size % BLOCK_BYTES;
	const size_t blocks = used < BLOCK_BYTES - LENGTH_BYTES ? 1 : 2;
	uint8_t length[LENGTH_BYTES];

	for (size_t i = 0; i < LENGTH_BYTES; i++)
		length[LENGTH_BYTES - 1 - i] = (uint8_t)(bits >> 8 * i);
	sha256_add(state, padding, blocks * BLOCK_BYTES - LENGTH_BYTES - used);
	sha256_add(state, length, sizeof(length));
	for (size_t i = 0; i < SHA256_BYTES; i++)
		ret[i] = (uint8_t)(state->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *data, size_t size, uint8_t ret[SHA256_BYTES])
{
	struct sha256 state;

	sha256_begin(&state);
	sha256_add(&state, data, size);
	sha256_end(&state, ret);
}

void sha256_text(const uint8_t hash[SHA256_BYTES], char ret[SHA256_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_BYTES; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 0xf];
	}
	ret[SHA256_TEXT_MAX - 1] = '\0';
}
