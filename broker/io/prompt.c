/* SPDX-License-Identifier: Apache-2.0 */
#include "io/prompt.h"

#include <ctype.h>
#include <string.h>

/* The last line as a terminal shows it. */
struct last_line {
	char text[PROMPT_BYTES_MAX];
	size_t size;
	bool is_rewritten; /* a carriage return went back to its begin, as progress bars do */
};

/* Ends of prompts. A line that is written again and again may have the others at its end too. */
static const struct prompt_end {
	const char *text;
	bool needs_space;    /* if the line was rewritten, a space must follow */
	bool needs_new_line; /* the line must not be rewritten */
} prompt_ends[] = {
	{ ":", false, false },     { "?", false, false },     { "--More--", false, false },
	{ "(END)", false, false }, { ">", true, false },      { "$", true, false },
	{ "#", true, false },      { "\u276f", true, false }, { "\u00bb", true, false },
	{ "\u03bb", true, false }, { "]", false, true },      { ")", false, true },
	{ "%", true, false },
};

/* Return the bytes of the escape sequence at `bytes`, which begins with ESC; all, if it is cut. */
static size_t escape_size(const char *bytes, size_t size)
{
	size_t at = 2;

	if (size < 2)
		return size;
	if (bytes[1] == '[') {
		while (at < size && (bytes[at] < '@' || bytes[at] > '~'))
			at++;
		return at < size ? at + 1 : size;
	}
	if (bytes[1] == ']') { /* a title; BEL or ESC \ ends it */
		while (at < size && bytes[at] != '\a' && bytes[at] != '\x1b')
			at++;
		return at == size ? size : bytes[at] == '\a' ? at + 1 : at;
	}
	return bytes[1] == '(' || bytes[1] == ')' ? 3 : 2;
}

static void read_last_line(const char *bytes, size_t size, struct last_line *line)
{
	*line = (struct last_line){ .size = 0 };
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\x1b') {
			i += escape_size(bytes + i, size - i) - 1;
		} else if (bytes[i] == '\n' || bytes[i] == '\r') {
			line->size = 0;
			line->is_rewritten = bytes[i] == '\r';
		} else if ((unsigned char)bytes[i] >= ' ') {
			line->text[line->size++] = bytes[i];
		}
	}
}

static bool ends_with(const struct last_line *line, size_t size, const char *text)
{
	const size_t length = strlen(text);

	return size >= length && memcmp(line->text + size - length, text, length) == 0;
}

bool prompt_is_at_end(const char *bytes, size_t size)
{
	struct last_line line;
	size_t shown;

	if (size > PROMPT_BYTES_MAX)
		return false;
	read_last_line(bytes, size, &line);
	shown = line.size;
	while (shown > 0 && line.text[shown - 1] == ' ')
		shown--;
	for (size_t i = 0; i < sizeof(prompt_ends) / sizeof(prompt_ends[0]); i++) {
		const struct prompt_end *end = &prompt_ends[i];

		if (!ends_with(&line, shown, end->text))
			continue;
		if (line.is_rewritten &&
		    (end->needs_new_line || (end->needs_space && shown == line.size)))
			return false;
		/* "45%" is a progress */
		return end->text[0] != '%' || shown < 2 ||
		       !isdigit((unsigned char)line.text[shown - 2]);
	}
	return false;
}
