/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the client in the middle of a call: to its user (elicitation), to its model
 * (sampling), for its roots. Both eras work alike for a handler: it asks its questions; if an
 * answer is missing, it awaits and returns. With the answers it is run again from its beginning,
 * with the same arguments. So everything before the last answer must be harmless to repeat.
 *
 * In the legacy era the questions are requests of ours, and the call stays in flight. In the
 * modern era they are the answer, and the client repeats its request with its answers; a task
 * (tasks.h) keeps its questions until they are answered.
 */
#ifndef BROKER_MCP_ASKING_ASK_H
#define BROKER_MCP_ASKING_ASK_H

#include "mcp/asking/ask_state.h"
#include "mcp/core/call.h"
#include "json/copy.h"

/* Questions per round, and rounds per call. */
#define ASK_QUESTIONS_MAX 8U
#define ASK_ROUNDS_MAX 8U

/* Arguments and answers that all calls that may ask keep together. Principals share it. */
#define ASK_BYTES_MAX ((size_t)64 << 20)
/* One answer that arrives as a message of its own. */
#define ASK_ANSWER_BYTES_MAX ((size_t)1 << 20)

enum ask_kind {
	ASK_ELICITATION, /* elicitation/create */
	ASK_SAMPLING,    /* sampling/createMessage */
	ASK_ROOTS,       /* roots/list */
};

/* The client's answer: a result in the form of the question's schema. The user may have declined:
 * see ask_reply(). */
struct ask_input {
	const struct json_document *document;
	struct json_value *value; /* NULL: the client answered with an error */
	const char *problem;      /* set then: the client's error */
};

/* The handler of a call that may ask: one of the three methods for which the protocol allows it. */
struct asker {
	const char *method;
	/* Run the call; `arguments` is an object or NULL, and lives as long as the call. */
	void (*run)(struct call *call, const struct json_document *document,
		    struct json_value *arguments);
	bool is_tool; /* its results can report an error */
};

/* Make a call of a request for `name` (decoded), let it ask, run it. `row`: passed to the asker. */
void ask_run(const struct request *request, const struct asker *asker, const void *row,
	     const struct json_value *name, const struct json_value *arguments);
const void *ask_row(const struct call *call);

/* Ask the question `key`, a name within the call; `params` is a JSON object, NULL for none. Returns
 * the answer, which lives as long as the call; NULL: it is missing, so call_await(). */
const struct ask_input *call_ask(struct call *call, const char *key, enum ask_kind kind,
				 const struct buffer *params);

/* Return the answer if it has arrived, without asking. */
const struct ask_input *call_answer(struct call *call, const char *key, enum ask_kind kind);

/* Return true if the client can be asked a question of this kind. */
bool call_can_ask(const struct call *call, enum ask_kind kind);

/* Send the questions that have no answer. The call leaves the handler: it is run again, or ends. */
void call_await(struct call *call);

/* Return the user's form, if it was filled in and sent; NULL: declined, dismissed or an error. */
struct json_value *ask_accepted(const struct ask_input *input);

/* Return the client's word about a question to its user. Some clients answer with a refusal or
 * a dismissal without showing the question. */
enum ask_reply {
	ASK_ACCEPTED,  /* the form may be missing: see ask_accepted() */
	ASK_DECLINED,  /* the user refused */
	ASK_DISMISSED, /* no user answered */
	ASK_FAILED,    /* an error, or no answer of this form: `problem` is set */
};
enum ask_reply ask_reply(const struct ask_input *input);

/* Keep up to ASK_KEPT_MAX bytes until the call is run again, and return them then (empty: none). */
void call_keep(struct call *call, const void *bytes, size_t size);
const struct buffer *call_kept(const struct call *call);

/* Refuse a call for the abilities that the client lacks; ends the call. */
void call_refuse_abilities(struct call *call, unsigned int missing);

/* Take a response of the client to any question. */
void ask_take_response(struct session *session, const struct json_document *document,
		       struct json_value *value);

/* For tasks: write the open questions as an object of requests by key; take the answers by key.
 * Returns the key of an answer that does not fit, and takes none then; NULL: all fit, unknown ones
 * are ignored. With no question left open, the call has to be run again. */
void ask_put_requests(struct json_writer *writer, const char *key, const struct call *call);
const char *ask_take_inputs(struct call *call, const struct json_document *document,
			    const struct json_value *inputs);
bool ask_is_open(const struct call *call);
void ask_resume(struct call *call);

#endif
