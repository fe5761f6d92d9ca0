/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/utf8.h"

#include <string.h>

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

static char continuation_byte(uint32_t code_point, unsigned int shift)
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
		ret[1] = continuation_byte(code_point, 0);
		return 2;
	}
	if (code_point < 0x10000) {
		ret[0] = (char)(0xe0 | (code_point >> 12));
		ret[1] = continuation_byte(code_point, 6);
		ret[2] = continuation_byte(code_point, 0);
		return 3;
	}
	ret[0] = (char)(0xf0 | (code_point >> 18));
	ret[1] = continuation_byte(code_point, 12);
	ret[2] = continuation_byte(code_point, 6);
	ret[3] = continuation_byte(code_point, 0);
	return 4;
}

uint32_t utf8_read(const char *bytes, size_t length)
{
	static const uint8_t lead_bits[5] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code_point = (uint8_t)bytes[0] & lead_bits[length];

	for (size_t i = 1; i < length; i++)
		code_point = code_point << 6 | ((uint8_t)bytes[i] & 0x3f);
	return code_point;
}

/* In ascending order. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x80, 0x9f },       /* C1 controls */
	{ 0xad, 0xad },       /* soft hyphen */
	{ 0x34f, 0x34f },     /* combining grapheme joiner */
	{ 0x61c, 0x61c },     /* Arabic letter mark */
	{ 0x115f, 0x1160 },   /* Hangul fillers */
	{ 0x17b4, 0x17b5 },   /* Khmer inherent vowels */
	{ 0x180b, 0x180f },   /* Mongolian variation selectors */
	{ 0x200b, 0x200f },   /* zero-width characters, direction marks */
	{ 0x2028, 0x202e },   /* line and paragraph separators, embeddings, overrides */
	{ 0x2060, 0x206f },   /* word joiner, invisible operators, isolates */
	{ 0x3164, 0x3164 },   /* Hangul filler */
	{ 0xfe00, 0xfe0f },   /* variation selectors */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xffa0, 0xffa0 },   /* half-width Hangul filler */
	{ 0xfff0, 0xfffb },   /* unassigned ignorable, interlinear marks */
	{ 0x1bca0, 0x1bca3 }, /* shorthand format controls */
	{ 0x1d173, 0x1d17a }, /* musical format controls */
	{ 0xe0000, 0xe0fff }, /* tags, variation selectors supplement */
};

bool utf8_is_hidden(const char *bytes, size_t length)
{
	const uint32_t code_point = length > 1 ? utf8_read(bytes, length) : 0;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (code_point <= hidden[i].last)
			return code_point >= hidden[i].first;
	}
	return false;
}

void utf8_make_line(char *text)
{
	const size_t size = strlen(text);
	size_t used = 0;
	size_t length;

	for (size_t at = 0; at < size; at += length) {
		const size_t found = utf8_length(text + at, size - at);
		const bool is_control =
			found == 1 && ((uint8_t)text[at] < ' ' || (uint8_t)text[at] == 0x7f);

		length = found ? found : 1;
		if (found == 0 || is_control || utf8_is_hidden(text + at, length)) {
			text[used++] = '?';
			continue;
		}
		memmove(text + used, text + at, length);
		used += length;
	}
	text[used] = '\0';
}
