/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on a principal's live executions and on the bytes that wait for their inputs.
 */
#include "executions/execution_parts.h"
#include "executions/share.h"

static size_t count_alive(const struct executions *executions, uint32_t principal)
{
	size_t count = 0;

	for (const struct execution *e = executions->first; e; e = e->next)
		count += e->info.state != EXECUTION_OVER && e->info.owner.principal == principal;
	return count;
}

static size_t input_bytes(const struct executions *executions, uint32_t principal)
{
	size_t bytes = 0;

	for (const struct execution *e = executions->first; e; e = e->next)
		bytes += e->info.owner.principal == principal ? e->input.size : 0;
	return bytes;
}

void executions_set_most(struct executions *executions, size_t most)
{
	executions->live_max = most < EXECUTIONS_MAX ? most : EXECUTIONS_MAX;
}

bool execution_room_for_input(const struct executions *executions, uint32_t principal, size_t size)
{
	return share_allows(principal, input_bytes(executions, principal), executions->input_bytes,
			    INPUT_BYTES_MAX, size);
}

enum execution_start execution_room(const struct executions *executions,
				    const struct execution_order *order)
{
	const uint32_t principal = order->owner.principal;

	if (executions->live_count >= EXECUTIONS_MAX)
		return EXECUTION_START_TOO_MANY;
	/* a principal that shares with no other is counted by the supervisor */
	if (principal != 0 && !share_allows(principal, count_alive(executions, principal),
					    executions->live_count, executions->live_max, 1))
		return EXECUTION_START_SHARE;
	return execution_room_for_input(executions, principal, order->input_size)
		       ? EXECUTION_START_DONE
		       : EXECUTION_START_INPUT_FULL;
}
