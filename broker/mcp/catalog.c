/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools, prompts and resources of the product.
 */
#include "mcp/core/host.h"
#include "mcp/prompts/prompt_start.h"
#include "mcp/resources/resource_diff.h"
#include "mcp/resources/resource_file.h"
#include "mcp/resources/resource_log.h"
#include "mcp/resources/resource_network.h"
#include "mcp/resources/resource_policy.h"
#include "mcp/tools/tool_execution.h"
#include "mcp/tools/tool_explain.h"
#include "mcp/tools/tool_file.h"
#include "mcp/tools/tool_host.h"
#include "mcp/tools/tool_run.h"
#include "mcp/tools/tool_sandbox.h"

static const struct tool *const tools[] = {
	&tool_run_command,        &tool_run_code,           &tool_read_output,
	&tool_send_input,         &tool_kill_execution,     &tool_list_sandboxes,
	&tool_create_sandbox,     &tool_destroy_sandbox,    &tool_checkpoint,
	&tool_diff_changes,       &tool_preview_changes,    &tool_apply_changes,
	&tool_read_sandbox_file,  &tool_write_sandbox_file, &tool_patch_sandbox_files,
	&tool_list_sandbox_files, &tool_import_files,       &tool_bridge_port,
	&tool_explain_policy,     &tool_request_host,       NULL,
};

static const struct prompt *const prompts[] = {
	&prompt_try_code,
	&prompt_compare_commands,
	&prompt_explore_sandbox,
	NULL,
};

static const struct resource_provider *const resources[] = {
	&resource_log,  &resource_log_stream, &resource_log_piece, &resource_diff,
	&resource_file, &resource_policy,     &resource_network,   NULL,
};

const struct catalog catalog = {
	.tools = tools,
	.prompts = prompts,
	.resources = resources,
	.changing = LIST_TOOLS | LIST_RESOURCES, /* they change with the operator's policy */
};
