/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base64.h"

#include <stdint.h>
#include <string.h>

#define DIGITS 64
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char standard_digits[] = LETTERS "+/";
static const char url_digits[] = LETTERS "-_";

static void append_encoded(struct buffer *to, const uint8_t *bytes, size_t size, const char *digits,
			   bool is_padded)
{
	for (size_t at = 0; at < size; at += 3) {
		const size_t count = size - at < 3 ? size - at : 3;
		const uint32_t bits = (uint32_t)bytes[at] << 16 |
				      (uint32_t)(count > 1 ? bytes[at + 1] : 0) << 8 |
				      (uint32_t)(count > 2 ? bytes[at + 2] : 0);
		const char group[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
					count > 1 ? digits[bits >> 6 & 63] : '=',
					count > 2 ? digits[bits & 63] : '=' };

		buffer_append(to, group, is_padded ? 4 : count + 1);
	}
}

void base64_append(struct buffer *to, const void *bytes, size_t size)
{
	append_encoded(to, bytes, size, standard_digits, true);
}

void base64_append_url(struct buffer *to, const void *bytes, size_t size)
{
	append_encoded(to, bytes, size, url_digits, false);
}

/* Append the bytes of the last `count` digits of `bits`, two to four. False: bits are left over. */
static bool append_group(struct buffer *to, uint32_t bits, size_t count)
{
	const uint32_t all = bits << (6 * (4 - count));
	const char bytes[3] = { (char)(all >> 16 & 0xff), (char)(all >> 8 & 0xff),
				(char)(all & 0xff) };

	buffer_append(to, bytes, count - 1);
	return (all & (0xffffffU >> (8 * (count - 1)))) == 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* False: it is no base 64, and `to` is unchanged. */
static bool append_decoded(struct buffer *to, const char *text, size_t size, const char *digits)
{
	const size_t before = to->size;
	uint32_t bits = 0;
	size_t count = 0;
	bool is_good = true;

	for (size_t at = 0; is_good && at < size; at++) {
		const char *digit = memchr(digits, text[at], DIGITS);

		if (is_space(text[at]) && digits == standard_digits)
			continue;
		is_good = digit != NULL;
		bits = bits << 6 | (uint32_t)(digit ? digit - digits : 0);
		if (++count % 4 == 0)
			(void)append_group(to, bits, 4);
	}
	count %= 4;
	if (is_good && count > 0)
		is_good = count > 1 && append_group(to, bits, count);
	if (!is_good)
		to->size = before;
	return is_good;
}

bool base64_decode(struct buffer *to, const char *text, size_t size)
{
	size_t digits = 0;
	size_t padding = 0;
	size_t end = size;

	for (; end > 0 && (text[end - 1] == '=' || is_space(text[end - 1])); end--)
		padding += text[end - 1] == '=';
	for (size_t at = 0; at < end; at++)
		digits += !is_space(text[at]);
	return padding < 3 && (digits + padding) % 4 == 0 &&
	       append_decoded(to, text, end, standard_digits);
}

bool base64_decode_url(struct buffer *to, const char *text, size_t size)
{
	return append_decoded(to, text, size, url_digits);
}
