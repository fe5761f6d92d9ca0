/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools for the files of a persistent sandbox.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_FILE_H
#define BROKER_MCP_TOOLS_TOOL_FILE_H

#include "mcp/tools/tools.h"

extern const struct tool tool_read_sandbox_file;
extern const struct tool tool_write_sandbox_file;
extern const struct tool tool_patch_sandbox_files;
extern const struct tool tool_list_sandbox_files;
extern const struct tool tool_import_files;

#endif
