/* SPDX-License-Identifier: Apache-2.0
 *
 * One POST and its answer. The answer is plain JSON, unless a message precedes it or it takes
 * longer than plain_time: then it becomes a stream of events, of which the answer is the last.
 *
 * In the legacy era a POST belongs to a session and survives its connection. In the modern one it
 * is a session of its own, and the end of its connection cancels its requests.
 */
#ifndef BROKER_HTTP_POST_H
#define BROKER_HTTP_POST_H

#include "http/http.h"
#include "mcp/core/era.h"
#include "mcp/core/session.h"

struct post {
	struct exchange exchange; /* first: struct post and its exchange have one address */
	struct post *next;        /* the next POST of the same legacy session */
	struct http *http;
	struct connection *connection; /* NULL: the client is gone, or has its answer */
	struct legacy *legacy;         /* its session in the legacy era; NULL: none */
	struct session own;            /* its session in the modern era */
	bool has_own;
	bool is_streaming;
	bool is_answered;
	bool makes_session; /* the answer names the new session */
	int refused_status; /* status of an answer that was given before any method was called; 0:
			       none */
	uint64_t stream;    /* number of its stream, in the legacy era */
	uint64_t last_event;
	struct event *timer;
};

/* Answer a POST that passed the checks. */
void post_take(const struct inbound *inbound);

/* Send further events to its client's new connection. */
void post_attach(struct post *post, struct connection *connection);

/* Detach it from its session, which ends. */
void post_leave_session(struct post *post);

#endif
