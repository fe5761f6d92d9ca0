/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of profiles as its own two files see it: profiles of files (policy.c), and profiles that
 * are derived for agents (policy_agents.c).
 */
#ifndef POLICY_READ_POLICY_STATE_H
#define POLICY_READ_POLICY_STATE_H

#include "policy/read/builtin.h"
#include "policy/read/policy.h"

/* The operator's file, and each of the program's own. */
#define SOURCES_MAX (PLAN_PROFILES_MAX + 1)

struct policy {
	bool is_builtin; /* while the built-in profiles are added */
	bool is_public;  /* the operator has the public registries alone used */
	uint32_t source_count;
	uint32_t count;
	struct images *images;
	const char *home;
	uint64_t machine_bytes;        /* its memory; 0: not known */
	struct agents *agents;         /* NULL: not read */
	struct registries *registries; /* from that home; NULL: none is used */
	struct policy_shown shown;
	struct policy_settings settings;
	struct source *sources[SOURCES_MAX];
	struct profile *profiles[PLAN_PROFILES_MAX]; /* NULL: not made yet */
	const struct source *operators;              /* the operator's file; NULL: none is added */
	uint32_t base_count;
	struct profile
		*bases[PLAN_PROFILES_MAX]; /* others are derived of these, which no plan has */
};

/* Return the place of an entry in `profiles` of a file. */
struct profile_place policy_place(const struct policy *policy, const struct source *source,
				  uint32_t index);

/* Find a shipped profile by its name, or return NULL. */
const struct builtin_profile *policy_shipped(const char *name);

/* Give a profile what the operator's file requires of the machine. */
void policy_require(const struct policy *policy, struct profile *profile);

/* Take over the agents of a file, whose profiles are made. 0, or -1 with *error set. */
int policy_add_agents(struct policy *policy, const struct source *source,
		      struct policy_error *error);

#endif
