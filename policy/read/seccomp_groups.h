/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of system calls, and what a profile allows of them.
 */
#ifndef POLICY_READ_SECCOMP_GROUPS_H
#define POLICY_READ_SECCOMP_GROUPS_H

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

/* A call of the groups. */
struct seccomp_call {
	char name[32];
	uint32_t number;
	uint32_t group;
};

/* Return all calls of the groups by number, *ret_count of them; NULL: a fault in our own tables. */
const struct seccomp_call *seccomp_calls(uint32_t *ret_count);

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

/* Return the number of calls that a policy allows, with or without conditions. */
uint32_t seccomp_allowed_count(const struct seccomp_policy *policy);

#endif
