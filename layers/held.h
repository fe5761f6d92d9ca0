/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host's programs execute or obey by themselves, without anybody asking for it: a change
 * of it waits for a person's word.
 */
#ifndef LAYERS_HELD_H
#define LAYERS_HELD_H

#include "job.h"

/* Is this change one? By its path, by its old path, and by where a link points; by our table and
 * the operator's patterns. */
bool held_is(const struct job *job, const struct difference *difference);

/* Return whether a file at this path is one, as a commit names it; `target`: a symbolic link's. */
bool held_is_entry(const struct job *job, const char *path, const char *target);

/* Compare a name, or the beginning of a path with one of our patterns, as a file system that does
 * not tell upper from lower case would. */
bool held_is_called(const char *name, size_t size, const char *wanted);
bool held_is_below(const char *pattern, const char *path);

/* The same of a path alone. `patterns`: those of the operator, NUL after each. */
bool held_is_path(const char *path, const char *patterns, size_t patterns_size);

#endif
