/* SPDX-License-Identifier: Apache-2.0
 *
 * explain_policy: what a sandbox answers to an operation, from the plan that is in force.
 */
#ifndef BROKER_MCP_TOOL_EXPLAIN_H
#define BROKER_MCP_TOOL_EXPLAIN_H

#include "mcp/tools.h"

extern const struct tool tool_explain_policy;

#endif
