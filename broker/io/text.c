/* SPDX-License-Identifier: Apache-2.0 */
#include "io/text.h"

#include <stdint.h>
#include <string.h>

#include "frontend/utf8.h"

/* "\\U000e0041" */
#define SHOWN_MAX 12

#define UTF8_BYTES_MAX 4

/* The text that shows one character, or one byte outside UTF-8. */
struct shown {
	size_t taken; /* bytes of the input */
	size_t size;
	char text[SHOWN_MAX];
};

static const char hex_digits[] = "0123456789abcdef";

static void show_hex(struct shown *shown, const char *prefix, uint8_t byte)
{
	const size_t length = strlen(prefix);

	memcpy(shown->text, prefix, length);
	shown->text[length] = hex_digits[byte >> 4];
	shown->text[length + 1] = hex_digits[byte & 15];
	shown->size = length + 2;
}

static void show_ascii_control(struct shown *shown, const char *bytes, size_t size,
			       enum text_use use)
{
	const uint8_t byte = (uint8_t)bytes[0];

	if (use == TEXT_CONTENTS && byte == '\r' && size > 1 && bytes[1] == '\n') {
		shown->taken = 2;
		shown->text[0] = '\n';
		shown->size = 1;
	} else if (byte == '\r') {
		memcpy(shown->text, "\\r", 2);
		shown->size = 2;
	} else {
		show_hex(shown, "\\x", byte);
	}
}

/* \uNNNN, or \UNNNNNNNN beyond four digits. */
static void show_hidden(struct shown *shown, const char *bytes, size_t length)
{
	const uint32_t code_point = utf8_read(bytes, length);
	const unsigned int digits = code_point > 0xffff ? 8 : 4;

	shown->text[shown->size++] = '\\';
	shown->text[shown->size++] = digits == 8 ? 'U' : 'u';
	for (unsigned int i = digits; i-- > 0;)
		shown->text[shown->size++] = hex_digits[code_point >> (4 * i) & 15];
}

/* Return true for a C1 control, which terminals obey. */
static bool is_c1(const char *bytes, size_t length)
{
	return length == 2 && (uint8_t)bytes[0] == 0xc2 && (uint8_t)bytes[1] < 0xa0;
}

/* Show the first character. `size` is at least 1. */
static struct shown show_character(const char *bytes, size_t size, enum text_use use)
{
	const uint8_t first = (uint8_t)bytes[0];
	const size_t length = utf8_length(bytes, size);
	struct shown shown = { .taken = length ? length : 1 };

	if (length == 0) {
		show_hex(&shown, "\\x", first);
	} else if (length == 1 && (first < ' ' || first == 0x7f) && first != '\n' &&
		   first != '\t') {
		show_ascii_control(&shown, bytes, size, use);
	} else if (is_c1(bytes, length) || (use == TEXT_JUDGED && utf8_is_hidden(bytes, length))) {
		show_hidden(&shown, bytes, length);
	} else {
		memcpy(shown.text, bytes, length);
		shown.size = length;
	}
	return shown;
}

void text_append(struct buffer *buffer, const char *bytes, size_t size, enum text_use use)
{
	for (size_t at = 0; at < size;) {
		const struct shown shown = show_character(bytes + at, size - at, use);

		buffer_append(buffer, shown.text, shown.size);
		at += shown.taken;
	}
}

const char *text_quoted(const char *bytes, size_t size, size_t room)
{
	static struct buffer kept[4];
	static size_t calls;
	const size_t fits = text_fit_first(bytes, size, room, TEXT_JUDGED);
	struct buffer *text = &kept[calls++ % (sizeof(kept) / sizeof(kept[0]))];

	text->size = 0;
	text_append(text, bytes, fits, TEXT_JUDGED);
	for (size_t i = 0; i < text->size; i++) {
		if (text->bytes[i] == '\n' || text->bytes[i] == '\t')
			text->bytes[i] = ' ';
	}
	buffer_append_text(text, fits < size ? "..." : "");
	return text->bytes;
}

size_t text_unfinished(const char *bytes, size_t size)
{
	for (size_t back = 1; back < UTF8_BYTES_MAX && back <= size; back++) {
		const unsigned char byte = (unsigned char)bytes[size - back];
		const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;

		if (byte < 0x80)
			return 0;
		if (byte >= 0xc0)
			return length > back ? back : 0;
	}
	return 0;
}

size_t text_fit_first(const char *bytes, size_t size, size_t room, enum text_use use)
{
	size_t at = 0;

	while (at < size) {
		const struct shown shown = show_character(bytes + at, size - at, use);

		if (shown.size > room)
			break;
		room -= shown.size;
		at += shown.taken;
	}
	return at;
}

size_t text_fit_last(const char *bytes, size_t size, size_t room, enum text_use use)
{
	size_t total = 0;
	size_t at = 0;

	for (size_t i = 0; i < size;) {
		const struct shown shown = show_character(bytes + i, size - i, use);

		total += shown.size;
		i += shown.taken;
	}
	while (total > room) {
		const struct shown shown = show_character(bytes + at, size - at, use);

		total -= shown.size;
		at += shown.taken;
	}
	return size - at;
}
