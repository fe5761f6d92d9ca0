/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/packages/md5.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "common/text/format.h"

#define BLOCK 64U
#define LENGTH_BYTES 8U

/* The integer part of 2^32 * |sin(i + 1)|. */
static const uint32_t sines[BLOCK] = {
	0xd76aa478U, 0xe8c7b756U, 0x242070dbU, 0xc1bdceeeU, 0xf57c0fafU, 0x4787c62aU, 0xa8304613U,
	0xfd469501U, 0x698098d8U, 0x8b44f7afU, 0xffff5bb1U, 0x895cd7beU, 0x6b901122U, 0xfd987193U,
	0xa679438eU, 0x49b40821U, 0xf61e2562U, 0xc040b340U, 0x265e5a51U, 0xe9b6c7aaU, 0xd62f105dU,
	0x02441453U, 0xd8a1e681U, 0xe7d3fbc8U, 0x21e1cde6U, 0xc33707d6U, 0xf4d50d87U, 0x455a14edU,
	0xa9e3e905U, 0xfcefa3f8U, 0x676f02d9U, 0x8d2a4c8aU, 0xfffa3942U, 0x8771f681U, 0x6d9d6122U,
	0xfde5380cU, 0xa4beea44U, 0x4bdecfa9U, 0xf6bb4b60U, 0xbebfbc70U, 0x289b7ec6U, 0xeaa127faU,
	0xd4ef3085U, 0x04881d05U, 0xd9d4d039U, 0xe6db99e5U, 0x1fa27cf8U, 0xc4ac5665U, 0xf4292244U,
	0x432aff97U, 0xab9423a7U, 0xfc93a039U, 0x655b59c3U, 0x8f0ccc92U, 0xffeff47dU, 0x85845dd1U,
	0x6fa87e4fU, 0xfe2ce6e0U, 0xa3014314U, 0x4e0811a1U, 0xf7537e82U, 0xbd3af235U, 0x2ad7d2bbU,
	0xeb86d391U,
};

static const uint8_t shifts[4][4] = {
	{ 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
};

static uint32_t rotate_left(uint32_t word, unsigned int count)
{
	return word << count | word >> (32U - count);
}

static void add_block(uint32_t sum[4], const uint8_t block[BLOCK])
{
	static const unsigned int factors[4] = { 1, 5, 3, 7 }, starts[4] = { 0, 1, 5, 0 };
	uint32_t words[16], state[4];

	memcpy(words, block, sizeof(words));
	memcpy(state, sum, sizeof(state));
	for (unsigned int step = 0; step < BLOCK; step++) {
		const unsigned int round = step / 16U;
		const uint32_t b = state[1], c = state[2], d = state[3];
		const uint32_t mixed[4] = { (b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d,
					    c ^ (b | ~d) };
		const uint32_t word = words[(factors[round] * step + starts[round]) % 16U];
		const uint32_t next = mixed[round] + state[0] + sines[step] + le32toh(word);

		state[0] = d;
		state[3] = c;
		state[2] = b;
		state[1] = b + rotate_left(next, shifts[round][step % 4U]);
	}
	for (unsigned int i = 0; i < 4; i++)
		sum[i] += state[i];
}

void md5_print(const void *bytes, size_t size, char ret[MD5_DIGITS + 1])
{
	uint32_t sum[4] = { 0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U };
	uint8_t last[2 * BLOCK] = { 0 };
	const uint8_t *next = bytes;
	const uint64_t bits = htole64((uint64_t)size * 8U);
	size_t rest = size;
	size_t end;

	for (; rest >= BLOCK; rest -= BLOCK, next += BLOCK)
		add_block(sum, next);
	if (rest > 0)
		memcpy(last, next, rest);
	last[rest] = 0x80;
	end = rest + 1 + LENGTH_BYTES <= BLOCK ? BLOCK : sizeof(last);
	memcpy(last + end - LENGTH_BYTES, &bits, LENGTH_BYTES);
	for (size_t at = 0; at < end; at += BLOCK)
		add_block(sum, last + at);
	for (unsigned int i = 0; i < 4; i++)
		format_text(ret + i * 8U, 9, "%08x", be32toh(htole32(sum[i])));
}
