/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/asking/choice.h"

#include "frontend/json_write.h"

/* The member of the user's form. */
#define ANSWER_KEY "answer"

static bool is_offered(const struct choice *choice, unsigned int answer)
{
	return (choice->offered >> answer & 1) != 0;
}

/* Put the title with the number of answers, because Claude Code shows only the default at first. */
static void put_title(struct json_writer *writer, const struct choice *choice)
{
	struct buffer text = { 0 };

	buffer_format(&text, "Choose 1 of %d", __builtin_popcount(choice->offered));
	json_put_string(writer, "title", text.bytes, text.size);
	buffer_done(&text);
}

static void put_form(struct json_writer *writer, const struct choice *choice, const char *help)
{
	json_open_object(writer, "requestedSchema");
	json_put_text(writer, "type", "object");
	json_open_object(writer, "properties");
	json_open_object(writer, ANSWER_KEY);
	json_put_text(writer, "type", "string");
	put_title(writer, choice);
	json_put_text(writer, "description", help);
	json_open_array(writer, "enum");
	for (unsigned int i = 0; i < choice->count; i++) {
		if (is_offered(choice, i))
			json_put_text(writer, NULL, choice->answers[i]);
	}
	json_close_array(writer);
	json_put_text(writer, "default", choice->answers[0]);
	json_close_object(writer);
	json_close_object(writer);
	json_open_array(writer, "required");
	json_put_text(writer, NULL, ANSWER_KEY);
	json_close_array(writer);
	json_close_object(writer);
}

void choice_put_question(const struct choice *choice, const struct buffer *message,
			 const char *help, struct buffer *params)
{
	struct json_writer writer = { .out = params };

	json_open_object(&writer, NULL);
	json_put_string(&writer, "message", message->bytes, message->size);
	put_form(&writer, choice, help);
	json_close_object(&writer);
}

static enum choice_end read_form(const struct choice *choice, const struct ask_input *input,
				 unsigned int *ret_answer, struct buffer *ret_problem)
{
	struct json_value *content = ask_accepted(input);
	struct json_value *value =
		content ? json_member(input->document, content, ANSWER_KEY) : NULL;

	for (unsigned int i = 0; i < choice->count; i++) {
		if (!is_offered(choice, i) || !json_equals(value, choice->answers[i]))
			continue;
		*ret_answer = i;
		if (i > 0)
			return CHOICE_MADE;
		buffer_format(ret_problem, "The user chose \"%s\".", choice->answers[0]);
		return CHOICE_REFUSED;
	}
	buffer_append_text(ret_problem,
			   "The client accepted without one of the offered answers, which is no "
			   "consent: perhaps it cannot show a choice.");
	return CHOICE_MISSING;
}

enum choice_end choice_read(const struct choice *choice, const struct ask_input *input,
			    unsigned int *ret_answer, struct buffer *ret_problem)
{
	*ret_answer = 0;
	switch (ask_reply(input)) {
	case ASK_ACCEPTED:
		return read_form(choice, input, ret_answer, ret_problem);
	case ASK_DECLINED:
		buffer_append_text(ret_problem, "The user refused (\"decline\").");
		return CHOICE_REFUSED;
	case ASK_DISMISSED:
		buffer_append_text(ret_problem, "Nobody answered (\"cancel\"); ask the user.");
		break;
	case ASK_FAILED:
		buffer_append_text(ret_problem, "The client could not ask its user: ");
		buffer_append_text(ret_problem, input->problem);
		buffer_append_text(ret_problem, ".");
		break;
	}
	return CHOICE_MISSING;
}
