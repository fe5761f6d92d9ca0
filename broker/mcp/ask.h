/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the client in the middle of a call: to its user (elicitation), to its model
 * (sampling), for its roots. One way for both eras: a handler asks for what it needs, and when
 * something is missing it awaits and returns; with the answers it is run again from its beginning,
 * with the same arguments. So what it does before it has all its answers must be harmless.
 *
 * In the legacy era the questions are requests of ours, and the call stays in flight. In the modern
 * era they are the answer, and the client repeats its request with theirs; a task (tasks.h) keeps
 * its questions until they are answered.
 */
#ifndef BROKER_MCP_ASK_H
#define BROKER_MCP_ASK_H

#include "mcp/ask_state.h"
#include "mcp/call.h"
#include "json/copy.h"

/* Per round, and rounds per call. */
#define ASK_QUESTIONS_MAX 8U
#define ASK_ROUNDS_MAX 8U

/* All calls that may ask: what is kept of their arguments and answers. Principals share it. */
#define ASK_BYTES_MAX ((size_t)64 << 20)
/* One answer that comes by itself. */
#define ASK_ANSWER_BYTES_MAX ((size_t)1 << 20)

enum ask_kind {
	ASK_ELICITATION, /* elicitation/create */
	ASK_SAMPLING,    /* sampling/createMessage */
	ASK_ROOTS,       /* roots/list */
};

/* What the client answered: a result of the form that the question's schema gives it. The user may
 * have declined: see ask_accepted(). */
struct ask_input {
	const struct json_document *document;
	struct json_value *value; /* NULL: the client answered with an error */
	const char *problem;      /* then: what it said */
};

/* What may ask: one of the three methods that the protocol lets. */
struct asker {
	const char *method;
	/* Runs the call; `arguments` is an object or NULL, and lives as long as the call. */
	void (*run)(struct call *call, const struct json_document *document,
		    struct json_value *arguments);
	bool is_tool; /* its results can say what went wrong */
};

/* Make a call of a request for `name` (decoded), let it ask, run it. `row`: for the asker. */
void ask_run(const struct request *request, const struct asker *asker, const void *row,
	     const struct json_value *name, const struct json_value *arguments);
const void *ask_row(const struct call *call);

/*
 * Ask for `key`, a name of the question within the call; `params` is a JSON object, NULL for none.
 * The answer, which lives as long as the call; NULL: there is none yet, so call_await().
 */
const struct ask_input *call_ask(struct call *call, const char *key, enum ask_kind kind,
				 const struct buffer *params);

/* The answer alone, if there is one already: nothing is asked. */
const struct ask_input *call_answer(struct call *call, const char *key, enum ask_kind kind);

/* May the client be asked that? */
bool call_can_ask(const struct call *call, enum ask_kind kind);

/* Have the client answer what was asked and has no answer. The call is not the handler's any more:
 * it is run again, or ends. */
void call_await(struct call *call);

/* The user's form, if it was filled in and sent; NULL: declined, dismissed or an error. */
struct json_value *ask_accepted(const struct ask_input *input);

/* Did the user agree? A form that asks for nothing may come back without its content. */
bool ask_agreed(const struct ask_input *input);

/* Keep up to ASK_KEPT_MAX bytes until the call is run again, and have them then (empty: none). */
void call_keep(struct call *call, const void *bytes, size_t size);
const struct buffer *call_kept(const struct call *call);

/* Refuse what the client lacks abilities for; ends the call. */
void request_refuse_abilities(const struct request *request, unsigned int missing);
void call_refuse_abilities(struct call *call, unsigned int missing);

/* For message handling: a response of the client, to whatever. */
void ask_take_response(struct session *session, const struct json_document *document,
		       struct json_value *value);

/* For tasks: what is open, as an object of requests by key; the answers to it by key. The key that
 * an answer does not fit, and then none was taken; NULL: all do, others are ignored. Once nothing
 * is open, the call is to be run again. */
void ask_put_requests(struct json_writer *writer, const char *key, const struct call *call);
const char *ask_take_inputs(struct call *call, const struct json_document *document,
			    const struct json_value *inputs);
bool ask_is_open(const struct call *call);
void ask_resume(struct call *call);

/* Free what the host keeps for all calls that ask. */
void ask_done(struct host *host);

/* For calls: withdraw what is open, free the rest. Returns NULL. */
struct ask *ask_free(struct call *call);

#endif
