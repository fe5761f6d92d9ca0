/* SPDX-License-Identifier: Apache-2.0
 *
 * How many descriptors a workload may have beside msp itself.
 *
 * The kernel counts the descriptors that are on their way in messages for all processes of a user,
 * and compares them with RLIMIT_NOFILE of the one that sends the next (too_many_unix_fds(),
 * net/unix/scm.c). A workload with msp's own limit could stop every message of msp. So each init
 * gives a workload half of that at most (child-init/spawn.c), and this says where that is less than
 * a profile says.
 */
#ifndef LAUNCHER_HOST_DESCRIPTORS_H
#define LAUNCHER_HOST_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/plan/plan.h"

#define DESCRIPTORS_TEXT_MAX 512

/* Return how many a workload gets under `limit`, the hard limit of msp, where its profile says
 * `open_files`. */
uint64_t descriptors_granted(uint64_t limit, uint32_t open_files);

/* Return the hard limit of this process, which a supervisor inherits; 0 if there is no answer. */
uint64_t descriptors_limit(void);

/* Find the profile `name`, or for NULL the one that asks for most, and write to `text` how far
 * `limit` lowers its open_files. False: it is not lowered, or there is no such profile. */
bool descriptors_explain(const struct plan *plan, const char *name, uint64_t limit,
			 char text[DESCRIPTORS_TEXT_MAX]);

/* Say it on standard error, if it is so: before a supervisor is started. `name`: NULL for the
 * profile of who names none. */
void descriptors_warn(const struct plan *plan, const char *name);

#endif
