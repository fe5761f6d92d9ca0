/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroups of sandboxes: s<slot> with the limits, in it the leaf e0 of its first execution and,
 * where it has more, e1 and so on. The init lives in s<slot> itself, whose cgroup namespace it is,
 * so that it can clone into the leaves.
 * Without a delegated cgroup (limits: fallback) nothing here is called but cgroup_remove_leaf().
 */
#ifndef SUPERVISOR_RUN_CGROUP_H
#define SUPERVISOR_RUN_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"

struct cgroup_usage {
	uint64_t cpu_us;
	uint64_t peak_bytes;
	uint64_t oom_kills;     /* processes that the kernel killed for memory */
	uint64_t forks_refused; /* new processes and threads that there was no room for */
};

/* Make both with the profile's limits; descriptors are the caller's. 0 or -errno. */
int cgroup_create(uint32_t slot, const struct plan_profile *profile, int *ret_sandbox,
		  int *ret_leaf);

/* Return whether the kernel's limits are the profile's; *ret_controllers: those that they have. */
bool cgroup_check(uint32_t slot, const struct plan_profile *profile, uint32_t *ret_controllers);

/* One more leaf: its descriptor, the caller's, or -errno; and it is gone again: true, or false
 * while a process is left in it. Without cgroups there is none. */
int cgroup_add_leaf(uint32_t slot, uint32_t leaf);
bool cgroup_remove_leaf(uint32_t slot, uint32_t leaf);

/* Kill every process in a leaf, whatever it does. */
void cgroup_kill(uint32_t slot, uint32_t leaf);

/* Read the sandbox's usage until now; cgroup_read_cpu() returns the CPU time of a leaf alone. */
void cgroup_read(uint32_t slot, struct cgroup_usage *ret);
uint64_t cgroup_read_cpu(uint32_t slot, uint32_t leaf);

/* Return the memory of all sandboxes together now, in bytes. */
uint64_t cgroup_memory_used(void);

#endif
