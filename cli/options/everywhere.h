/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that every command takes, before or behind its name: -C and -q.
 */
#ifndef CLI_OPTIONS_EVERYWHERE_H
#define CLI_OPTIONS_EVERYWHERE_H

#include "options/options.h"

struct everywhere {
	const char *directory; /* entered already; NULL: none was given */
	bool is_quiet;
};

extern const struct option_table everywhere_options;

/* Their values in this process. */
extern struct everywhere everywhere;

/* Say a line on stderr that is no error, unless -q was given. */
void everywhere_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
