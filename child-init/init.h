/* SPDX-License-Identifier: Apache-2.0
 *
 * The init role: PID 1 of one sandbox.
 */
#ifndef CHILD_INIT_INIT_H
#define CHILD_INIT_INIT_H

#include "common/confine/landlock.h"
#include "factory.h"

/* An init's own state. */
struct init {
	const struct factory *factory;
	const struct plan_profile *profile;
	struct channel channel;
	struct kernel_landlock_ruleset landlock; /* the plan's rights that this kernel handles */
	int landlock_abi;
	uint64_t root_rights;               /* rights in the whole tree */
	struct probe_namespaces namespaces; /* its own, when it shall be probed */
	int ruleset;
};

/* Continue as init of a sandbox of the profile; fds[0] is its channel. Never returns. */
void init_run(const struct factory *factory, uint32_t profile, const int *fds)
	__attribute__((noreturn));

/* Die with the parent; not readable by others; no privileges through exec. 0 or -errno. */
int init_protect(void);

/* Set up the part that inits and helpers share. 0 or -errno, with the stage. */

/* Become a new process's own identity, in namespaces of its own but for the mounts, which are the
 * factory's: nothing may be changed there. */
int init_isolate(uint32_t *ret_stage);

/* Once the base is there, of which `base` tells (-1: it is), enter a tree made from it. `base` is
 * closed when that is no longer needed. *ret_namespaces says which ones it has got; or NULL. */
int init_enter(const struct factory *factory, uint32_t profile, int base,
	       struct probe_namespaces *ret_namespaces, uint32_t *ret_stage);

#endif
