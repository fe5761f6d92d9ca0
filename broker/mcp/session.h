/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's MCP conversation: messages in, calls in flight. Over stdio it is the connection.
 */
#ifndef BROKER_MCP_SESSION_H
#define BROKER_MCP_SESSION_H

#include <stddef.h>

#include "mcp/exchange.h"
#include "mcp/host.h"
#include "mcp/log_level.h"
#include "json/read.h"

struct call;
struct subscriber;

struct session {
	struct session *next;
	struct host *host;
	uint32_t principal;       /* who the client proved to be; 0 where nobody has to */
	uint64_t number;          /* unique in this process */
	bool owns_executions;     /* what it starts belongs to it alone, and ends with it */
	struct exchange *channel; /* for what belongs to no request; NULL: there is no way */
	const char *version;      /* negotiated by the last initialize; NULL before one */
	struct call *calls;       /* in flight */
	size_t call_count;
	unsigned int abilities;   /* of the legacy era's client, as its initialize declared them */
	uint64_t last_question;   /* number of our newest request */
	enum log_level log_level; /* of the legacy era: nothing below it is said */
	/* Of resources, in the legacy era; NULL: to none. */
	struct subscriber *subscriber;
};

/* A session of `host`, which must outlive it; `channel` stays the caller's. */
void session_init(struct session *session, struct host *host, uint32_t principal,
		  struct exchange *channel);

/* Whose the executions are that this session starts, and that it is shown. */
struct execution_owner session_owner(const struct session *session);

/* Cancel the calls in flight, and end the executions that are its own. */
void session_done(struct session *session);

/* Text of one message, or of a batch; it is written to. Empty text is ignored. `exchange` stays
 * the caller's. */
void session_take_text(struct session *session, struct exchange *exchange, char *text, size_t size);

/* The same, already read; `error` as json_read() gave it. */
void session_take_document(struct session *session, struct exchange *exchange,
			   const struct json_document *document, enum json_error error);

/* Text beyond LINE_BYTES_MAX was thrown away. */
void session_refuse_long(struct exchange *exchange);

#endif
