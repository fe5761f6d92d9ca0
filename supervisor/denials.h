/* SPDX-License-Identifier: Apache-2.0
 *
 * What an execution was refused, put together for its frontend: what its init counted and what its
 * cgroup tells.
 */
#ifndef SUPERVISOR_DENIALS_H
#define SUPERVISOR_DENIALS_H

#include <stdbool.h>

#include "cgroup.h"
#include "common/ipc.h"
#include "state.h"

/* False, and nothing is put, when the init's records are none. */
bool denials_put(struct ipc_execution_done *done, const struct ipc_spawn_done *from,
		 const struct cgroup_usage *usage);

/* Have the audit log say what the execution was refused, in the words of its plan. */
void denials_note(const struct execution *execution, const struct ipc_execution_done *done);

#endif
