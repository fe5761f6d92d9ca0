/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers: their form, and their way from the client's message to the question.
 */
#include <stdio.h>
#include <string.h>

#include "io/text.h"
#include "mcp/asking/ask_parts.h"

static const struct {
	const char *method;
	enum ability ability;
} kinds[] = {
	[ASK_ELICITATION] = { "elicitation/create", ABILITY_ELICITATION },
	[ASK_SAMPLING] = { "sampling/createMessage", ABILITY_SAMPLING },
	[ASK_ROOTS] = { "roots/list", ABILITY_ROOTS },
};

enum ability ask_ability(enum ask_kind kind)
{
	return kinds[kind].ability;
}

const char *ask_method(enum ask_kind kind)
{
	return kinds[kind].method;
}

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

bool ask_fits(enum ask_kind kind, const struct json_document *document,
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

struct question *ask_find(const struct ask *ask, const char *key, size_t size)
{
	struct question *question = ask->questions;

	while (question && (strlen(question->key) != size || memcmp(question->key, key, size) != 0))
		question = question->next;
	return question;
}

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
		buffer_append_text(problem, ": ");
		text_quote(problem, message->text, message->size, QUOTE_BYTES);
	}
	buffer_append(problem, "", 1);
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
