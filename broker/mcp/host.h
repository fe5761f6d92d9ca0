/* SPDX-License-Identifier: Apache-2.0
 *
 * What all sessions of this process share: the executions, what the supervisor said at the
 * beginning, and what there is to offer.
 */
#ifndef BROKER_MCP_HOST_H
#define BROKER_MCP_HOST_H

#include <event2/event.h>

#include "executions.h"
#include "mcp/posture.h"

struct session;
struct tool;

/* What this server offers; each list ends with NULL. Order is what clients see. */
struct catalog {
	const struct tool *const *tools;
};

/* The product's. */
extern const struct catalog catalog;

struct host {
	struct event_base *base;
	struct executions *executions;
	struct posture posture;
	const struct catalog *catalog;
	struct session *sessions;
	uint64_t last_session; /* number of the newest */
};

#endif
