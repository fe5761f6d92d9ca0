/* SPDX-License-Identifier: Apache-2.0
 *
 * The questions of a call: how they are sent in each era, and how the answers are read.
 */
#include "mcp/asking/ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executions/share.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/session.h"

/* Ids of our requests: clients have ids of their own, so the name helps readers of a transcript. */
#define ASK_ID_FORMAT "msp-%" PRIu64
#define ASK_ID_ROOM 32

#define ASK_MISFIT "the answer does not match the form of its question"

struct question {
	struct question *next;
	char *key;
	enum ask_kind kind;
	struct buffer params; /* empty: none */
	bool is_open;         /* asked, and not answered */
	bool is_answered;
	uint64_t number;         /* number of our request in the legacy era; 0: there is none */
	struct json_tree answer; /* set unless the answer is in one of the trees below */
	struct buffer problem;
	struct ask_input input;
};

struct ask {
	const struct asker *asker;
	const void *row;
	struct ask_origin origin;
	struct json_tree arguments; /* empty: none */
	struct json_tree inputs;    /* the answers that came with the request */
	struct ask_state state;     /* the state of earlier rounds, or all zero */
	struct question *questions; /* oldest first */
	unsigned int open_count;
	unsigned int missing; /* abilities that the questions need and the client lacks */
	const char *misfit;   /* key of an answer that does not fit its question */
	size_t bytes;         /* its part of the host's ask_bytes */
};

static const struct {
	const char *method;
	enum ability ability;
} kinds[] = {
	[ASK_ELICITATION] = { "elicitation/create", ABILITY_ELICITATION },
	[ASK_SAMPLING] = { "sampling/createMessage", ABILITY_SAMPLING },
	[ASK_ROOTS] = { "roots/list", ABILITY_ROOTS },
};

static bool is_elicited(const struct json_document *document, const struct json_value *value)
{
	struct json_value *action = json_member(document, value, "action");
	const struct json_value *content = json_member(document, value, "content");

	return (json_equals(action, "accept") || json_equals(action, "decline") ||
		json_equals(action, "cancel")) &&
	       (!content || content->kind == JSON_NULL || content->kind == JSON_OBJECT);
}

static bool is_sampled(const struct json_document *document, const struct json_value *value)
{
	const struct json_value *content = json_member(document, value, "content");

	return json_is(json_member(document, value, "role"), JSON_STRING) &&
	       json_is(json_member(document, value, "model"), JSON_STRING) &&
	       (json_is(content, JSON_OBJECT) || json_is(content, JSON_ARRAY));
}

/* Return true if `value` has the form of an answer to that kind. */
static bool ask_fits(enum ask_kind kind, const struct json_document *document,
		     const struct json_value *value)
{
	switch (kind) {
	case ASK_ELICITATION:
		return is_elicited(document, value);
	case ASK_SAMPLING:
		return is_sampled(document, value);
	case ASK_ROOTS:
		return json_is(json_member(document, value, "roots"), JSON_ARRAY);
	}
	return false;
}

/* Find the question `key`, or NULL. */
static struct question *ask_find(const struct ask *ask, const char *key, size_t size)
{
	struct question *question = ask->questions;

	while (question && (strlen(question->key) != size || memcmp(question->key, key, size) != 0))
		question = question->next;
	return question;
}

bool ask_is_open(const struct call *call)
{
	return call->ask->open_count > 0;
}

/* Return the bytes that the principal's calls keep. */
static size_t bytes_of(const struct host *host, uint32_t principal)
{
	size_t bytes = 0;

	for (const struct session *session = host->sessions; session; session = session->next) {
		const struct call *call = session->principal == principal ? session->calls : NULL;

		for (; call; call = call->next)
			bytes += call->ask ? call->ask->bytes : 0;
	}
	return bytes;
}

/* Take bytes of the host's bound, or give them back. False: none are left. */
static bool ask_count(struct call *call, size_t bytes)
{
	struct host *host = call->session->host;
	const uint32_t principal = call->session->principal;

	if (!share_is_plenty(host->ask_bytes + bytes, ASK_BYTES_MAX) &&
	    !share_allows(principal, bytes_of(host, principal), host->ask_bytes, ASK_BYTES_MAX,
			  bytes))
		return false;
	host->ask_bytes += bytes;
	call->ask->bytes += bytes;
	return true;
}

/* Read the state and answers that a client of the modern era sends with a repeated request. */
static bool take_earlier(const struct request *request, struct ask *ask)
{
	struct json_value *state = request_param(request, "requestState");
	struct json_value *inputs;
	const char *problem = NULL;

	if (!request_object(request, "inputResponses", &inputs))
		return false;
	for (struct json_value *v = json_first(request->document, inputs); v;
	     v = json_next(request->document, v)) {
		const struct json_value key = { .text = v->key, .size = v->key_size };

		if (v->kind == JSON_OBJECT)
			continue;
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Invalid params: in inputResponses there is no object for", &key);
		return false;
	}
	if (inputs)
		json_tree_copy(&ask->inputs, request->document, inputs);
	if (!state)
		return true;
	if (!request_string(request, "requestState"))
		return false;
	problem = ask_state_open(ask_state_key(request->session->host), &ask->origin,
				 clock_steady_ms(), state, &ask->state);
	if (problem)
		request_refuse(request, RPC_INVALID_PARAMS, problem, NULL);
	return !problem;
}

static struct question *free_question(struct question *question)
{
	struct question *next = question->next;

	free(question->key);
	buffer_done(&question->params);
	buffer_done(&question->problem);
	json_tree_done(&question->answer);
	free(question);
	return next;
}

static void free_ask(struct ask *ask)
{
	while (ask->questions)
		ask->questions = free_question(ask->questions);
	json_tree_done(&ask->arguments);
	json_tree_done(&ask->inputs);
	ask_state_done(&ask->state);
	free(ask);
}

/* Tell the client that the answer to a question is no longer needed. */
static void withdraw_question(struct call *call, uint64_t number)
{
	char id[ASK_ID_ROOM];
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	(void)snprintf(id, sizeof(id), ASK_ID_FORMAT, number);
	message_open_notification(&writer, "notifications/cancelled");
	json_put_text(&writer, "requestId", id);
	exchange_close(call->exchange, &writer);
}

static void end_ask(struct call *call)
{
	struct ask *ask = call->ask;

	for (struct question *q = ask->questions; q; q = q->next) {
		if (q->is_open && q->number > 0)
			withdraw_question(call, q->number);
	}
	call->session->host->ask_bytes -= ask->bytes;
	free_ask(ask);
	call->ask = NULL;
}

void ask_resume(struct call *call)
{
	struct ask *ask = call->ask;

	ask->missing = 0;
	ask->misfit = NULL;
	ask->asker->run(call, &ask->arguments.document, json_top(&ask->arguments.document));
}

void ask_run(const struct request *request, const struct asker *asker, const void *row,
	     const struct json_value *name, const struct json_value *arguments)
{
	struct ask *ask = memory_get_zeroed(1, sizeof(*ask));
	struct call *call;

	ask->asker = asker;
	ask->row = row;
	ask_origin_make(&ask->origin, request->session->principal, asker->method, name,
			request->document, arguments);
	if (request->era == ERA_MODERN && !take_earlier(request, ask)) {
		free_ask(ask);
		return;
	}
	if (arguments)
		json_tree_copy(&ask->arguments, request->document, arguments);
	call = call_new(request);
	call->ask = ask;
	call->end_ask = end_ask;
	call->is_plain = !asker->is_tool;
	if (ask_count(call, ask->arguments.bytes + ask->inputs.bytes + ask->state.tree.bytes))
		ask_resume(call);
	else
		call_fail(call, "Nothing was done: too many calls wait for the client's answers. "
				"Answer or cancel them, and call again.");
}

const void *ask_row(const struct call *call)
{
	return call->ask->row;
}

bool call_can_ask(const struct call *call, enum ask_kind kind)
{
	return (call->abilities & kinds[kind].ability) != 0;
}

/* Look for an answer in this request and in earlier rounds of it. */
static bool find_answer(struct ask *ask, struct question *question)
{
	struct ask_input *input = &question->input;

	input->document = &ask->inputs.document;
	input->value = json_member(input->document, json_top(input->document), question->key);
	if (!input->value) {
		input->document = &ask->state.tree.document;
		input->value = json_member(input->document, ask->state.inputs, question->key);
	}
	question->is_answered =
		input->value && ask_fits(question->kind, input->document, input->value);
	if (input->value && !question->is_answered)
		ask->misfit = question->key;
	return question->is_answered;
}

static void open_question(struct call *call, struct question *question, const struct buffer *params)
{
	struct ask *ask = call->ask;

	if (!call_can_ask(call, question->kind))
		ask->missing |= kinds[question->kind].ability;
	if (question->is_open)
		return;
	question->is_open = true;
	if (params)
		buffer_append(&question->params, params->bytes, params->size);
	if (++ask->open_count > ASK_QUESTIONS_MAX)
		bug("too many questions at once");
}

/* Find the question `key`, or add it. */
static struct question *question_of(struct ask *ask, const char *key, enum ask_kind kind)
{
	struct question *question = ask_find(ask, key, strlen(key));
	struct question **link = &ask->questions;

	if (!question) {
		while (*link)
			link = &(*link)->next;
		*link = question = memory_get_zeroed(1, sizeof(*question));
		question->kind = kind;
		question->key = memory_text(key, strlen(key));
	}
	if (question->kind != kind)
		bug("another question under the same key");
	return question;
}

const struct ask_input *call_answer(struct call *call, const char *key, enum ask_kind kind)
{
	struct question *question = question_of(call->ask, key, kind);

	return question->is_answered || find_answer(call->ask, question) ? &question->input : NULL;
}

const struct ask_input *call_ask(struct call *call, const char *key, enum ask_kind kind,
				 const struct buffer *params)
{
	const struct ask_input *input = call_answer(call, key, kind);

	if (!input)
		open_question(call, question_of(call->ask, key, kind), params);
	return input;
}

void ask_put_requests(struct json_writer *writer, const char *key, const struct call *call)
{
	json_open_object(writer, key);
	for (struct question *q = call->ask->questions; q; q = q->next) {
		if (!q->is_open)
			continue;
		json_open_object(writer, q->key);
		json_put_text(writer, "method", kinds[q->kind].method);
		if (q->params.size > 0)
			json_put_raw(writer, "params", q->params.bytes, q->params.size);
		json_close_object(writer);
	}
	json_close_object(writer);
}

/* Legacy era: send requests of ours, which the client answers while the call is in flight. */
static void send_requests(struct call *call)
{
	char id[ASK_ID_ROOM];

	for (struct question *q = call->ask->questions; q; q = q->next) {
		struct buffer line = { 0 };
		struct json_writer writer = { .out = &line };

		if (!q->is_open)
			continue;
		q->number = ++call->session->last_question;
		(void)snprintf(id, sizeof(id), ASK_ID_FORMAT, q->number);
		message_put_request(&writer, id, kinds[q->kind].method,
				    q->params.size ? &q->params : NULL);
		exchange_say(call->exchange, &line);
		buffer_done(&line);
	}
}

static void put_answers(struct json_writer *writer, const struct ask *ask)
{
	json_open_object(writer, NULL);
	for (struct question *q = ask->questions; q; q = q->next) {
		if (q->is_answered && q->input.value)
			json_put_value(writer, q->key, q->input.document, q->input.value);
	}
	json_close_object(writer);
}

/* Modern era: answer the request with the questions and the sealed state. */
static void answer_requests(struct call *call)
{
	struct ask *ask = call->ask;
	struct buffer inputs = { 0 }, state = { 0 };
	struct json_writer writer = { .out = &inputs };
	struct answer answer;

	put_answers(&writer, ask);
	if (inputs.size > ASK_INPUTS_MAX) {
		call_fail(call, "Nothing was done: the answers are too long. Call again, and "
				"answer more briefly.");
	} else {
		ask_state_close(ask_state_key(call->session->host), &ask->origin, clock_steady_ms(),
				&ask->state, &inputs, &state);
		call_open_typed(call, &answer, "input_required");
		ask_put_requests(&answer.writer, "inputRequests", call);
		json_put_string(&answer.writer, "requestState", state.bytes, state.size);
		call_close_result(call, &answer);
	}
	buffer_done(&inputs);
	buffer_done(&state);
}

static void refuse_answer(struct call *call, const char *key)
{
	struct buffer text = { 0 };

	buffer_format(&text, "Invalid params: inputResponses.%s: " ASK_MISFIT, key);
	call_refuse(call, RPC_INVALID_PARAMS, text.bytes, NULL);
	buffer_done(&text);
}

void call_await(struct call *call)
{
	struct ask *ask = call->ask;

	if (ask->missing)
		call_refuse_abilities(call, ask->missing);
	else if (ask->misfit)
		refuse_answer(call, ask->misfit);
	else if (ask->open_count == 0)
		bug("a call that awaits nothing");
	else if (++ask->state.round > ASK_ROUNDS_MAX)
		call_fail(call, "Nothing was done: eight rounds of answers from the client were "
				"insufficient.");
	else if (call->asked)
		call->asked(call);
	else if (call->era == ERA_LEGACY)
		send_requests(call);
	else
		answer_requests(call);
}

void call_keep(struct call *call, const void *bytes, size_t size)
{
	struct buffer *kept = &call->ask->state.kept;

	if (size > ASK_KEPT_MAX)
		bug("more is kept than the client can carry");
	kept->size = 0;
	buffer_append(kept, bytes, size);
}

const struct buffer *call_kept(const struct call *call)
{
	return &call->ask->state.kept;
}

void call_refuse_abilities(struct call *call, unsigned int missing)
{
	struct buffer text = { 0 }, data = { 0 };

	ability_put_missing(missing, &text, &data);
	if (call->era == ERA_MODERN)
		call_refuse(call, RPC_CAPABILITY_MISSING, text.bytes, &data);
	else
		call_fail(call, "%s", text.bytes);
	buffer_done(&text);
	buffer_done(&data);
}

/* --- answers -------------------------------------------------------------------------------- */

static void close_question(struct call *call, struct question *question)
{
	question->input = (struct ask_input){ .document = &question->answer.document,
					      .value = json_top(&question->answer.document),
					      .problem = question->problem.bytes };
	question->is_answered = true;
	question->is_open = false;
	question->number = 0;
	call->ask->open_count--;
}

/* Close a question with the answer, or with a problem; both are copied. */
static void ask_settle_problem(struct call *call, struct question *question, const char *problem)
{
	buffer_append(&question->problem, problem, strlen(problem) + 1);
	close_question(call, question);
}

static void ask_settle(struct call *call, struct question *question,
		       const struct json_document *document, const struct json_value *value)
{
	struct json_tree *answer = &question->answer;

	json_tree_copy(answer, document, value);
	if (answer->bytes <= ASK_ANSWER_BYTES_MAX && ask_count(call, answer->bytes)) {
		close_question(call, question);
		return;
	}
	json_tree_done(answer);
	ask_settle_problem(call, question, "the answer is too long");
}

static struct question *find_asked(struct session *session, struct json_value *id,
				   struct call **ret_call)
{
	char text[ASK_ID_ROOM];

	for (struct call *call = session->calls; call; call = call->next) {
		for (struct question *q = call->ask ? call->ask->questions : NULL; q; q = q->next) {
			if (!q->is_open || q->number == 0)
				continue;
			(void)snprintf(text, sizeof(text), ASK_ID_FORMAT, q->number);
			if (json_equals(id, text)) {
				*ret_call = call;
				return q;
			}
		}
	}
	return NULL;
}

static void describe_error(const struct json_document *document, const struct json_value *error,
			   struct buffer *problem)
{
	struct json_value *message = json_member(document, error, "message");

	buffer_append_text(problem, "the client answered with an error");
	if (json_is(message, JSON_STRING)) {
		json_decode(message);
		buffer_format(problem, ": %s",
			      text_quoted(message->text, message->size, QUOTE_BYTES));
	}
}

void ask_take_response(struct session *session, const struct json_document *document,
		       struct json_value *value)
{
	const struct json_value *result = json_member(document, value, "result");
	struct buffer problem = { 0 };
	struct question *question;
	struct call *call = NULL;

	question = find_asked(session, json_member(document, value, "id"), &call);
	if (!question)
		return;
	if (result && ask_fits(question->kind, document, result)) {
		ask_settle(call, question, document, result);
	} else if (result) {
		ask_settle_problem(call, question, ASK_MISFIT);
	} else {
		describe_error(document, json_member(document, value, "error"), &problem);
		ask_settle_problem(call, question, problem.bytes);
		buffer_done(&problem);
	}
	if (!ask_is_open(call))
		ask_resume(call);
}

const char *ask_take_inputs(struct call *call, const struct json_document *document,
			    const struct json_value *inputs)
{
	struct question *question;

	for (struct json_value *v = json_first(document, inputs); v; v = json_next(document, v)) {
		question = ask_find(call->ask, v->key, v->key_size);
		if (question && question->is_open && !ask_fits(question->kind, document, v))
			return question->key;
	}
	for (struct json_value *v = json_first(document, inputs); v; v = json_next(document, v)) {
		question = ask_find(call->ask, v->key, v->key_size);
		if (question && question->is_open)
			ask_settle(call, question, document, v);
	}
	return NULL;
}

enum ask_reply ask_reply(const struct ask_input *input)
{
	struct json_value *action;

	if (!input->value)
		return ASK_FAILED;
	action = json_member(input->document, input->value, "action");
	if (json_equals(action, "accept"))
		return ASK_ACCEPTED;
	return json_equals(action, "decline") ? ASK_DECLINED : ASK_DISMISSED;
}

struct json_value *ask_accepted(const struct ask_input *input)
{
	struct json_value *content;

	if (ask_reply(input) != ASK_ACCEPTED)
		return NULL;
	content = json_member(input->document, input->value, "content");
	return json_is(content, JSON_OBJECT) ? content : NULL;
}
