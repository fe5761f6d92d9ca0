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

/* The caller's, to be freed with policy_free(), which returns NULL. */
struct policy *policy_new(void);
struct policy *policy_free(struct policy *policy);

/* Add the profiles that are part of the program: _helper, default, strict. 0, or -1 and *error. */
int policy_add_builtin(struct policy *policy, struct policy_error *error);

/*
 * Add the profile of one YAML file; `file` is its name for messages. It may extend a profile that
 * was added before. 0, or -1 and *error set.
 */
int policy_add(struct policy *policy, const char *file, const char *text, size_t size,
	       struct policy_error *error);

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

#endif
