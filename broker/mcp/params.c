/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/params.h"

#include <inttypes.h>
#include <string.h>

#include "io/text.h"

/* Bytes of a profile's description, enough to choose by. */
#define ABOUT_BYTES 100U

const char *const params_networks[] = { "none", NULL };
const char *const param_encodings[] = { "text", "base64", NULL };

static const struct plan_profile *find_profile(const struct host *host, const char *name)
{
	const int index = host->plan.bytes ? plan_profile_find(&host->plan, name) : -1;

	return index < 0 ? NULL : plan_profile(&host->plan, (uint32_t)index);
}

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
		is = find_profile(host, profile);
		about = is ? plan_string(&host->plan, is->description) : "";
		buffer_format(text, "\n%s: ", profile);
		buffer_append(text, about,
			      text_fit_first(about, strlen(about), ABOUT_BYTES, TEXT_JUDGED));
	}
}

void params_describe_timeout(struct buffer *text, const struct host *host)
{
	const struct plan_profile *profile = find_profile(host, host->posture.profile);

	if (profile)
		buffer_format(text,
			      ": %" PRIu32 " unless given (in a sandbox %" PRIu32
			      "), at most %" PRIu32
			      " (the most also with `tty`, `interactive` or `yield_ms` below %d)",
			      profile->wall_default_ms, profile->wall_persistent_ms,
			      profile->wall_max_ms, WAIT_MS_DEFAULT);
	buffer_append_text(text, ".");
}
