/* SPDX-License-Identifier: Apache-2.0
 *
 * The persistent sandboxes that this broker knows: the supervisor's description of each, from the
 * last call of its owner about it. The supervisor is the authority and is asked. The copy serves
 * uses that cannot wait for its answer (lists of resources, subscriptions), facts that never
 * change (the profile of an id), and runs by a name, which the supervisor corrects.
 */
#ifndef BROKER_MCP_CORE_SANDBOXES_H
#define BROKER_MCP_CORE_SANDBOXES_H

#include "common/ipc/ipc_message.h"
#include "mcp/core/errand.h"
#include "mcp/core/host.h"

/* An id and the NUL. */
_Static_assert(IPC_ID_MAX == SANDBOX_ID_CHARS + 1, "one form of an id");

/* Bound of the sandboxes known for all principals, who share it (share.h): beyond its share, a
 * principal's least recently described ones are forgotten. */
#define SANDBOXES_KNOWN_MAX 1024U

struct ipc_sandbox_info;

struct known_sandbox {
	struct known_sandbox *next; /* the one described before it */
	uint32_t principal;
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
};

/* Return the owner's name of this principal for the supervisor; "" is the user. Valid during the
 * call. */
const char *sandboxes_owner(const struct host *host, uint32_t principal);

/* Fill in the owner of a session's request, and the sandbox that it is about; NULL: leave that. The
 * rest of the head is zero. */
void sandboxes_head(const struct session *session, const char *sandbox, struct ipc_head *ret);

/* Return true if this text has the form of an id, so that it cannot be a name. */
bool sandboxes_is_id(const char *text);

/* Check the argument `name`, of a new sandbox or of a checkpoint, which may look like an id. NULL:
 * it is a name; otherwise the problem. */
const char *sandboxes_check_name(const char *name, bool is_sandbox);

/* Record the supervisor's description of a principal's sandbox; or forget a sandbox that it no
 * longer has. */
void sandboxes_learn(struct host *host, uint32_t principal, const struct ipc_sandbox_info *info);
void sandboxes_forget(struct host *host, uint32_t principal, const char *id);
void sandboxes_forget_all(struct host *host);

/* Return the principal's known sandbox with this id; NULL: not known, or another principal's. */
const struct known_sandbox *sandboxes_known(const struct host *host, uint32_t principal,
					    const char *id);

/* Return the id of the principal's known sandbox with this id or name; NULL: not known. */
const char *sandboxes_id_of(const struct host *host, uint32_t principal, const char *called);

/* Return the principal's next known sandbox, or its first; NULL at the end. */
const struct known_sandbox *sandboxes_next(const struct host *host, uint32_t principal,
					   const struct known_sandbox *before);

#endif
