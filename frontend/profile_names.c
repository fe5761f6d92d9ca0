/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/profile_names.h"

#include <string.h>

#include "common/plan/plan.h"
#include "gateway/hosts/list.h"

const struct plan_profile *profile_find(const struct plan *plan, const char *name)
{
	const int index = plan && plan->bytes ? plan_profile_find(plan, name) : -1;

	return index >= 0 ? plan_profile(plan, (uint32_t)index) : NULL;
}

const struct plan_profile *profile_named(const struct plan *plan, const char *name)
{
	const struct plan_profile *profile = profile_find(plan, name);

	return profile && !plan_is_internal(plan, profile) ? profile : NULL;
}

const char *profile_missing(const struct plan *plan, const char *name)
{
	const char *at = NULL, *end = NULL;

	if (plan && plan->bytes) {
		at = plan_string(plan, plan_header(plan)->missing);
		end = at + plan_header(plan)->missing_size;
	}
	while (at < end) {
		const char *cause = at + strlen(at) + 1;

		if (strcmp(at, name) == 0)
			return cause;
		at = cause + strlen(cause) + 1;
	}
	return NULL;
}

const char *profile_without_hosts(const struct plan *plan, const char *name)
{
	const struct plan_profile *profile = profile_named(
		plan, name[0] ? name : plan_string(plan, plan_header(plan)->default_profile));

	return profile ? plan_string(plan, plan_profile(plan, profile->no_hosts)->name) : NULL;
}

bool profile_is_listed(const struct plan *plan, const struct plan_profile *profile)
{
	return !plan_is_internal(plan, profile) && !profile->is_narrowed &&
	       !strchr(plan_string(plan, profile->name), PLAN_KEPT[0]);
}

const struct plan_profile *profile_reaching(const struct plan *plan, const char *host,
					    uint16_t port)
{
	struct host_wanted wanted;

	if (!host_wanted_read(host, &wanted))
		return NULL;
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (profile_is_listed(plan, profile) &&
		    host_list_find(plan, profile, &wanted, port) != NULL)
			return profile;
	}
	return NULL;
}

static bool has_hosts(const struct plan_profile *profile)
{
	return profile->network == PLAN_NETWORK_HOSTS;
}

static const struct plan_profile *find_one(const struct plan *plan, const char *name,
					   bool (*is_one)(const struct plan_profile *profile))
{
	if (name && !name[0])
		name = plan_string(plan, plan_header(plan)->default_profile);
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (is_one(profile) &&
		    (!name || strcmp(plan_string(plan, profile->name), name) == 0))
			return profile;
	}
	return NULL;
}

const struct plan_profile *profile_first(const struct plan *plan,
					 bool (*is_one)(const struct plan_profile *profile))
{
	for (uint32_t i = 0; plan->bytes && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (profile_is_listed(plan, profile) && is_one(profile))
			return profile;
	}
	return NULL;
}

bool profiles_have_hosts(const struct plan *plan, const char *name)
{
	return find_one(plan, name, has_hosts) != NULL;
}

static bool has_image(const struct plan_profile *profile)
{
	return profile->image != 0;
}

bool profile_has_image(const struct plan *plan, const char *name)
{
	return plan && plan->bytes && find_one(plan, name, has_image) != NULL;
}

void profile_names(const struct plan *plan, char *ret, size_t size)
{
	const size_t between = strlen(PROFILE_NAMES_SEPARATOR);
	size_t used = 0;

	ret[0] = '\0';
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);
		const char *name = plan_string(plan, profile->name);
		const size_t before = used > 0 ? between : 0;

		if (!profile_is_listed(plan, profile))
			continue;
		if (used + before + strlen(name) >= size)
			return;
		memcpy(ret + used, PROFILE_NAMES_SEPARATOR, before);
		memcpy(ret + used + before, name, strlen(name) + 1);
		used += before + strlen(name);
	}
}
