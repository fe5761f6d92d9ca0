/* SPDX-License-Identifier: Apache-2.0 */
#include "client/toml_text.h"

#include <string.h>

#include "common/format.h"

/* The beginning of a line, without blanks and quotes. */
#define BARE_MAX 128

static void bare_line(const char *line, char ret[BARE_MAX])
{
	size_t used = 0;

	for (; *line && *line != '\n' && *line != '#' && used < BARE_MAX - 1; line++) {
		if (!strchr(" \t\r\"'", *line))
			ret[used++] = *line;
	}
	ret[used] = '\0';
}

/* Does `text` begin with `word`, and end there or go on with one of `next`? */
static bool begins_with(const char *text, const char *word, const char *next)
{
	const size_t size = strlen(word);

	return strncmp(text, word, size) == 0 && (text[size] == '\0' || strchr(next, text[size]));
}

static bool is_doubtful(const char *bare, bool is_first, bool is_inside, const char *table,
			const char *name)
{
	char heading[BARE_MAX];
	char array[BARE_MAX];

	format_text(heading, sizeof(heading), "[%s.%s", table, name);
	format_text(array, sizeof(array), "[[%s", table);
	return begins_with(bare, heading, "].") || begins_with(bare, array, "].") ||
	       (is_inside && begins_with(bare, name, "=.")) ||
	       (is_first && begins_with(bare, table, "=.")) ||
	       (bare[0] == '[' && strchr(bare, '\\')); /* an escape may spell the name */
}

bool toml_text_has(const char *text, const char *table, const char *name)
{
	bool is_first = true; /* no heading was there */
	bool is_inside = false;
	char heading[BARE_MAX];
	char bare[BARE_MAX];

	format_text(heading, sizeof(heading), "[%s", table);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		bare_line(line, bare);
		if (bare[0] == '[') {
			is_first = false;
			is_inside = begins_with(bare, heading, "]");
		}
		if (is_doubtful(bare, is_first, is_inside, table, name))
			return true;
	}
	return false;
}

bool toml_text_has_lines(const char *text, const char *lines)
{
	const size_t size = strlen(lines);
	const char *found = text;

	while ((found = strstr(found, lines))) {
		if ((found == text || found[-1] == '\n') && strchr("\r\n[", found[size]))
			return true;
		found++;
	}
	return false;
}
