/* SPDX-License-Identifier: Apache-2.0 */
#include "asking.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/asking/ask.h"
#include "mcp/asking/tasks.h"
#include "mcp/tools/tools.h"

struct call *asking_hung;
int asking_given_up;

static const struct ask_input *ask_form(struct call *call, const char *key, const char *question)
{
	struct buffer params = { 0 };
	struct json_writer writer = { .out = &params };
	const struct ask_input *input;

	json_open_object(&writer, NULL);
	json_put_text(&writer, "message", question);
	json_put_raw(&writer, "requestedSchema", "{\"type\":\"object\",\"properties\":{}}", 33);
	json_close_object(&writer);
	input = call_ask(call, key, ASK_ELICITATION, &params);
	buffer_done(&params);
	return input;
}

static void append_input(struct buffer *text, const struct ask_input *input)
{
	struct json_writer writer = { .out = text };

	if (!input->value)
		buffer_format(text, "problem: %s", input->problem);
	else if (ask_accepted(input))
		json_put_value(&writer, NULL, input->document, ask_accepted(input));
	else
		json_put_value(&writer, NULL, input->document, input->value);
	buffer_append(text, ";", 1);
}

static void finish(struct call *call, const struct ask_input *const *inputs, size_t count)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "got ");
	for (size_t i = 0; i < count; i++)
		append_input(&text, inputs[i]);
	call_answer_text(call, &text, false);
	buffer_done(&text);
}

static void ask_name(struct call *call, const struct json_document *document,
		     struct json_value *const *values)
{
	const struct ask_input *name = ask_form(call, "user_name", "Who?");

	(void)document;
	(void)values;
	if (name)
		finish(call, &name, 1);
	else
		call_await(call);
}

static void ask_three(struct call *call, const struct json_document *document,
		      struct json_value *const *values)
{
	struct buffer params = { 0 };
	const struct ask_input *inputs[3];

	(void)document;
	(void)values;
	buffer_append_text(&params, "{\"messages\":[],\"maxTokens\":5}");
	inputs[0] = ask_form(call, "user_name", "Who?");
	inputs[1] = call_ask(call, "greeting", ASK_SAMPLING, &params);
	inputs[2] = call_ask(call, "client_roots", ASK_ROOTS, NULL);
	buffer_done(&params);
	if (inputs[0] && inputs[1] && inputs[2])
		finish(call, inputs, 3);
	else
		call_await(call);
}

/* Two rounds; the beginning of the argument is kept between them. */
static void ask_steps(struct call *call, const struct json_document *document,
		      struct json_value *const *values)
{
	const struct ask_input *inputs[2] = { ask_form(call, "step1", "One?") };
	const size_t size = values[0]->size < 16 ? values[0]->size : 16;

	(void)document;
	if (inputs[0])
		inputs[1] = ask_form(call, "step2", "Two?");
	if (inputs[0] && inputs[1]) {
		if (call_kept(call)->size != size)
			call_fail(call, "nothing was kept");
		else if (size > 0 && memcmp(call_kept(call)->bytes, values[0]->text, size) != 0)
			call_fail(call, "something else was kept");
		else
			finish(call, inputs, 2);
		return;
	}
	call_keep(call, values[0]->text, size);
	call_await(call);
}

static void ask_forever(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	char key[16];

	(void)document;
	(void)values;
	for (int i = 0;; i++) {
		(void)snprintf(key, sizeof(key), "q%d", i);
		if (!ask_form(call, key, "Again?"))
			break;
	}
	call_await(call);
}

static void ask_in_task(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	const struct ask_input *inputs[2];

	(void)document;
	(void)values;
	if (!call_become_task(call, "0123456789abcdefghjkmnpqrs-2")) {
		call_fail(call, "no task");
		return;
	}
	inputs[0] = ask_form(call, "first", "One?");
	inputs[1] = ask_form(call, "second", "Two?");
	if (inputs[0] && inputs[1])
		finish(call, inputs, 2);
	else
		call_await(call);
}

static void give_up(struct call *call)
{
	if (call == asking_hung)
		asking_hung = NULL;
	asking_given_up++;
}

static void hang(struct call *call, const struct json_document *document,
		 struct json_value *const *values)
{
	(void)document;
	(void)values;
	asking_hung = call;
	call->cancel = give_up;
	call_say_progress(call, 0.5, 1, NULL);
	(void)call_become_task(call, "0123456789abcdefghjkmnpqrs-1");
}

static void instant_task(struct call *call, const struct json_document *document,
			 struct json_value *const *values)
{
	(void)document;
	(void)values;
	if (call_become_task(call, NULL))
		call_fail(call, "the tool's own error");
	else
		call_fail(call, "no room");
}

static void failing_task(struct call *call, const struct json_document *document,
			 struct json_value *const *values)
{
	(void)document;
	(void)values;
	(void)call_become_task(call, NULL);
	call_refuse(call, RPC_INVALID_REQUEST, "not today", NULL);
}

static const struct tool_param text_param = { .name = "text",
					      .kind = PARAM_BYTES,
					      .is_required = true,
					      .bytes_max = 2000000,
					      .description = "Some text." };

#define TOOL(function, ...)                                                                        \
	{                                                                                          \
		.name = #function, .title = #function, .description = "A test.",                   \
		.handler = function, __VA_ARGS__                                                   \
	}

static const struct tool tool_rows[] = {
	TOOL(ask_name, .may_ask = true),
	TOOL(ask_three, .may_ask = true),
	TOOL(ask_steps, .may_ask = true, .params = &text_param, .param_count = 1),
	TOOL(ask_forever, .may_ask = true),
	TOOL(ask_in_task, .may_ask = true, .needs = ABILITY_TASKS),
	TOOL(hang, .needs = 0),
	TOOL(instant_task, .needs = 0),
	TOOL(failing_task, .needs = ABILITY_TASKS | ABILITY_SAMPLING),
};

static const struct tool *const tools[] = { &tool_rows[0], &tool_rows[1], &tool_rows[2],
					    &tool_rows[3], &tool_rows[4], &tool_rows[5],
					    &tool_rows[6], &tool_rows[7], NULL };

static const struct prompt *const prompts[] = { NULL };
static const struct resource_provider *const resources[] = { NULL };

const struct catalog catalog = { .tools = tools, .prompts = prompts, .resources = resources };

void asking_say(struct rig *rig, const char *id, const char *capabilities, const char *tool,
		const char *more)
{
	static char line[4096];

	cr_assert(snprintf(line, sizeof(line),
			   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
			   "{\"name\":\"%s\"%s," META_START "%s" META_END "}}",
			   id, tool, more, capabilities) < (int)sizeof(line));
	rig_say(rig, line);
}

const char *asking_member(const struct rig *rig, const char *name)
{
	static char text[200000];
	char *line = strdup(rig->line);
	struct json_document document;
	struct json_value *value;

	cr_assert(line);
	text[0] = '\0';
	cr_assert_eq(json_read(&document, line, strlen(line)), JSON_OK);
	value = json_member(&document, json_member(&document, json_top(&document), "result"), name);
	if (json_is(value, JSON_STRING)) {
		json_decode(value);
		cr_assert(value->size < sizeof(text));
		memcpy(text, value->text, value->size);
		text[value->size] = '\0';
	}
	json_done(&document);
	free(line);
	return text;
}
