/* SPDX-License-Identifier: Apache-2.0
 *
 * What is really enforced around the workloads of each profile: measured by a probe in a sandbox of
 * that profile before its first workload runs. A layer that is found open ends the supervisor.
 */
#ifndef SUPERVISOR_POSTURE_H
#define SUPERVISOR_POSTURE_H

#include "frontend.h"
#include "state.h"

/* Whether an execution of this profile is to try the layers first: enum probe_mode; for nobody
 * (NULL), that is all. Those that are asked for before the answer to the first are all to. */
uint32_t posture_probe(const struct frontend *frontend, uint32_t profile);

/* Need no sandbox of this profile of the policy in force be probed? */
bool posture_is_known(uint32_t profile);

/* Before the probe of an execution: does its cgroup say what the profile says? 0, or -ECANCELED
 * when we end. */
int posture_check_limits(const struct execution *execution);

/* What the probe of an execution found; noted when every layer is closed, else we end. True when
 * the probe becomes a workload, of which more is to come; false when nothing is executed. */
bool posture_take(struct execution *execution, const struct ipc_posture_measured *measured);

/* An execution failed at a stage. If it is the start's probe, we end. */
void posture_fail(const struct execution *execution, uint32_t stage, uint32_t error);

/* What a frontend is to be told of a profile of the policy in force, once; NULL: it knows, nobody
 * does, the profile is of another generation, or it is gone (NULL). Static storage until the next
 * call. */
const struct ipc_profile_posture *posture_news(struct frontend *frontend, uint32_t generation,
					       uint32_t profile);

/* Another policy holds: what frontends were told was of the one before. */
void posture_forget_told(void);

/* Of the profile of a request that names none. */
const struct ipc_posture_full *posture_default(void);

#endif
