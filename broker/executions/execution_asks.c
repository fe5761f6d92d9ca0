/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests about an execution that runs: its end, a signal, a later deadline.
 */
#include "common/end_reason.h"
#include "executions/execution_parts.h"

void execution_ask_end(struct execution *execution, enum end_reason reason)
{
	struct executions *executions = execution->executions;

	if (execution->is_end_asked || execution->is_draining)
		return;
	execution->is_end_asked = true;
	/* if the supervisor is gone, every execution ends with it */
	(void)supervisor_execution_end(executions->client, execution->request, reason);
	executions_tell_queued(executions);
}

void execution_kill(struct execution *execution)
{
	if (execution->info.state != EXECUTION_OVER)
		execution_ask_end(execution, END_CANCELLED);
}

bool execution_signal(struct execution *execution, uint32_t signal)
{
	struct executions *executions = execution->executions;

	if (execution->info.state != EXECUTION_RUNNING || execution->is_draining ||
	    supervisor_execution_signal(executions->client, execution->request, signal) != 0)
		return false;
	executions_tell_queued(executions);
	return true;
}

bool execution_extend(struct execution *execution, uint32_t wall_ms)
{
	struct executions *executions = execution->executions;

	if (execution->info.state != EXECUTION_RUNNING || execution->is_draining ||
	    supervisor_execution_extend(executions->client, execution->request, wall_ms) != 0)
		return false;
	execution->wanted_ms = wall_ms;
	execution->extensions++;
	executions_tell_queued(executions);
	return true;
}
