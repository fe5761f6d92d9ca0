/* SPDX-License-Identifier: Apache-2.0
 *
 * request_host: let the sandboxes of this session reach a host that their profile does not have, if
 * the client's user agrees.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_HOST_H
#define BROKER_MCP_TOOLS_TOOL_HOST_H

#include "mcp/tools/tools.h"

extern const struct tool tool_request_host;

#endif
