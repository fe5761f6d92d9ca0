/* SPDX-License-Identifier: Apache-2.0
 *
 * explain_policy: the verdict of the plan in force on an operation in a sandbox.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_EXPLAIN_H
#define BROKER_MCP_TOOLS_TOOL_EXPLAIN_H

#include "mcp/tools/tools.h"

extern const struct tool tool_explain_policy;

#endif
