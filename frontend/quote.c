/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "frontend/utf8.h"

/* Append a byte as an escape, with C's letter if there is one. */
static void append_escape(struct buffer *text, uint8_t byte)
{
	static const char bytes[] = "\a\b\t\n\v\f\r\"\\";
	static const char letters[] = "abtnvfr\"\\";
	const char *at = byte ? strchr(bytes, byte) : NULL;

	if (at)
		buffer_format(text, "\\%c", letters[at - bytes]);
	else
		buffer_format(text, "\\%03o", byte);
}

/* Return the length of the character at `at`, if it is shown as it is; else 0. */
static size_t plain_length(enum quote_use use, const char *at, size_t size)
{
	const uint8_t first = (uint8_t)*at;
	const size_t length = use == QUOTE_ASCII ? first < 0x7f : utf8_length(at, size);

	if (first < ' ' || first == 0x7f || first == '"' || first == '\\' || length == 0)
		return 0;
	return length > 1 && utf8_is_hidden(at, length) ? 0 : length;
}

static bool needs_quotes(enum quote_use use, const char *path, size_t size)
{
	for (size_t at = 0, length; at < size; at += length) {
		length = plain_length(use, path + at, size - at);
		if (length == 0 || (use == QUOTE_LISTED && strchr(" ,;:?", path[at])))
			return true;
	}
	return false;
}

void quote_path_with(struct buffer *text, enum quote_use use, const char *before, const void *path,
		     size_t size, const char *behind)
{
	const char *bytes = path;
	const char *mark = needs_quotes(use, bytes, size) ? "\"" : "";

	buffer_format(text, "%s%s", mark, before);
	for (size_t at = 0, length; at < size; at += length ? length : 1) {
		length = plain_length(use, bytes + at, size - at);
		if (length)
			buffer_append(text, bytes + at, length);
		else
			append_escape(text, (uint8_t)bytes[at]);
	}
	buffer_format(text, "%s%s", behind, mark);
}

void quote_path(struct buffer *text, enum quote_use use, const void *path, size_t size)
{
	quote_path_with(text, use, "", path, size, "");
}
