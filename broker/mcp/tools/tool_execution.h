/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools for executions that outlive the call that started them.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_EXECUTION_H
#define BROKER_MCP_TOOLS_TOOL_EXECUTION_H

#include "mcp/tools/tools.h"

extern const struct tool tool_read_output;
extern const struct tool tool_send_input;
extern const struct tool tool_kill_execution;
extern const struct tool tool_list_sandboxes;

#endif
