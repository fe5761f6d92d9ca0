/* SPDX-License-Identifier: Apache-2.0
 *
 * The denials of an execution, put together for its frontend from the counts of its init and of
 * its cgroup.
 */
#ifndef SUPERVISOR_RUN_DENIALS_H
#define SUPERVISOR_RUN_DENIALS_H

#include <stdbool.h>

#include "base/state.h"
#include "run/cgroup.h"

struct ipc_execution_done;
struct ipc_spawn_done;

/* Put the denials into `done`. False, and nothing is put, if the init's records are malformed. */
bool denials_put(struct ipc_execution_done *done, const struct ipc_spawn_done *from,
		 const struct cgroup_usage *usage);

/* Record the execution's denials in the audit log, in the words of its plan. */
void denials_note(const struct execution *execution, const struct ipc_execution_done *done);

#endif
