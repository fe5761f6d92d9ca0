/* SPDX-License-Identifier: Apache-2.0
 *
 * TOML as lines: is there a table, so that another one may not be appended? A doubtful line counts
 * as the table, such as one in a string of several lines.
 */
#ifndef CLI_CLIENT_TOML_TEXT_H
#define CLI_CLIENT_TOML_TEXT_H

#include <stdbool.h>

/* Could the text define `table`.`name`, or prevent the heading [table.name] behind it? */
bool toml_text_has(const char *text, const char *table, const char *name);

/* Does the text have these whole lines, followed by an empty line, a heading or the end? */
bool toml_text_has_lines(const char *text, const char *lines);

#endif
