/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

/* The lead bytes and what may follow them (Unicode, table 3-7). The second byte's range is what
 * keeps overlong forms and surrogates out; the others are 80..BF. */
struct lead {
	uint8_t first, last;
	uint8_t second_first, second_last;
	uint8_t length;
};

static const struct lead leads[] = {
	{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static const struct lead *find_lead(uint8_t byte)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	}
	return NULL;
}

size_t utf8_length(const char *bytes, size_t size)
{
	const struct lead *lead;
	uint8_t second;

	if (size == 0)
		return 0;
	lead = find_lead((uint8_t)bytes[0]);
	if (!lead || lead->length > size)
		return 0;
	if (lead->length == 1)
		return 1;
	second = (uint8_t)bytes[1];
	if (second < lead->second_first || second > lead->second_last)
		return 0;
	for (size_t i = 2; i < lead->length; i++) {
		if (((uint8_t)bytes[i] & 0xc0) != 0x80)
			return 0;
	}
	return lead->length;
}

bool utf8_is_valid(const char *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const size_t length =
			(uint8_t)bytes[at] < 0x80 ? 1 : utf8_length(bytes + at, size - at);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

static char continuation(uint32_t code_point, unsigned int shift)
{
	return (char)(0x80 | ((code_point >> shift) & 0x3f));
}

size_t utf8_write(uint32_t code_point, char ret[4])
{
	if (code_point < 0x80) {
		ret[0] = (char)code_point;
		return 1;
	}
	if (code_point < 0x800) {
		ret[0] = (char)(0xc0 | (code_point >> 6));
		ret[1] = continuation(code_point, 0);
		return 2;
	}
	if (code_point < 0x10000) {
		ret[0] = (char)(0xe0 | (code_point >> 12));
		ret[1] = continuation(code_point, 6);
		ret[2] = continuation(code_point, 0);
		return 3;
	}
	ret[0] = (char)(0xf0 | (code_point >> 18));
	ret[1] = continuation(code_point, 12);
	ret[2] = continuation(code_point, 6);
	ret[3] = continuation(code_point, 0);
	return 4;
}
