/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of a profile's seccomp settings: conditions on arguments, and the program.
 */
#ifndef POLICY_WRITE_SECCOMP_RULES_H
#define POLICY_WRITE_SECCOMP_RULES_H

#include "policy/read/seccomp_groups.h"
#include "policy/write/filter.h"

#include <stdbool.h>
#include <stdint.h>

/* One call that is allowed for some arguments only. */
struct seccomp_condition {
	const char *name;
	const char *reason; /* the refused arguments, and why */
	const struct filter_clause *clauses;
	uint32_t clause_count;
	uint32_t pretended_count; /* the first clauses, which hold only if ownership is pretended */
	const char *pretended;    /* their effect; NULL: there are none */
	uint32_t otherwise;
};

/* Return the condition on a call, or NULL if its arguments do not matter. */
const struct seccomp_condition *seccomp_condition_find(const char *name);

/* Return whether the policy allows the calls with which a new workload hands over its filter's
 * listener and executes. */
bool seccomp_can_observe(const struct seccomp_policy *policy);

/* Return whether the policy allows the calls of a standby process, which waits for its request with
 * the filter in force and becomes the workload (child-init/standby.h). */
bool seccomp_can_wait(const struct seccomp_policy *policy);

/* Build the program of a policy: 0, or -EINVAL or -E2BIG for a fault in our own tables. With
 * `observes`, refused calls get FILTER_NOTIFY instead of FILTER_EPERM. */
int seccomp_compile(const struct seccomp_policy *policy, bool observes, struct filter_program *ret);

/* Return the argument of a conditional call that best explains a refusal; 0 for NULL. */
uint32_t seccomp_condition_argument(const struct seccomp_condition *condition);

#endif
