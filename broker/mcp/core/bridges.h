/* SPDX-License-Identifier: Apache-2.0
 *
 * The open bridges of this process: ports of the host that lead into sandboxes, with the user's
 * consent. A bridge belongs to a session as an execution does, and ends with it.
 */
#ifndef BROKER_MCP_CORE_BRIDGES_H
#define BROKER_MCP_CORE_BRIDGES_H

#include <stdint.h>

#include "common/limits.h"
#include "mcp/core/session.h"

/* Bridges of one owner at once. */
#define BRIDGES_OWN_MAX 8U

struct open_bridge {
	struct open_bridge *next;
	struct host *host;
	struct execution_owner owner;
	struct event *event;
	int control; /* the channel to its msp-bridge, which ends with it */
	char sandbox[IPC_ID_MAX];
	uint32_t port, host_port;
};

/* Keep a bridge until either side ends it; takes `control`. */
void bridges_keep(const struct session *session, int control, const char *sandbox, uint32_t port,
		  uint32_t host_port);

/* Return the session's bridge to this port of the sandbox; NULL: there is none. */
struct open_bridge *bridges_find(const struct session *session, const char *sandbox, uint32_t port);

/* Return whether the session may have one more. */
bool bridges_have_room(const struct session *session);

/* Close a bridge; close all of an owner, or of everybody (NULL). */
void bridges_close(struct open_bridge *bridge);
void bridges_end(struct host *host, const struct execution_owner *owner);

#endif
