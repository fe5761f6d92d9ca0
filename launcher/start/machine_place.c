/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/machine_place.h"

#include <string.h>
#include <unistd.h>

#include "common/plan/plan.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "launcher/start/plan_binds.h"

bool machine_place_find(char ret[IPC_PATH_MAX])
{
	char directory[IPC_PATH_MAX], link[2 * IPC_PATH_MAX], name[IPC_NAME_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	ssize_t size;

	if (!state_place_find(STATE_PLACE_MACHINES, directory, text))
		return false;
	format_text(link, sizeof(link), "%s/" MACHINE_CURRENT, directory);
	size = readlink(link, name, sizeof(name) - 1);
	if (size <= 0 || memchr(name, '/', (size_t)size))
		return false;
	name[size] = '\0';
	if (strlen(directory) + (size_t)size + 2 > IPC_PATH_MAX)
		return false;
	format_text(ret, IPC_PATH_MAX, "%s/%s", directory, name);
	return true;
}

static bool shows_machine(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].flags & PLAN_MACHINE)
			return true;
	}
	return false;
}

int machine_place_put(struct config *config, const char *needed, char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan = config_plan(config);
	char path[IPC_PATH_MAX];
	bool is_shown = false;
	int only;

	if (!plan)
		return 0;
	only = pins_find_needed(plan, needed);
	for (uint32_t i = 0; i < plan_profile_count(plan) && !is_shown; i++)
		is_shown =
			(!needed || (int)i == only) && shows_machine(plan, plan_profile(plan, i));
	return is_shown && machine_place_find(path)
		       ? plan_source_put(config, PLAN_MACHINE, path, text)
		       : 0;
}
