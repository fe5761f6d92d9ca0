/* SPDX-License-Identifier: Apache-2.0
 *
 * A request in flight: what is not answered while it is read, but later or bit by bit. Whoever
 * works on it says in `cancel` how that work is given up, and ends the call with an answer.
 */
#ifndef BROKER_MCP_CALL_H
#define BROKER_MCP_CALL_H

#include "mcp/ability.h"
#include "mcp/log_level.h"
#include "mcp/request.h"
#include "mcp/result.h"

struct ask;
struct task;

/* Progress that the client asked for. */
struct call_progress {
	char *token; /* JSON as it came; NULL: it did not ask */
	size_t token_size;
	double last;
	int64_t last_ms; /* when that was said, on the monotonic clock */
};

struct call {
	struct call *next;
	struct session *session;
	struct exchange *exchange;
	struct rpc_id id;
	enum era era;
	enum log_level log_level; /* nothing below it is said */
	unsigned int abilities;   /* of the client */
	uint64_t begun_us;        /* by clock_now_us() */
	struct call_progress progress;
	struct ask *ask;                   /* NULL: it may not ask the client anything */
	struct task *task;                 /* what it became; NULL: none */
	void (*cancel)(struct call *call); /* give the work up; NULL: nothing to give up */
	void *work;                        /* of whoever works on it */
	struct execution *execution;       /* that it waits for; NULL: none */
};

/* In flight at once, of all sessions; principals share them (share.h). */
#define CALLS_MAX 4096U

/* May this session's principal have one more? */
bool call_has_room(const struct session *session);

/* The request becomes a call; its id goes over to it. */
struct call *call_new(const struct request *request);

/* End it without an answer. What works on it is not told. */
void call_drop(struct call *call);

/* The call in flight with this id; NULL: none. */
struct call *call_find(struct session *session, const struct rpc_id *id);

/* The client wants no answer any more: give the work up and end the call. */
void call_cancel(struct call *call);

/* Cancel what came with this exchange: its way back is gone. */
void call_cancel_exchange(struct session *session, const struct exchange *exchange);

/* Close an answer that does not end the call, and carry it on without its client: its next answer
 * goes to `exchange`, in `session`. */
void call_put_answer(struct call *call, struct answer *answer);
void call_move(struct call *call, struct session *session, struct exchange *exchange);

/* An answer, as in request.h; closing it ends the call. Between open and close of the meta go the
 * members of the result's _meta. */
void call_open_result(struct call *call, struct answer *answer);
void call_open_typed(struct call *call, struct answer *answer, const char *type);
void call_open_meta(struct call *call, struct answer *answer);
void call_close_meta(struct answer *answer);
void call_close_result(struct call *call, struct answer *answer);

/* The members of a tool's result that is one text block. */
void call_put_text(struct answer *answer, const struct buffer *text, bool is_error);

/* Answer with one text block and end the call. */
void call_answer_text(struct call *call, const struct buffer *text, bool is_error);

/* Answer that nothing was done, and why, as a model reads it; ends the call. */
void call_fail(struct call *call, const struct buffer *problem);
void call_fail_text(struct call *call, const char *problem);

/* Answer with an error of the protocol; `data` is JSON or NULL; ends the call. */
void call_refuse(struct call *call, enum rpc_code code, const char *text,
		 const struct buffer *data);

/* Say how far it is, if the client asked for it: at most twice a second, and only what is more
 * than before. `total` 0: unknown; `message` NULL: none. */
void call_say_progress(struct call *call, double progress, double total, const char *message);

/* Say something for the client's log, if it wants that level; `data` is JSON. Never a secret. */
void call_say_log(struct call *call, enum log_level level, const char *logger,
		  const struct buffer *data);

#endif
