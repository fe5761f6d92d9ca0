/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of our cgroup directory, known to the supervisor, which fills it, and to the factory,
 * which empties it when the supervisor was killed.
 */
#ifndef COMMON_CONFINE_CGROUP_H
#define COMMON_CONFINE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text/text.h"

/* The leaf of a sandbox's first execution, below "s<slot>"; an ephemeral one has no other. */
#define CGROUP_LEAF "/e0"

/* "s<slot>" and `suffix`. */
void cgroup_path(struct text *path, uint32_t slot, const char *suffix);

/* "s<slot>/e<leaf>" and `suffix`. */
void cgroup_leaf_path(struct text *path, uint32_t slot, uint32_t leaf, const char *suffix);

/* Return the number of processes in a leaf, as far as 4 KiB list them; 0 if it is gone. */
uint32_t cgroup_count(int dir, uint32_t slot, uint32_t leaf);

/* Remove a sandbox's cgroups but for other leaves than the first; true when they are gone, false
 * while a process is left in them. */
bool cgroup_remove(int dir, uint32_t slot);

/* Kill what is in the cgroups s0 to s<slots - 1> beneath `dir`, which has no others, and remove
 * them; gives up after 100 ms. For whoever is left when a supervisor was killed. */
void cgroup_empty(int dir, uint32_t slots);

#endif
