/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/runner_text.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "frontend/profile_names.h"

/* Is it a part of the virtual machine that the launcher knows? */
static bool is_of_machine(const struct plan *plan, const struct plan_profile *profile,
			  const char *program)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = plan_string(plan, mounts[i].target);

		if ((mounts[i].flags & PLAN_MACHINE) &&
		    strncmp(program, target, strlen(target)) == 0)
			return true;
	}
	return false;
}

bool runner_print_failure(const struct plan *plan, const char *profile, uint32_t error,
			  char ret[RUNNER_TEXT_MAX])
{
	const struct plan_profile *found;
	const char *program;

	if (!plan || !plan->bytes)
		return false;
	if (!profile[0])
		profile = plan_string(plan, plan_header(plan)->default_profile);
	found = profile_find(plan, profile);
	if (!found || found->runner_size == 0)
		return false;
	program = plan_string(plan, found->shell);
	if (is_of_machine(plan, found, program))
		(void)snprintf(ret, RUNNER_TEXT_MAX,
			       "the virtual machine of the profile %.64s cannot be started: %s. "
			       "'msp vm prepare' makes one",
			       plan_string(plan, found->name), errno_text((int)error));
	else
		(void)snprintf(ret, RUNNER_TEXT_MAX,
			       "the runner of the profile %.64s, %.500s, cannot be executed: %s. "
			       "Install it where the profile shows it, or change the key runner",
			       plan_string(plan, found->name), program, errno_text((int)error));
	return true;
}
