/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes as git prints them, for a person to read or for `git apply`.
 */
#ifndef CLI_SHOW_PATCH_TEXT_H
#define CLI_SHOW_PATCH_TEXT_H

#include <stdbool.h>

#include "frontend/changes.h"

struct patch_style {
	bool has_color;
	bool is_shown; /* to a person: nothing that a terminal would obey, and a word about what is
			* no text */
	bool is_terminal; /* in a terminal: hidden characters are made visible, too */
};

/* --color=WHEN: "auto", "always" or "never". */
enum patch_color {
	PATCH_COLOR_AUTO,
	PATCH_COLOR_ALWAYS,
	PATCH_COLOR_NEVER,
};

/* For --color=WHEN: an enum patch_color. */
const char *patch_set_color(void *member, const char *value);

/* How to print to standard output. `is_shown`: to a person, also where it is no terminal;
 * `git apply` still takes the text then, unless it has control characters. */
struct patch_style patch_style(enum patch_color color, bool is_shown);

/* Print one change. False: it has content that cannot be said here. */
bool patch_print(const struct patch_style *style, const struct change *change);

#endif
