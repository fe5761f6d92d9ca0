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

/* Confine the caller, a clone of the factory, as the list HELPER of steps.def says. `base` is a
 * pipe that has one byte when the base tree is complete, or -1 if it is; it stays open. Return 0 or
 * the -errno of the step that failed; the caller must not go on then. */
int init_become_helper(const struct factory *factory, uint32_t profile, int base);

#endif
