/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": the nearest of a few known words.
 */
#ifndef CLI_OPTIONS_SUGGEST_H
#define CLI_OPTIONS_SUGGEST_H

#include <stddef.h>

/* The word of `words` that is near enough to `word` to be meant, the nearest first in the list on
 * a tie; NULL when none is. */
const char *suggest_nearest(const char *word, const char *const words[], size_t count);

/* Append " (did you mean 'WORD'?)" to a text if one is. */
void suggest_append(char *text, size_t room, const char *word, const char *const words[],
		    size_t count);

#endif
