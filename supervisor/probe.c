/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executions try the layers first. The control of the attack tests has another such file.
 */
#include "execution.h"
#include "posture.h"

/* A sandbox is there in milliseconds; an emulated machine under load needs a hundred times that. */
#define PROBE_MS 20000

uint32_t posture_probe(const struct frontend *frontend, uint32_t profile)
{
	if (!frontend)
		return PROBE_ALONE;
	return posture_is_known(profile) ? PROBE_NONE : PROBE_FIRST;
}

bool posture_is_known(uint32_t profile)
{
	return supervisor.generations[supervisor.plan.slot].postures[profile].is_measured != 0;
}

int posture_begin(void)
{
	static struct ipc_spawn spawn; /* too large for the stack */
	const struct request request = { .profile = supervisor.default_profile,
					 .timeout_ms = PROBE_MS,
					 .heard_us = clock_now_us(),
					 .spawn = &spawn };
	int error;

	spawn.use_tty = 1; /* no pipes */
	spawn.cwd[0] = '/';
	supervisor.is_probing = true;
	error = execution_begin(NULL, &request, -1);
	return supervisor.is_ending ? 0 : error; /* then it has been said why */
}
