/* SPDX-License-Identifier: Apache-2.0
 *
 * The posture of each profile, really enforced around its workloads: a probe measures it in a
 * sandbox of that profile before its first workload runs. A layer that is found open ends the
 * supervisor.
 */
#ifndef SUPERVISOR_RUN_POSTURE_H
#define SUPERVISOR_RUN_POSTURE_H

#include "base/state.h"

struct ipc_posture_full;
struct ipc_posture_measured;
struct ipc_profile_posture;

/* Whether an execution of this profile is to try the layers first: enum probe_mode; for nobody
 * (NULL), that is all. Those that are asked for before the answer to the first are all to. */
uint32_t posture_probe(const struct frontend *frontend, uint32_t profile);

/* Return whether no sandbox of this profile of the policy in force needs a probe. */
bool posture_is_known(uint32_t profile);

/* Before the probe of an execution: does its cgroup say what the profile says? 0, or -ECANCELED
 * when we end. */
int posture_check_limits(const struct execution *execution);

/* Take the findings of an execution's probe: note them if every layer is closed, else end. True if
 * the probe becomes a workload, of which more is to come; false if nothing is executed. */
bool posture_take(struct execution *execution, const struct ipc_posture_measured *measured);

/* Take note that an execution failed at a stage: end the supervisor if it is the start's probe. */
void posture_fail(const struct execution *execution, uint32_t stage, uint32_t error);

/* Return the posture to tell a frontend, once for each profile of the policy in force. NULL: it was
 * told, the posture is unknown, the generation is another, or the frontend is NULL. Static storage
 * until the next call. */
const struct ipc_profile_posture *posture_news(struct frontend *frontend, uint32_t generation,
					       uint32_t profile);

/* Forget which postures frontends were told: they were of the policy before. */
void posture_forget_told(void);

/* Return the posture of the default profile, for a request that names none. */
const struct ipc_posture_full *posture_default(void);

#endif
