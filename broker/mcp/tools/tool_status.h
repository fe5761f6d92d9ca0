/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog of a server that may run nothing: one tool, which says why.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_STATUS_H
#define BROKER_MCP_TOOLS_TOOL_STATUS_H

#include "mcp/tools/tools.h"

/* The tool msp_status alone; its text is the host's `refusal`. */
extern const struct catalog catalog_refused;

#endif
