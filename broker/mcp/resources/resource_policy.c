/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <string.h>

#include "frontend/profile_names.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/resources/subscriptions.h"

static const struct plan_profile *find_profile(const struct session *session, const char *name)
{
	const struct plan *plan = &session->host->plan;
	const struct plan_profile *profile = plan->bytes ? profile_named(plan, name) : NULL;

	return profile && profile_is_listed(plan, profile) ? profile : NULL;
}

static void describe_profile(const struct plan *plan, const struct plan_profile *profile,
			     const struct resource_walk *walk)
{
	struct resource_entry entry = { .has_size = true };
	const char *name = plan_string(plan, profile->name);

	(void)strncpy(entry.values.value[0], name, RESOURCE_VALUE_MAX - 1);
	buffer_append_text(&entry.name, name);
	buffer_format(&entry.title, "Policy of the profile %s", name);
	buffer_append_text(&entry.description, plan_string(plan, profile->description));
	entry.size = strlen(plan_string(plan, profile->text));
	resources_put(walk, &entry);
}

static void list_profiles(const struct session *session, struct resource_walk *walk)
{
	const struct plan *plan = &session->host->plan;

	for (uint32_t i = 0; plan->bytes && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (profile_is_listed(plan, profile) && resources_wants(walk))
			describe_profile(plan, profile, walk);
	}
}

static bool profile_exists(const struct session *session, const struct resource_values *values)
{
	return find_profile(session, values->value[0]) != NULL;
}

static void read_policy(struct call *call, const struct resource *resource)
{
	const struct plan *plan = &call->session->host->plan;
	const struct plan_profile *profile = find_profile(call->session, resource->values.value[0]);
	struct buffer text = { 0 };
	const char *whole;

	if (!profile)
		bug("a profile that was there is gone");
	whole = plan_string(plan, profile->text);
	/* no real policy is so long that it is cut */
	buffer_append(&text, whole,
		      text_fit_first(whole, strlen(whole), RESOURCE_BYTES_MAX, TEXT_CONTENTS));
	resources_answer(call, resource, &text, NULL);
	buffer_done(&text);
}

void resource_policy_changed(struct host *host)
{
	const struct plan *plan = &host->plan;

	for (uint32_t i = 0; plan->bytes && i < plan_profile_count(plan); i++) {
		const char *name = plan_string(plan, plan_profile(plan, i)->name);
		struct buffer uri = { 0 };

		buffer_format(&uri, "policy://%s", name);
		host_resource_updated(host, uri.bytes, uri.size);
		buffer_done(&uri);
	}
}

const struct resource_provider resource_policy = {
	.uri_template = "policy://{profile}",
	.name = "policy",
	.title = "Policy of a profile",
	.description = "What a sandbox of this profile can see, do and use: files, system calls, "
		       "network, limits, languages. It is in force for every execution under the "
		       "profile, and cannot be changed from inside a sandbox.",
	.mime_type = "text/plain",
	.priority = 0.5,
	.list = list_profiles,
	.exists = profile_exists,
	.read = read_policy,
};
