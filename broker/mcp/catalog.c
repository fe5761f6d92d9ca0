/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools, prompts and resources of the product.
 */
#include "mcp/core/host.h"
#include "mcp/prompts/prompts.h"
#include "mcp/resources/resources.h"
#include "mcp/tools/tools.h"

static const struct tool *const tools[] = {
#define TOOL(name) &tool_##name,
#include "mcp/tools/tools.def"
#undef TOOL
	NULL,
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
