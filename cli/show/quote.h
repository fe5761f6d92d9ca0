/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that somebody else chose, shown to a person: paths as git shows them, text without anything
 * that a terminal would obey.
 */
#ifndef CLI_SHOW_QUOTE_H
#define CLI_SHOW_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Return a quoted path. Valid until the next call. */
const char *quote_shown(const void *path, size_t size);

/* Text on stdout of which a terminal obeys nothing: control characters but tab as ^X or <U+00XX>,
 * bytes that are no UTF-8 as <XX>. With `is_judged` hidden characters (utf8_is_hidden()) as
 * <U+XXXX>, too. No newline is expected. */
void quote_print_text(const void *text, size_t size, bool is_judged);

/* Print arguments on stdout as a shell would take them, each in single quotes where it needs them,
 * without anything that a terminal obeys. A NUL is after each; if it is not after the last one,
 * that is cut off, and " ..." follows it. */
void quote_print_words(const char *argv, size_t size);

#endif
