/* SPDX-License-Identifier: Apache-2.0 */
#include "options/suggest.h"

#include <stdint.h>
#include <string.h>

#include "common/text/format.h"

#define WORD_MAX ((size_t)32)

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
static size_t edit_distance(const char *from, const char *to)
{
	const size_t from_size = strlen(from);
	const size_t to_size = strlen(to);
	size_t rows[3][WORD_MAX + 1];

	if (from_size > WORD_MAX || to_size > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= to_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= from_size; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= to_size; j++) {
			const size_t differs = from[i - 1] != to[j - 1] ? 1 : 0;

			row[j] = least_of(above[j - 1] + differs,
					  least_of(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
				row[j] = least_of(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[from_size % 3][to_size];
}

const char *suggest_nearest(const char *word, const char *const words[], size_t count)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const size_t here = edit_distance(word, words[i]);

		if (here < best_distance) {
			best_distance = here;
			best = words[i];
		}
	}
	/* More than a third wrong is another word, not a slip. */
	if (!best || best_distance > (strlen(best) + 2) / 3)
		return NULL;
	return best;
}

void suggest_append(char *text, size_t room, const char *word, const char *const words[],
		    size_t count)
{
	const char *near = suggest_nearest(word, words, count);

	if (near)
		format_append(text, room, " (did you mean '%s'?)", near);
}
