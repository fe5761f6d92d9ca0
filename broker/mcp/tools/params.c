/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/params.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/profile_names.h"
#include "io/text.h"

/* Bytes of a profile's description, enough to choose by. */
#define ABOUT_BYTES 100U

const char *const params_networks[] = { "none", NULL };
const char *const param_encodings[] = { "text", "base64", NULL };

void params_describe_profiles(struct buffer *text, const struct host *host)
{
	static const struct tool_param names = { .source = NAMES_PROFILES };
	char profile[IPC_NAME_MAX];
	const char *name, *about;
	size_t size;

	buffer_format(text, "Omitted: %s.", host->posture.profile);
	for (size_t i = 0; (name = tool_param_name(&names, &host->posture, i, &size)); i++) {
		const struct plan_profile *is;

		(void)snprintf(profile, sizeof(profile), "%.*s", (int)size, name);
		is = profile_find(&host->plan, profile);
		about = is ? plan_string(&host->plan, is->description) : "";
		buffer_format(text, "\n%s: ", profile);
		buffer_append(text, about,
			      text_fit_first(about, strlen(about), ABOUT_BYTES, TEXT_JUDGED));
	}
}

/* Return whether an earlier record of the profile has the language's name and a program. */
static bool is_named_before(const struct plan *plan, const struct plan_language *languages,
			    uint32_t index)
{
	const char *name = plan_string(plan, languages[index].name);

	for (uint32_t i = 0; i < index; i++) {
		if (plan_string(plan, languages[i].host_program)[0] &&
		    strcmp(plan_string(plan, languages[i].name), name) == 0)
			return true;
	}
	return false;
}

/* The plan says which programs an image has; those of the host are the same for other profiles. */
static void put_image_languages(struct buffer *text, const struct plan *plan,
				const struct plan_profile *profile)
{
	const struct plan_language *languages = plan_languages(plan, profile);
	const char *separator = "";

	for (uint32_t i = 0; i < profile->language_count; i++) {
		if (!plan_string(plan, languages[i].host_program)[0] ||
		    is_named_before(plan, languages, i))
			continue;
		buffer_format(text, "%s%s", separator, plan_string(plan, languages[i].name));
		separator = ", ";
	}
	if (!separator[0])
		buffer_append_text(text, "none");
}

void params_describe_languages(struct buffer *text, const struct host *host)
{
	const struct plan *plan = &host->plan;

	for (uint32_t i = 0; plan->bytes && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);
		const char *name = plan_string(plan, profile->name);

		if (!profile->image || !profile_is_listed(plan, profile) ||
		    strcmp(name, host->posture.profile) == 0)
			continue;
		buffer_format(text, "%sOf profile %s: ", text->size > 0 ? "\n" : "", name);
		put_image_languages(text, plan, profile);
	}
}

void params_describe_timeout(struct buffer *text, const struct host *host)
{
	const struct plan_profile *profile = profile_find(&host->plan, host->posture.profile);

	if (profile)
		buffer_format(text,
			      ": %" PRIu32 " unless given (in a sandbox %" PRIu32
			      "), at most %" PRIu32
			      " (the most also with `tty`, `interactive` or `yield_ms` below %d)",
			      profile->wall_default_ms, profile->wall_persistent_ms,
			      profile->wall_max_ms, WAIT_MS_DEFAULT);
	buffer_append_text(text, ".");
}
