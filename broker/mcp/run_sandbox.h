/* SPDX-License-Identifier: Apache-2.0
 *
 * A run in a sandbox that lasts: which one is meant, and under which profile, is known before
 * anybody is told of the execution, because its handle and its texts say both. Of an id it never
 * changes; of a name that is known the supervisor says with the start which one it means by now.
 */
#ifndef BROKER_MCP_RUN_SANDBOX_H
#define BROKER_MCP_RUN_SANDBOX_H

#include "executions/executions.h"
#include "mcp/call.h"

/* Find the sandbox and start the order in it; `label` is the order's, and both are copied if the
 * supervisor has to be asked first. Takes the order's descriptor. */
void run_in_sandbox(struct call *call, struct execution_order *order, struct execution_label *label,
		    const struct json_value *sandbox, uint32_t limit_ms);

/* For tool_run.c to do: start it, and let the call wait for at most so long. Takes the order's
 * descriptor. */
void run_start(struct call *call, struct execution_order *order, uint32_t limit_ms);

#endif
