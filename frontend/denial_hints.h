/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock, the mounts and the network refuse without asking anybody, so no denial is counted. A
 * program that failed often names the path or host: the last lines of its error output are searched
 * for known words and the name beside them. That text is a workload's and proves nothing; it is
 * only the question to the policy, and the answer is the policy's.
 */
#ifndef FRONTEND_DENIAL_HINTS_H
#define FRONTEND_DENIAL_HINTS_H

#include <stdbool.h>

#include "frontend/denials.h"

/* So much of the end of an output is looked at. */
#define HINT_BYTES 4096U

/* Is it one that a refusal may be the reason of, and not a limit or somebody's wish? */
bool denial_hints_apply(const struct ipc_execution_done *done);

/*
 * Add what the policy refuses of what these last `size` bytes speak of; `cwd` is where their
 * relative paths begin, NULL for the profile's. Where nothing was refused at all, but an error is
 * told that the policy is not the reason of, views->other says so.
 */
void denial_hints_add(const struct plan *plan, const char *profile, const char *cwd,
		      const char *tail, size_t size, struct denial_views *views);

#endif
