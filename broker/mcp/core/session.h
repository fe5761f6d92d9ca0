/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's MCP conversation: messages in, calls in flight. Over stdio it is the connection.
 */
#ifndef BROKER_MCP_CORE_SESSION_H
#define BROKER_MCP_CORE_SESSION_H

#include <stddef.h>

#include "mcp/core/exchange.h"
#include "mcp/core/host.h"
#include "mcp/core/message.h"

struct call;
struct subscriber;

struct session {
	struct session *next;
	struct host *host;
	uint32_t principal;       /* the identified client; 0 if clients need no token */
	uint64_t number;          /* unique in this process */
	bool owns_executions;     /* its executions belong to it alone, and end with it */
	struct exchange *channel; /* for messages without a request; NULL: there is none */
	const char *version;      /* negotiated by the last initialize; NULL before one */
	struct call *calls;       /* calls in flight */
	size_t call_count;
	unsigned int abilities;   /* from initialize in the legacy era */
	uint64_t last_question;   /* number of our newest request */
	enum log_level log_level; /* legacy era: messages below it are not sent */
	/* Its resource subscriptions in the legacy era; NULL: none. */
	struct subscriber *subscriber;
	void (*end_subscriptions)(struct session *session); /* set with it */
};

/* Make a session of `host`, which must outlive it; `channel` stays the caller's. */
void session_init(struct session *session, struct host *host, uint32_t principal,
		  struct exchange *channel);

/* Return the owner of the executions that this session starts and sees. */
struct execution_owner session_owner(const struct session *session);

/* Cancel the calls in flight, and end the executions of the session. */
void session_done(struct session *session);

#endif
