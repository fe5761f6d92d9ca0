/* SPDX-License-Identifier: Apache-2.0
 *
 * A run in a persistent sandbox: sandbox and profile are known before the client learns of the
 * execution, because its handle and its texts name both. For an id they never change; for a known
 * name the supervisor reports with the start which sandbox it means by now.
 */
#ifndef BROKER_MCP_TOOLS_RUN_SANDBOX_H
#define BROKER_MCP_TOOLS_RUN_SANDBOX_H

#include "executions/executions.h"
#include "mcp/core/call.h"

/* Find the sandbox and start the order in it; `label` is the order's, and both are copied if the
 * supervisor has to be asked first. Takes the order's descriptor. */
void run_in_sandbox(struct call *call, struct execution_order *order, struct execution_label *label,
		    const struct json_value *sandbox, uint32_t limit_ms);

/* Start the order, and let the call wait for at most `limit_ms`; in tool_run.c. Takes the order's
 * descriptor. */
void run_start(struct call *call, struct execution_order *order, uint32_t limit_ms);

#endif
