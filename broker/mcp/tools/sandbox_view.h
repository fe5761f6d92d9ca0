/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of a persistent sandbox for clients, the same in every tool.
 */
#ifndef BROKER_MCP_TOOLS_SANDBOX_VIEW_H
#define BROKER_MCP_TOOLS_SANDBOX_VIEW_H

#include "frontend/json_write.h"

struct ipc_sandbox_info;

/* Return the name of an enum workspace_mode in arguments and results; for NONE, "none". */
const char *sandbox_mode_name(uint32_t mode);

/* Write the members of an open object. */
void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info);

/* Return the handle for agents: the name, or the id if it has none. */
const char *sandbox_handle(const struct ipc_sandbox_info *info);

/* "7 d", "36 h", "5 min" */
void sandbox_put_span(struct buffer *text, uint64_t seconds);

/* Append a sentence about its /workspace. */
void sandbox_put_workspace(struct buffer *text, const struct ipc_sandbox_info *info);

#endif
