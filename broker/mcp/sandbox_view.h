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

/* The members of an open object; and their part of its schema, JSON without the braces. What is
 * true of some only is not required. */
void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info);
#define SANDBOX_SCHEMA                                                                             \
	"\"id\":{\"type\":\"string\"},"                                                            \
	"\"name\":{\"type\":\"string\"},"                                                          \
	"\"profile\":{\"type\":\"string\"},"                                                       \
	"\"state\":{\"type\":\"string\",\"enum\":[\"live\",\"cold\",\"elsewhere\",\"damaged\","    \
	"\"gone\"],\"description\":\"Of one that lasts. live: processes run or are ready; cold: "  \
	"only its files are there, and the next run wakes it; elsewhere: another msp of this "     \
	"user "                                                                                    \
	"has it; gone: it was destroyed, and its logs are left\"},"                                \
	"\"workspace\":{\"type\":\"string\",\"description\":\"Directory of the host that "         \
	"/workspace shows\"},"                                                                     \
	"\"workspace_mode\":{\"type\":\"string\",\"enum\":[\"none\",\"copy-on-write\","            \
	"\"read-only\",\"read-write\"]},"                                                          \
	"\"checkpoints\":{\"type\":\"integer\"},"                                                  \
	"\"disk_bytes\":{\"type\":\"integer\",\"description\":\"Of its changes\"},"                \
	"\"created\":{\"type\":\"string\"},"                                                       \
	"\"expires\":{\"type\":\"string\",\"description\":\"Removed then, unless it is used "      \
	"before\"}"

/* The name, or the id of one that has none: what an agent calls it by. */
const char *sandbox_handle(const struct ipc_sandbox_info *info);

/* "7 d", "36 h", "5 min" */
void sandbox_put_span(struct buffer *text, uint64_t seconds);

/* A sentence on what its /workspace is. */
void sandbox_put_workspace(struct buffer *text, const struct ipc_sandbox_info *info);

#endif
