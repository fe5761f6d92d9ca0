/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls in policies: groups, and the conditions on arguments.
 */
#ifndef POLICY_SECCOMP_GROUPS_H
#define POLICY_SECCOMP_GROUPS_H

#include "policy/filter.h"

#include <stdbool.h>
#include <stdint.h>

#define SECCOMP_GROUPS_MAX 64U
#define SECCOMP_CALLS_MAX 512U

enum seccomp_group_kind {
	SECCOMP_ALLOWABLE, /* a profile may allow it */
	SECCOMP_NEVER,     /* EPERM in every profile */
	SECCOMP_HIDDEN,    /* ENOSYS in every profile */
};

struct seccomp_group {
	const char *name;
	enum seccomp_group_kind kind;
	const char *reason;
	const char *calls; /* names with a space between */
};

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

/* The seccomp settings of a profile. */
struct seccomp_policy {
	bool is_allowed[SECCOMP_GROUPS_MAX]; /* by index of the group */
	bool pretends_ownership;             /* calls about owners return 0 and do nothing */
	uint32_t refused_count;              /* calls taken out of allowed groups */
	uint32_t refused[SECCOMP_CALLS_MAX]; /* numbers */
};

uint32_t seccomp_group_count(void);
const struct seccomp_group *seccomp_group_at(uint32_t index);

/* Return the index of a group by name (without '@'), or -1. */
int seccomp_group_find(const char *name);

/* Copy the next name of `*calls` to `name` and move *calls behind it. False at the end. */
bool seccomp_next_call(const char **calls, char name[32]);

/* Return the number of a system call of x86_64, or -1. */
int seccomp_number(const char *name);

/* Set the name of a call that is in a group, or "". */
void seccomp_call_name(uint32_t number, char ret[32]);

/* Return the index of a call's group, or -1. */
int seccomp_group_of(const char *call);

/* Return whether the call is taken out of its group. */
bool seccomp_is_refused(const struct seccomp_policy *policy, uint32_t number);

/* Return whether the policy answers 0 to the call and does nothing. */
bool seccomp_is_pretended(const struct seccomp_policy *policy, uint32_t number);

/* Return the condition on a call, or NULL if its arguments do not matter. */
const struct seccomp_condition *seccomp_condition_find(const char *name);

/* Return the number of calls that a policy allows, with or without conditions. */
uint32_t seccomp_allowed_count(const struct seccomp_policy *policy);

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
