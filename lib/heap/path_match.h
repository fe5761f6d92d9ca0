/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of paths, as git's files of rules and of configuration have them.
 */
#ifndef LIB_HEAP_PATH_MATCH_H
#define LIB_HEAP_PATH_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Match a name of `length` bytes with a pattern of `size` bytes, as fnmatch(3) does with `flags`.
 * False also if one of them has more than 255 bytes. */
bool path_match_name(const char *pattern, size_t size, const char *name, size_t length, int flags);

/* Match a path name by name; two stars are any number of names. False also after `budget` looks. */
bool path_match(const char *pattern, const char *path, int flags, unsigned int budget);

/* Match a path with one of gitignore(5)'s patterns, without its "!" and its "/" at the end. Both
 * are relative to the file's directory. A pattern of too many stars matches nothing. */
bool path_match_rule(const char *pattern, const char *path);

#endif
