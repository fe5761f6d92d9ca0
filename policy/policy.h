/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of profiles: read from YAML, compiled into a plan (common/plan.h), shown to people. A pure
 * library: no descriptors, clock or environment.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "policy/buffer.h"
#include "policy/profile.h"

struct policy;

/* What a file says of all profiles. Texts belong to the policy; NULL and 0: not said. */
struct policy_settings {
	const char *file;            /* its name */
	uint32_t profiles_line;      /* where its profiles begin */
	const char *default_profile; /* never NULL */
	const char *run_as;
	struct strings workspaces;
	struct strings protect;
	struct strings unprotect;
	bool accepts_fallback;
	bool is_audit_optional;
	uint32_t sandboxes_max; /* these: of sandboxes that last, all together; 0: none */
	uint64_t sandboxes_bytes;
};

/* The caller's, to be freed with policy_free(), which returns NULL. */
struct policy *policy_new(void);
struct policy *policy_free(struct policy *policy);

/* Add the profiles that are part of the program. 0, or -1 and *error. */
int policy_add_builtin(struct policy *policy, struct policy_error *error);

/*
 * Add a YAML file, its profiles and its settings, once; `file` is its name for messages. Its
 * profiles may extend each other, in any order, and those that were added before. 0, or -1 and
 * *error set; then the policy is only good for policy_free().
 */
int policy_add(struct policy *policy, const char *file, const char *text, size_t size,
	       struct policy_error *error);

const struct policy_settings *policy_settings(const struct policy *policy);

uint32_t policy_count(const struct policy *policy);
const struct profile *policy_at(const struct policy *policy, uint32_t index);

/* NULL when there is none of that name. */
const struct profile *policy_find(const struct policy *policy, const char *name);

/* Append the plan of all profiles to an empty `blob`. The same input gives the same bytes. 0, or
 * -1 and *error set. */
int policy_compile(const struct policy *policy, struct buffer *blob, struct policy_error *error);

/* What a profile amounts to, for people. */
void policy_show(const struct profile *profile, struct buffer *text);
void policy_show_seccomp(const struct profile *profile, struct buffer *text);
void policy_show_groups(struct buffer *text);

/* What `b` changes against `a`, a line for each value; nothing when they amount to the same. */
void policy_diff(const struct profile *a, const struct profile *b, struct buffer *text);

#endif
