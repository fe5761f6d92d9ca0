/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's MCP conversation: lines in, lines out, calls in flight.
 */
#ifndef BROKER_MCP_SESSION_H
#define BROKER_MCP_SESSION_H

#include "buffer.h"
#include "executions.h"
#include "mcp/posture.h"

struct call;
struct batch;

struct session {
	struct executions *executions;
	/* Takes one line without its newline. */
	void (*send)(void *context, const struct buffer *line);
	void *context;
	struct posture posture;
	const char *version; /* negotiated by the last initialize; NULL before one */
	struct call *calls;  /* in flight */
};

void session_init(struct session *session, struct executions *executions,
		  void (*send)(void *context, const struct buffer *line), void *context);

/* Forget the calls in flight, unanswered. */
void session_done(struct session *session);

/* A line from the client; it is written to. An empty one is ignored. */
void session_take_line(struct session *session, char *line, size_t size);

/* A line beyond LINE_BYTES_MAX was thrown away. */
void session_take_long_line(struct session *session);

/* For answers inside mcp/: send now, or with the rest of the batch it belongs to (NULL: none). */
void session_answer(struct session *session, struct batch *batch, const struct buffer *answer);

/* A call of a batch is still open, or is over. */
void batch_hold(struct batch *batch);
void batch_release(struct session *session, struct batch *batch);

#endif
