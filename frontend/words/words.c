/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/words/words.h"

#include <stddef.h>

#include "common/ipc/limits_mode.h"
#include "common/text/names.h"

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

static const struct verdict_words verdicts[VERDICT_COUNT] = {
	[VERDICT_EXITED] = { NULL, NULL },
	[VERDICT_SIGNALLED] = { NULL, NULL },
	[VERDICT_TIMEOUT] = { "stopped", "stopped at its time limit" },
	[VERDICT_CPU_TIME] = { "killed, the profile's CPU time was used up",
			       "CPU time limit reached: every process was killed; do less at "
			       "once" },
	[VERDICT_MEMORY] = { "killed at the profile's memory limit", "memory limit reached" },
	[VERDICT_PIDS] = { "the profile's number of processes was reached",
			   "process limit reached; start fewer processes and threads" },
	[VERDICT_DISK] = { "the sandbox's files reached their limit; remove some",
			   "disk limit reached; remove files or write less" },
	[VERDICT_OUTPUT] = { "killed at the profile's output limit",
			     "output limit reached: every process was killed; print less" },
	[VERDICT_DENIED] = { "killed by the system call filter",
			     "killed for an operation that the profile does not allow" },
	[VERDICT_CANCELLED] = { "the execution was ended", "cancelled: every process was killed" },
	[VERDICT_STOPPED] = { "was stopped or destroyed, and with it the command",
			      "the sandbox was stopped or destroyed: every process was killed" },
	[VERDICT_CLIENT_GONE] = { "the execution was ended",
				  "cancelled: every process was killed" },
	[VERDICT_INTERNAL] = { "the execution was ended",
			       "the sandbox failed: do not rely on the result" },
};

const struct verdict_words *verdict_words(uint32_t verdict)
{
	return &verdicts[verdict < VERDICT_COUNT ? verdict : VERDICT_INTERNAL];
}
