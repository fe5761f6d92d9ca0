/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that somebody else chose, shown to a person: paths as git shows them, text without anything
 * that a terminal would obey.
 */
#ifndef CLI_SHOW_QUOTE_H
#define CLI_SHOW_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the longest path: each byte as \nnn, two quotes, a prefix and the NUL. */
#define QUOTE_MAX(size) (4 * (size) + 8)

/*
 * A path as git writes it: as it is, or, where it holds a quote, a backslash, a control character
 * or a byte that is not ASCII, in double quotes with C's escapes. `prefix` comes before it, inside
 * the quotes. Returns the length; `ret` is terminated.
 */
size_t quote_path(const char *prefix, const void *path, size_t size, char *ret, size_t room);

/* Print a quoted path on stdout. Paths are shorter than IPC_PATH_MAX. */
void quote_print(const void *path, size_t size);

/* Text on stdout of which a terminal obeys nothing: control characters but tab as ^X or <U+00XX>,
 * bytes that are no UTF-8 as <XX>. With `is_judged` hidden characters (utf8_is_hidden()) as
 * <U+XXXX>, too. No newline is expected. */
void quote_print_text(const void *text, size_t size, bool is_judged);

#endif
