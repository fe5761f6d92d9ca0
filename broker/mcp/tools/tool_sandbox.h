/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools for persistent sandboxes, and for the changes in them.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_SANDBOX_H
#define BROKER_MCP_TOOLS_TOOL_SANDBOX_H

#include "mcp/tools/tools.h"

extern const struct tool tool_create_sandbox;
extern const struct tool tool_destroy_sandbox;
extern const struct tool tool_checkpoint;
extern const struct tool tool_diff_changes;
extern const struct tool tool_preview_changes;
extern const struct tool tool_apply_changes;
extern const struct tool tool_bridge_port;

#endif
