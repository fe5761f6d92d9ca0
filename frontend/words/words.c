/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/words/words.h"

#include "common/limits_mode.h"

const char *limits_mode_name(uint32_t limits)
{
	return limits == LIMITS_CGROUP ? "cgroup" : "fallback";
}

const char *const workspace_modes[WORKSPACE_MODE_COUNT + 1] = {
	[WORKSPACE_NONE] = "none",
	[WORKSPACE_COPY] = "copy-on-write",
	[WORKSPACE_READ] = "read-only",
	[WORKSPACE_WRITE] = "read-write",
};

const char *workspace_mode_name(uint32_t mode)
{
	return mode < WORKSPACE_MODE_COUNT ? workspace_modes[mode] : "unknown";
}

const char *sandbox_state_name(uint32_t is_damaged, uint32_t is_elsewhere, uint32_t is_live)
{
	if (is_damaged)
		return "damaged";
	if (is_elsewhere)
		return "elsewhere";
	return is_live ? "live" : "cold";
}
