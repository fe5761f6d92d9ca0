/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled plans of earlier starts, in ~/.cache/msp: compiling a configuration takes longer than
 * the rest of a start. A plan is found under a digest of everything that compiling reads. The
 * directory is not the state directory, which msp-store can write. Without a home directory of the
 * account they are in memory, in /dev/shm/msp-UID; root's are in /run/.cache/msp.
 */
#ifndef LAUNCHER_START_PLAN_CACHE_H
#define LAUNCHER_START_PLAN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"
#include "common/sha256.h"
#include "launcher/start/compile.h"

/* The configuration, and the program that compiles it, as they were. */
struct plan_cache_key {
	bool is_known;
	uint8_t slot; /* follows from the path, the program, and whether binds are kept: old plans
		       * do not accumulate, and two builds keep theirs */
	uint8_t digest[SHA256_BYTES];
};

/*
 * Find the plan of the input, as its files are now. Fills *ret for plan_cache_keep(). Returns
 * a sealed descriptor, the caller's, whose plan is still to be checked; -1: none is known.
 */
int plan_cache_find(const struct compile_input *input, struct plan_cache_key *ret);

/* Keep the plan, which was compiled after plan_cache_find(). False: something has changed since.
 * A cache that cannot be written stays as it is. */
bool plan_cache_keep(const struct compile_input *input, const struct plan_cache_key *key,
		     const struct plan *plan);

#endif
