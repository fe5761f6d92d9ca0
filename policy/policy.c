/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"

#include "policy/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy {
	bool is_builtin; /* while the program's own profiles are added */
	uint32_t count;
	struct source *sources[PLAN_PROFILES_MAX];
	struct profile *profiles[PLAN_PROFILES_MAX];
};

struct policy *policy_new(void)
{
	return memory_zeroed(1, sizeof(struct policy));
}

struct policy *policy_free(struct policy *policy)
{
	if (policy == NULL)
		return NULL;
	for (uint32_t i = 0; i < policy->count; i++) {
		policy->profiles[i] = profile_free(policy->profiles[i]);
		policy->sources[i] = source_free(policy->sources[i]);
	}
	free(policy);
	return NULL;
}

uint32_t policy_count(const struct policy *policy)
{
	return policy->count;
}

const struct profile *policy_at(const struct policy *policy, uint32_t index)
{
	return policy->profiles[index];
}

const struct profile *policy_find(const struct policy *policy, const char *name)
{
	for (uint32_t i = 0; i < policy->count; i++) {
		if (strcmp(policy->profiles[i]->name, name) == 0)
			return policy->profiles[i];
	}
	return NULL;
}

static int find_parent(const struct policy *policy, const struct source *source,
		       const struct profile **ret, struct policy_error *error)
{
	const char *name = source->profile->extends;

	*ret = NULL;
	if (name == NULL)
		return 0;
	*ret = policy_find(policy, name);
	if (*ret == NULL || (name[0] == '_' && !policy->is_builtin))
		return source_fail(
			source, error, "extends",
			"there is no profile \"%s\"; expected a built-in one or one of a "
			"file given before this one",
			name);
	return 0;
}

static int check_name(const struct policy *policy, const struct profile *profile,
		      const struct source *source, struct policy_error *error)
{
	if (profile->name[0] == '_' && !policy->is_builtin)
		return source_fail(source, error, "name",
				   "\"%s\": names that begin with _ are the "
				   "program's own",
				   profile->name);
	if (policy_find(policy, profile->name) != NULL)
		return source_fail(source, error, "name",
				   "there is a profile \"%s\" already; "
				   "choose another name",
				   profile->name);
	if (policy->count == PLAN_PROFILES_MAX)
		return source_fail(source, error, "", "more than %u profiles", PLAN_PROFILES_MAX);
	return 0;
}

static int add_source(struct policy *policy, struct source *source, struct policy_error *error)
{
	const struct profile *parent;
	struct profile *profile;

	if (find_parent(policy, source, &parent, error) != 0)
		return -1;
	profile = profile_new(source, parent, error);
	if (profile == NULL)
		return -1;
	if (check_name(policy, profile, source, error) != 0) {
		profile = profile_free(profile);
		return -1;
	}
	policy->sources[policy->count] = source;
	policy->profiles[policy->count++] = profile;
	return 0;
}

int policy_add(struct policy *policy, const char *file, const char *text, size_t size,
	       struct policy_error *error)
{
	struct source *source = source_load(file, text, size, error);

	if (source == NULL)
		return -1;
	if (add_source(policy, source, error) != 0) {
		source = source_free(source);
		return -1;
	}
	return 0;
}

int policy_add_builtin(struct policy *policy, struct policy_error *error)
{
	int result = 0;

	policy->is_builtin = true;
	for (uint32_t i = 0; i < builtin_profile_count && result == 0; i++)
		result = policy_add(policy, builtin_profiles[i].file, builtin_profiles[i].text,
				    builtin_profiles[i].size, error);
	policy->is_builtin = false;
	return result;
}
