/* SPDX-License-Identifier: Apache-2.0
 *
 * What the product offers to clients.
 */
#include "mcp/host.h"
#include "mcp/tool_execution.h"
#include "mcp/tool_run.h"

static const struct tool *const tools[] = {
	&tool_run_command,
	&tool_run_code,
	&tool_read_output,
	&tool_write_stdin,
	&tool_kill_execution,
	&tool_list_sandboxes,
	NULL,
};

const struct catalog catalog = { .tools = tools };
