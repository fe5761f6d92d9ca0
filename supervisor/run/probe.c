/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executions try the layers first. The control of the attack tests has another such file.
 */
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "run/posture.h"

uint32_t posture_probe(const struct frontend *frontend, uint32_t profile)
{
	return !frontend ? PROBE_ALONE : posture_is_known(profile) ? PROBE_NONE : PROBE_FIRST;
}

bool posture_is_known(uint32_t profile)
{
	return supervisor.generations[supervisor.plan.slot].postures[profile].is_measured != 0;
}
