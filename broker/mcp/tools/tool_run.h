/* SPDX-License-Identifier: Apache-2.0
 *
 * run_command and run_code: from checked arguments to an execution.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_RUN_H
#define BROKER_MCP_TOOLS_TOOL_RUN_H

#include "mcp/tools/tools.h"

extern const struct tool tool_run_command;
extern const struct tool tool_run_code;

#endif
