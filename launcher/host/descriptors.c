/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"

uint64_t descriptors_granted(uint64_t limit, uint32_t open_files)
{
	return open_files < limit / 2 ? open_files : limit / 2;
}

uint64_t descriptors_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
}

static const struct plan_profile *find_greediest(const struct plan *plan)
{
	const struct plan_profile *found = NULL;

	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (!plan_is_internal(plan, profile) &&
		    (!found || profile->open_files > found->open_files))
			found = profile;
	}
	return found;
}

bool descriptors_explain(const struct plan *plan, const char *name, uint64_t limit,
			 char text[DESCRIPTORS_TEXT_MAX])
{
	const struct plan_profile *profile = name ? profile_find(plan, name) : find_greediest(plan);

	if (!profile || descriptors_granted(limit, profile->open_files) == profile->open_files)
		return false;
	format_text(text, DESCRIPTORS_TEXT_MAX,
		    "profile %s gets open_files: %" PRIu64 " instead of %" PRIu32
		    ", half of the %" PRIu64 " that msp may have: raise the hard limit of "
		    "descriptors to %" PRIu64,
		    plan_string(plan, profile->name),
		    descriptors_granted(limit, profile->open_files), profile->open_files, limit,
		    (uint64_t)profile->open_files * 2);
	return true;
}

void descriptors_warn(const struct plan *plan, const char *name)
{
	char text[DESCRIPTORS_TEXT_MAX];

	if (!name)
		name = plan_string(plan, plan_header(plan)->default_profile);
	if (descriptors_explain(plan, name, descriptors_limit(), text))
		log_line("%s", text);
}
