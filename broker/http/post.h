/* SPDX-License-Identifier: Apache-2.0
 *
 * One POST and its way back. The answer is plain JSON, unless something is said before it or it
 * takes longer than a moment: then it becomes a stream of events, of which the answer is the last.
 *
 * In the legacy era a POST belongs to a session and survives its connection. In the modern one it
 * is a session of its own, and the end of its connection is the end of what it asked for.
 */
#ifndef BROKER_HTTP_POST_H
#define BROKER_HTTP_POST_H

#include "http/http.h"
#include "mcp/era.h"
#include "mcp/session.h"

struct post {
	struct exchange exchange; /* first: the two are one address */
	struct post *next;        /* of the same legacy session */
	struct http *http;
	struct connection *connection; /* NULL: the client is gone, or has its answer */
	struct legacy *legacy;         /* its session in the legacy era; NULL: none */
	struct session own;            /* its session in the modern era */
	bool has_own;
	bool is_streaming;
	bool is_answered;
	bool makes_session; /* the answer names it */
	int refused_status; /* of an answer that is given before any method was asked; 0: none */
	uint64_t stream;    /* its number once it is one, in the legacy era */
	uint64_t last_event;
	struct event *timer;
};

/* A POST that passed the ladder. */
void post_take(const struct inbound *inbound);

/* Its client is back: what follows goes there. */
void post_attach(struct post *post, struct connection *connection);

/* Its session ends. */
void post_leave_session(struct post *post);

#endif
