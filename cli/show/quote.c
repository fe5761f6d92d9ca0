/* SPDX-License-Identifier: Apache-2.0 */
#include "show/quote.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "common/limits.h"
#include "frontend/utf8.h"

/* C's letter for a byte, as git uses it; 0: none. */
static char escape_letter(uint8_t byte)
{
	static const char bytes[] = "\a\b\t\n\v\f\r\"\\";
	static const char letters[] = "abtnvfr\"\\";
	const char *at = byte ? strchr(bytes, byte) : NULL;

	return at ? letters[at - bytes] : '\0';
}

static bool is_plain(uint8_t byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static bool needs_quotes(const uint8_t *path, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!is_plain(path[i]))
			return true;
	}
	return false;
}

size_t quote_path(const char *prefix, const void *path, size_t size, char *ret, size_t room)
{
	const uint8_t *bytes = path;

	if (!needs_quotes(bytes, size)) {
		format_text(ret, room, "%s%.*s", prefix, (int)size, (const char *)path);
		return strlen(ret);
	}
	format_text(ret, room, "\"%s", prefix);
	for (size_t i = 0; i < size; i++) {
		const char letter = escape_letter(bytes[i]);
		const size_t used = strlen(ret);

		if (is_plain(bytes[i]))
			format_text(ret + used, room - used, "%c", bytes[i]);
		else if (letter)
			format_text(ret + used, room - used, "\\%c", letter);
		else
			format_text(ret + used, room - used, "\\%03o", bytes[i]);
	}
	format_append(ret, room, "\"");
	return strlen(ret);
}

void quote_print(const void *path, size_t size)
{
	static char text[QUOTE_MAX(IPC_PATH_MAX)];

	(void)quote_path("", path, size, text, sizeof(text));
	(void)fputs(text, stdout);
}

/* U+0080 to U+009F, which some terminals obey. */
static bool is_c1(uint32_t code_point)
{
	return code_point >= 0x80 && code_point < 0xa0;
}

void quote_print_text(const void *text, size_t size, bool is_judged)
{
	const char *bytes = text;
	size_t length;

	for (size_t i = 0; i < size; i += length) {
		const char *at = bytes + i;
		const unsigned char first = (unsigned char)*at;
		uint32_t code_point = 0;

		length = utf8_length(at, size - i);
		if (length > 1)
			code_point = utf8_read(at, length);
		if (length == 0)
			(void)printf("<%02X>", first);
		else if (is_c1(code_point) || (is_judged && utf8_is_hidden(at, length)))
			(void)printf("<U+%04" PRIX32 ">", code_point);
		else if (length == 1 && first != '\t' && (first < ' ' || first == 0x7f))
			(void)printf("^%c", first ^ 0x40);
		else
			(void)fwrite(at, 1, length, stdout);
		length = length ? length : 1;
	}
}
