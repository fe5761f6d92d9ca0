/* SPDX-License-Identifier: Apache-2.0
 *
 * What the product offers to clients.
 */
#include "mcp/host.h"
#include "mcp/tool_run.h"

static const struct tool *const tools[] = { &tool_run_command, &tool_run_code, NULL };

const struct catalog catalog = { .tools = tools };
