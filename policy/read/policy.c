/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/policy.h"

#include "lib/heap/memory.h"
#include "policy/read/agents.h"
#include "policy/read/images.h"
#include "policy/read/policy_state.h"
#include "policy/read/profile_parts.h"
#include "policy/read/settings.h"
#include "policy/registries/registries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind a profile's name in the name of its file. */
#define SHIPPED_SUFFIX ".yaml"

struct policy *policy_new(void)
{
	struct policy *policy = memory_get_zeroed(1, sizeof(*policy));

	policy->settings = settings_default();
	return policy;
}

void policy_look_in(struct policy *policy, const char *images)
{
	policy->images = images_new(images);
}

void policy_live_in(struct policy *policy, const char *home)
{
	policy->home = home;
	policy->registries = registries_read(home);
}

void policy_run_on(struct policy *policy, uint64_t machine_bytes)
{
	policy->machine_bytes = machine_bytes;
}

const struct registries *policy_registries(const struct policy *policy)
{
	return policy->registries;
}

void policy_set_shown(struct policy *policy, struct policy_shown shown)
{
	policy->shown = shown;
}

const struct policy_shown *policy_shown(const struct policy *policy)
{
	return &policy->shown;
}

struct policy *policy_free(struct policy *policy)
{
	if (policy == NULL)
		return NULL;
	for (uint32_t i = 0; i < policy->count; i++)
		policy->profiles[i] = profile_free(policy->profiles[i]);
	for (uint32_t i = 0; i < policy->base_count; i++)
		policy->bases[i] = profile_free(policy->bases[i]);
	for (uint32_t i = 0; i < policy->source_count; i++)
		policy->sources[i] = source_free(policy->sources[i]);
	policy->images = images_free(policy->images);
	policy->registries = registries_free(policy->registries);
	policy->agents = agents_free(policy->agents);
	free(policy);
	return NULL;
}

uint32_t policy_count(const struct policy *policy)
{
	return policy->count;
}

uint32_t policy_count_records(const struct policy *policy, struct policy_error *error)
{
	const struct policy_settings *settings = &policy->settings;
	uint32_t count = policy->count;

	for (uint32_t i = 0; i < policy->count; i++)
		count += profile_has_hosts(policy->profiles[i]);
	if (count <= PLAN_PROFILES_MAX)
		return count;
	(void)policy_error_set(error, settings->file != NULL ? settings->file : "built-in profiles",
			       settings->profiles_line, "profiles",
			       "too many, %u, of which those with hosts count twice; expected at "
			       "most %u",
			       count, PLAN_PROFILES_MAX);
	return 0;
}

bool policy_take(struct policy *policy, struct profile *profile)
{
	struct policy_error error;

	if (policy->count == PLAN_PROFILES_MAX)
		return false;
	policy->profiles[policy->count++] = profile;
	if (policy_count_records(policy, &error) != 0)
		return true;
	policy->count--;
	return false;
}

uint32_t policy_put_missing(const struct policy *policy, struct buffer *blob, uint32_t *ret_size)
{
	const uint32_t offset = (uint32_t)blob->size;

	for (uint32_t i = 0; i < policy->count; i++) {
		const struct profile *profile = policy->profiles[i];

		if (profile->missing == NULL)
			continue;
		buffer_append(blob, profile->name, strlen(profile->name) + 1);
		buffer_append(blob, profile->missing, strlen(profile->missing) + 1);
	}
	*ret_size = (uint32_t)blob->size - offset;
	return *ret_size > 0 ? offset : 0;
}

const struct profile *policy_at(const struct policy *policy, uint32_t index)
{
	return policy->profiles[index];
}

const struct policy_settings *policy_settings(const struct policy *policy)
{
	return &policy->settings;
}

const struct profile *policy_find(const struct policy *policy, const char *name)
{
	for (uint32_t i = 0; i < policy->count; i++) {
		if (policy->profiles[i] != NULL && strcmp(policy->profiles[i]->name, name) == 0)
			return policy->profiles[i];
	}
	return NULL;
}

/* A file whose profiles are being made; they follow the `first` profiles of earlier files. */
struct adding {
	struct policy *policy;
	const struct source *source;
	uint32_t first;
	struct policy_error *error;
};

struct profile_place policy_place(const struct policy *policy, const struct source *source,
				  uint32_t index)
{
	return (struct profile_place){ .source = source,
				       .index = index,
				       .is_builtin = policy->is_builtin,
				       .images = policy->images,
				       .home = policy->home,
				       .registries = policy->is_public ? NULL : policy->registries,
				       .machine_bytes = policy->machine_bytes };
}

/* Return the text of a key of a profile; NULL: it is not said. */
static const char *said_at(const struct adding *adding, uint32_t index, const char *key)
{
	return node_text(source_profile(adding->source, index), key);
}

/* Return the index of a profile of the file, or -1. */
static int find_in_file(const struct adding *adding, const char *name, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(said_at(adding, i, "name"), name) == 0)
			return (int)i;
	}
	return -1;
}

static int check_name(const struct adding *adding, uint32_t index)
{
	const struct profile_place place = policy_place(adding->policy, adding->source, index);
	const struct profile *other;
	int twin;

	if (profile_check_name(&place, adding->error) != 0)
		return -1;
	twin = find_in_file(adding, said_at(adding, index, "name"), index);
	if (twin >= 0)
		return source_fail(
			adding->source, adding->error, source_profile(adding->source, index),
			"name",
			"there is a profile \"%s\" in line %u already; expected another name",
			said_at(adding, index, "name"),
			node_line(source_profile(adding->source, (uint32_t)twin), "name"));
	other = policy_find(adding->policy, said_at(adding, index, "name"));
	if (other != NULL)
		return source_fail(adding->source, adding->error,
				   source_profile(adding->source, index), "name",
				   "there is a built-in profile \"%s\"; expected another name",
				   other->name);
	return 0;
}

static int check_names(const struct adding *adding)
{
	const uint32_t count = source_profiles(adding->source);

	if (adding->first + count > PLAN_PROFILES_MAX)
		return source_fail(adding->source, adding->error, &adding->source->root, "profiles",
				   "too many; expected at most %u with the %u that are built in",
				   PLAN_PROFILES_MAX - adding->first, adding->first);
	for (uint32_t i = 0; i < count; i++) {
		if (check_name(adding, i) != 0)
			return -1;
	}
	return 0;
}

/* Reasons why a profile cannot be made. */
enum obstacle {
	OBSTACLE_NONE,
	OBSTACLE_WAITS, /* its parent has not been made yet */
	OBSTACLE_MISTAKE,
};

const struct builtin_profile *policy_shipped(const char *name)
{
	const size_t size = strlen(name);

	for (uint32_t i = 0; i < shipped_profile_count; i++) {
		const char *file = shipped_profiles[i].file;

		if (strncmp(file, name, size) == 0 && strcmp(file + size, SHIPPED_SUFFIX) == 0)
			return &shipped_profiles[i];
	}
	return NULL;
}

static enum obstacle find_parent(const struct adding *adding, uint32_t index,
				 const struct profile **ret)
{
	const char *name = said_at(adding, index, "extends");

	*ret = NULL;
	if (name == NULL)
		return OBSTACLE_NONE;
	*ret = policy_find(adding->policy, name);
	if (*ret != NULL && (name[0] != '_' || adding->policy->is_builtin))
		return OBSTACLE_NONE;
	if (find_in_file(adding, name, source_profiles(adding->source)) >= 0)
		return OBSTACLE_WAITS;
	(void)source_fail(
		adding->source, adding->error, source_profile(adding->source, index), "extends",
		policy_shipped(name) != NULL
			? "the profile \"%s\" is not offered; expected it in the list `offer`"
			: "there is no profile \"%s\"; expected a built-in one or one of this file",
		name);
	return OBSTACLE_MISTAKE;
}

static enum obstacle make_profile(const struct adding *adding, uint32_t index)
{
	const struct profile_place place = policy_place(adding->policy, adding->source, index);
	struct profile **slot = &adding->policy->profiles[adding->first + index];
	const struct profile *parent;
	const enum obstacle obstacle = find_parent(adding, index, &parent);

	if (obstacle != OBSTACLE_NONE)
		return obstacle;
	*slot = profile_new(&place, parent, adding->error);
	return *slot != NULL ? OBSTACLE_NONE : OBSTACLE_MISTAKE;
}

/* Report a cycle. No remaining profile can be made, so the parents of any of them lead to one. */
static int fail_cycle(const struct adding *adding)
{
	const uint32_t count = source_profiles(adding->source);
	struct buffer chain = { .bytes = NULL };
	uint32_t at = 0, start;

	while (adding->policy->profiles[adding->first + at] != NULL)
		at++;
	for (uint32_t i = 0; i < count; i++)
		at = (uint32_t)find_in_file(adding, said_at(adding, at, "extends"), count);
	start = at;
	do {
		buffer_format(&chain, "%s -> ", said_at(adding, at, "name"));
		at = (uint32_t)find_in_file(adding, said_at(adding, at, "extends"), count);
	} while (at != start);
	(void)source_fail(adding->source, adding->error, source_profile(adding->source, start),
			  "extends", "leads back to itself, %s%s; expected a profile that does not",
			  chain.bytes, said_at(adding, start, "name"));
	buffer_done(&chain);
	return -1;
}

/* Try once to make each remaining profile. Return how many were made, or -1. */
static int make_some(const struct adding *adding)
{
	int made = 0;

	for (uint32_t i = 0; i < source_profiles(adding->source); i++) {
		enum obstacle obstacle;

		if (adding->policy->profiles[adding->first + i] != NULL)
			continue;
		obstacle = make_profile(adding, i);
		if (obstacle == OBSTACLE_MISTAKE)
			return -1;
		made += obstacle == OBSTACLE_NONE;
	}
	return made;
}

static int make_all(const struct adding *adding)
{
	const uint32_t count = source_profiles(adding->source);
	uint32_t made = 0;

	while (made < count) {
		const int more = make_some(adding);

		if (more < 0)
			return -1;
		if (more == 0)
			return fail_cycle(adding);
		made += (uint32_t)more;
	}
	return 0;
}

static int check_default(const struct adding *adding)
{
	const char *name = node_text(&adding->source->root, "default_profile");

	if (name == NULL || (name[0] != '_' && policy_find(adding->policy, name) != NULL))
		return 0;
	return source_fail(adding->source, adding->error, &adding->source->root, "default_profile",
			   "there is no profile \"%s\"; expected a built-in one or one of this "
			   "file",
			   name);
}

void policy_require(const struct policy *policy, struct profile *profile)
{
	const struct policy_settings *settings = &policy->settings;

	if (settings->accepts_fallback) {
		profile->numbers.limits_fallback = 1;
		profile->origins.keys[KEY_requirements_limits] =
			source_origin(policy->operators, "limits");
	}
	if (settings->landlock_abi != 0) {
		profile->numbers.landlock_abi_min = settings->landlock_abi;
		profile->origins.keys[KEY_requirements_landlock] =
			source_origin(policy->operators, "requirements.landlock");
	}
}

static int fail_offer(const struct source *source, const char *key, const char *name,
		      struct policy_error *error)
{
	struct buffer known = { .bytes = NULL };

	for (uint32_t i = 0; i < shipped_profile_count; i++) {
		const char *file = shipped_profiles[i].file;

		buffer_format(&known, "%s%.*s", i > 0 ? ", " : "",
			      (int)(strlen(file) - strlen(SHIPPED_SUFFIX)), file);
	}
	(void)source_fail(source, error, &source->root, key,
			  "there is no shipped profile \"%s\"; expected one of %s", name,
			  known.bytes);
	buffer_done(&known);
	return -1;
}

/* Add the shipped profiles that a file offers, as if they were built in. */
static int add_offered(struct policy *policy, const struct source *source,
		       struct policy_error *error)
{
	const struct strings said = node_texts(&source->root, "offer");
	int result = 0;

	for (uint32_t i = 0; i < said.count && result == 0; i++) {
		const struct builtin_profile *shipped = policy_shipped(said.items[i]);
		char key[KEY_MAX];

		(void)reading_key(key, "offer", i, "");
		if (shipped == NULL)
			return fail_offer(source, key, said.items[i], error);
		if (policy_find(policy, said.items[i]) != NULL)
			return source_fail(source, error, &source->root, key,
					   "%s given twice; expected once", said.items[i]);
		policy->is_builtin = true;
		result = policy_add(policy, shipped->file, shipped->text, shipped->size, error);
		policy->is_builtin = false;
	}
	return result;
}

static int add_source(struct policy *policy, const struct source *source,
		      struct policy_error *error)
{
	const struct adding adding = { policy, source, policy->count, error };

	if (check_names(&adding) != 0)
		return -1;
	if (!policy->is_builtin && settings_read(source, &policy->settings, error) != 0)
		return -1;
	if (!policy->is_builtin)
		policy->operators = source;
	policy->count += source_profiles(source);
	if (make_all(&adding) != 0 || check_default(&adding) != 0)
		return -1;
	for (uint32_t i = 0; i < policy->count; i++) /* also those of msp's own processes */
		policy_require(policy, policy->profiles[i]);
	return policy_add_agents(policy, source, error);
}

int policy_add(struct policy *policy, const char *file, const char *text, size_t size,
	       struct policy_error *error)
{
	struct source *source = source_load(file, text, size, error);
	const char *said;

	if (source == NULL)
		return -1;
	if (policy->source_count == SOURCES_MAX)
		abort();
	policy->sources[policy->source_count++] = source;
	said = node_text(&source->root, "registries"); /* the profiles that it offers come first */
	policy->is_public = policy->is_public || (said != NULL && strcmp(said, "public") == 0);
	return add_offered(policy, source, error) != 0 ? -1 : add_source(policy, source, error);
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
