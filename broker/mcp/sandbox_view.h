/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients are told of a sandbox that lasts, by every tool in the same words.
 */
#ifndef BROKER_MCP_SANDBOX_VIEW_H
#define BROKER_MCP_SANDBOX_VIEW_H

#include "common/ipc.h"
#include "json/write.h"

/* Names of enum workspace_mode as arguments and results have them; of NONE, "none". */
const char *sandbox_mode_name(uint32_t mode);

/* Put the members of an open object. */
void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info);

/* The name, or the id of one that has none: what an agent calls it by. */
const char *sandbox_handle(const struct ipc_sandbox_info *info);

/* "7 d", "36 h", "5 min" */
void sandbox_put_span(struct buffer *text, uint64_t seconds);

/* A sentence on what its /workspace is. */
void sandbox_put_workspace(struct buffer *text, const struct ipc_sandbox_info *info);

#endif
