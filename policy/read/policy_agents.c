/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles that are derived for agents, and the shipped ones that these extend.
 */
#include "policy/read/agents.h"
#include "policy/read/policy_state.h"
#include "policy/read/profile_parts.h"

#include <string.h>

int policy_load_agents(struct policy *policy, struct policy_error *error)
{
	if (policy->agents == NULL)
		policy->agents = agents_new(error);
	return policy->agents != NULL ? 0 : -1;
}

const struct agents *policy_agents(const struct policy *policy)
{
	return policy->agents;
}

/* Let a profile that no plan has, and its file, live as long as the policy. */
static bool keep_base(struct policy *policy, struct source *source, struct profile *profile)
{
	if (policy->base_count == PLAN_PROFILES_MAX || policy->source_count == SOURCES_MAX)
		return false;
	policy->bases[policy->base_count++] = profile;
	policy->sources[policy->source_count++] = source;
	return true;
}

/* Make the one profile of a file, on top of any other. NULL with *error set on a mistake. */
static struct profile *make_base(const struct policy *policy, const struct source *source,
				 const struct profile *parent, bool is_builtin,
				 struct policy_error *error)
{
	struct profile_place place = policy_place(policy, source, 0);

	place.is_builtin = is_builtin;
	return profile_new(&place, parent, error);
}

/* Make a shipped profile that the operator need not offer. NULL with *error set: there is none. */
static const struct profile *find_base(struct policy *policy, const char *name,
				       struct policy_error *error)
{
	const struct builtin_profile *shipped = policy_shipped(name);
	struct profile *profile = NULL;
	struct source *source;

	for (uint32_t i = 0; i < policy->base_count; i++) {
		if (strcmp(policy->bases[i]->name, name) == 0)
			return policy->bases[i];
	}
	if (shipped == NULL)
		return NULL;
	source = source_load(shipped->file, shipped->text, shipped->size, error);
	if (source != NULL)
		profile = make_base(
			policy, source,
			policy_find(policy, node_text(source_profile(source, 0), "extends")), true,
			error);
	if (profile != NULL)
		policy_require(policy, profile);
	if (profile == NULL || !keep_base(policy, source, profile)) {
		(void)profile_free(profile);
		(void)source_free(source);
		return NULL;
	}
	return profile;
}

/* Make the profile of an agent, and its file, which the caller frees. */
static struct profile *make_agent(struct policy *policy, const struct agent *agent,
				  const struct agent_use *use, struct source **ret_source,
				  struct policy_error *error)
{
	struct source *source = agents_source(agent, use);
	const char *name = node_text(source_profile(source, 0), "extends");
	const struct profile *parent = policy_find(policy, name);
	struct profile *profile = NULL;

	if (parent == NULL)
		parent = find_base(policy, name, error);
	if (parent == NULL || name[0] == '_' || parent->missing != NULL || image_is_awaited(parent))
		(void)source_fail(
			source, error, source_profile(source, 0), "extends",
			"there is no profile \"%s\" that can be used; expected a built-in "
			"or shipped one or one of this file",
			name);
	else
		profile = make_base(policy, source, parent, false, error);
	if (profile == NULL)
		agents_name_error(agent, error);
	*ret_source = source;
	return profile;
}

const struct profile *policy_derive_agent(struct policy *policy, const struct agent *agent,
					  const struct agent_use *use, struct policy_error *error)
{
	struct source *source;
	struct profile *profile = make_agent(policy, agent, use, &source, error);

	if (profile != NULL && keep_base(policy, source, profile))
		return profile;
	(void)profile_free(profile);
	(void)source_free(source);
	return NULL;
}

int policy_name_agent(struct policy *policy, const char *name, struct policy_error *error)
{
	struct agent_use use = { .has_login = false };
	const struct agent *agent;
	const struct profile *base;
	struct profile *profile;

	if (!agents_is_profile(name) || policy_find(policy, name) != NULL)
		return 0;
	if (policy_load_agents(policy, error) != 0)
		return -1;
	agent = agents_of(policy->agents, name, &use);
	if (agent == NULL)
		return 0;
	base = policy_derive_agent(policy, agent, &use, error);
	if (base == NULL)
		return -1;
	profile = profile_copy(base);
	if (!policy_take(policy, profile))
		(void)profile_free(profile);
	return 0;
}

/* Check a row of the file as the profile that it becomes, with a login and every key. */
static int check_agent(struct policy *policy, const struct agent *agent, struct policy_error *error)
{
	struct agent_use use = { .has_login = false };
	struct source *source;
	struct profile *profile;

	for (uint32_t i = 0; i < PLAN_SECRETS_MAX; i++)
		use.keys[i] = "/key";
	for (int i = 0; i < 2; i++) {
		use.has_login = i == 1;
		profile = make_agent(policy, agent, &use, &source, error);
		(void)source_free(source);
		if (profile == NULL)
			return -1;
		(void)profile_free(profile);
	}
	return 0;
}

int policy_add_agents(struct policy *policy, const struct source *source,
		      struct policy_error *error)
{
	const struct agents *agents;

	if (node_find(&source->root, "agents") == NULL)
		return 0;
	if (policy_load_agents(policy, error) != 0 ||
	    agents_add(policy->agents, source, error) != 0)
		return -1;
	agents = policy->agents;
	for (uint32_t i = 0; i < agents->count; i++) {
		if (agents->of[i].file == source->file &&
		    check_agent(policy, &agents->of[i], error) != 0)
			return -1;
	}
	return 0;
}
