/* SPDX-License-Identifier: Apache-2.0
 *
 * Host-executed files, which the host's programs execute or obey by themselves: a change of one
 * waits for a person's word.
 */
#ifndef LAYERS_BASE_HELD_H
#define LAYERS_BASE_HELD_H

#include "layers/base/job.h"

/* Return what a change is, by its path, by its old path, and by where a link leads: CHANGE_IS_HELD,
 * if it waits for that word; CHANGE_IS_TOOL, if a tool executes it when somebody starts that, and
 * it is nothing worse; CHANGE_LEADS_OUT; CHANGE_IS_RULES; CHANGE_MAY_RUN. Reads the beginning of a
 * new file. */
uint32_t held_flags(const struct job *job, const struct difference *difference);

/* Return what a path and a link's target tell of that. `target`: of a symbolic link; NULL: it is
 * none. */
uint32_t held_entry_flags(const struct job *job, const char *path, const char *target);

/* Does the change wait for a word? */
bool held_is(const struct job *job, const struct difference *difference);

/* Compare a name, or the beginning of a path with one of our patterns, as a file system that does
 * not tell upper from lower case would. */
bool held_is_called(const char *name, size_t size, const char *wanted);
bool held_is_below(const char *pattern, const char *path);

/* Is a path one that the host obeys by itself, by our table or the operator's patterns? `patterns`:
 * these, NUL after each. `is_below`: can a path below this one be? */
bool held_is_path(const char *path, const char *patterns, size_t patterns_size, bool is_below);

/* Does one of the operator's patterns describe it? */
bool held_is_operators(const char *path, const char *patterns, size_t patterns_size, bool is_below);

/* Does one of these patterns, as in held.def, describe a part of a path? `is_below`: can one
 * describe a path below it? */
bool held_matches_any(const char *const *patterns, size_t count, const char *path, bool is_below);

/* Write a path as names are compared: as a file system that does not tell upper from lower case
 * would. */
void held_fold(const char *path, char ret[IPC_PATH_MAX]);

#endif
