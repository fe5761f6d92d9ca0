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

/* The same of a path alone. `patterns`: those of the operator, NUL after each. */
bool held_is_path(const char *path, const char *patterns, size_t patterns_size);

#endif
