/* SPDX-License-Identifier: Apache-2.0
 *
 * A request in flight, which is answered later or in parts. Its handler sets `cancel` to stop the
 * work, and ends the call with an answer.
 */
#ifndef BROKER_MCP_CORE_CALL_H
#define BROKER_MCP_CORE_CALL_H

#include "mcp/core/request.h"
#include "mcp/core/result.h"
#include "mcp/core/session.h"

struct ask;

/* Progress for a client that asked for it. */
struct call_progress {
	struct rpc_id token; /* which has the form of an id; empty: not asked for */
	double last;
	int64_t last_ms; /* when progress was last reported, on the monotonic clock */
};

struct call {
	struct call *next;
	struct session *session;
	struct exchange *exchange;
	struct rpc_id id;
	enum era era;
	enum log_level log_level; /* messages below it are not sent */
	unsigned int abilities;   /* abilities of the client */
	bool is_plain;            /* no tool's: its result cannot report an error */
	uint64_t begun_us;        /* by clock_now_us() */
	struct call_progress progress;
	struct ask *ask;                    /* NULL: it may not ask the client questions */
	void (*end_ask)(struct call *call); /* withdraw questions, free `ask`; set with it */
	/* Take note of open questions, which are not to be sent; NULL: send them. */
	void (*asked)(struct call *call);
	void (*cancel)(struct call *call); /* stop the work; NULL: no work to stop */
	void *work;                        /* state of its handler */
	struct execution *execution;       /* the execution that it waits for; NULL: none */
};

/* Calls in flight at once in all sessions; principals share them (share.h). */
#define CALLS_MAX 4096U

/* Return true if this session's principal may have one more call. */
bool call_has_room(const struct session *session);

/* Make a call of the request; it takes the request's id. */
struct call *call_new(const struct request *request);

/* Find the call in flight with this id; NULL: none. */
struct call *call_find(struct session *session, const struct rpc_id *id);

/* End the call, which has its answer or needs none. Its handler is not told. */
void call_end(struct call *call);

/* Stop the work and end the call: the client wants no answer. */
void call_cancel(struct call *call);

/* Close an answer that does not end the call, and go on without its client: the next answer goes to
 * `exchange`, in `session`. */
void call_put_answer(struct call *call, struct answer *answer);
void call_move(struct call *call, struct session *session, struct exchange *exchange);

/* Open and close an answer, as in request.h; closing it ends the call. Members of the result's
 * _meta are written between open and close of the meta. */
void call_open_result(struct call *call, struct answer *answer);
void call_open_typed(struct call *call, struct answer *answer, const char *type);
void call_open_meta(struct call *call, struct answer *answer);
void call_close_result(struct call *call, struct answer *answer);

/* Write a text block of a result's content; the members of a tool's result with one such. */
void call_put_block(struct json_writer *writer, const struct buffer *text);
void call_put_text(struct answer *answer, const struct buffer *text, bool is_error);

/* Answer with one text block and end the call; takes the text. An error of a plain call is one of
 * the protocol. */
void call_answer_text(struct call *call, struct buffer *text, bool is_error);

/* Answer that nothing was done, with the reason for the model as printf makes it; ends the call. */
void call_fail(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Answer that an argument is "VALUE", and the rest of the sentence; ends the call. */
void call_fail_value(struct call *call, const char *argument, const struct json_value *value,
		     const char *rest);

/* Answer with an error of the protocol; `data` is JSON or NULL; ends the call. */
void call_refuse(struct call *call, enum rpc_code code, const char *text,
		 const struct buffer *data);

/* Report progress if the client asked for it: at most twice a second, and only an increase. `total`
 * 0: unknown; `message` NULL: none. */
void call_say_progress(struct call *call, double progress, double total, const char *message);

/* Send a message for the client's log, if it wants that level; `data` is JSON. Never a secret. */
void call_say_log(struct call *call, enum log_level level, const char *logger,
		  const struct buffer *data);

#endif
