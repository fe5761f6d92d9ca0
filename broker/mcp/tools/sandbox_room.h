/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for a new sandbox when their limit is reached: the supervisor has removed expired ones by
 * then, and here the client's longest unused sandbox without files goes. Clients that cannot ask
 * their user refuse destroy_sandbox, so their sandboxes would pile up. Embedded in the tool's state
 * of the call.
 */
#ifndef BROKER_MCP_TOOLS_SANDBOX_ROOM_H
#define BROKER_MCP_TOOLS_SANDBOX_ROOM_H

#include "mcp/core/errand.h"

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
