/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of a persistent sandbox for clients, the same in every tool.
 */
#ifndef BROKER_MCP_TOOLS_SANDBOX_VIEW_H
#define BROKER_MCP_TOOLS_SANDBOX_VIEW_H

#include "frontend/json_write.h"
#include "mcp/core/errand.h"

struct ipc_sandbox_info;

/* Write the members of an open object. */
void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info);

/* Return the handle for agents: the name, or the id if it has none. */
const char *sandbox_handle(const struct ipc_sandbox_info *info);

/* "7 d", "36 h", "5 min" */
void sandbox_put_span(struct buffer *text, uint64_t seconds);

/* Append a sentence about its /workspace. */
void sandbox_put_workspace(struct buffer *text, const struct ipc_sandbox_info *info);

/* --- room for a new one --------------------------------------------------------------------- */

/* Sandboxes that are tried, the longest unused first. */
#define ROOM_TRIED_MAX 64U

/* Only a sandbox that was not used for this long goes: another client may be about to use it. */
#define ROOM_UNUSED_S 600U

struct room_sandbox {
	uint64_t used_s;
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
};

struct sandbox_room {
	bool is_listed;
	struct room_sandbox oldest; /* unused for longest, with files or not; without id: none */
	struct room_sandbox tried[ROOM_TRIED_MAX];
	size_t count, next;
	struct room_sandbox removed; /* without id: none */
};

enum room_step {
	ROOM_WAITS, /* for an answer, or the call has failed and the errand is freed */
	ROOM_MADE,  /* see `removed` */
	ROOM_NONE,  /* no sandbox could go */
};

/* Begin; then take each answer or refusal (NULL) of the supervisor. */
enum room_step sandbox_room_begin(struct sandbox_room *room, struct errand *errand);
enum room_step sandbox_room_take(struct sandbox_room *room, struct errand *errand,
				 const struct supervisor_answer *answer);

/* Append a sentence about the sandbox that was removed, or that could be; nothing if there is
 * none. */
void sandbox_room_put_removed(const struct sandbox_room *room, struct buffer *text);
void sandbox_room_put_oldest(const struct sandbox_room *room, struct buffer *text);

#endif
