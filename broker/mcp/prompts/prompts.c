/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/prompts/prompts.h"

#include <string.h>

#include "io/text.h"
#include "mcp/asking/ask.h"
#include "mcp/core/request.h"

static const struct prompt *const *prompt_rows(const struct session *session)
{
	return session->host->catalog->prompts;
}

static void put_argument(struct json_writer *writer, const struct prompt_argument *argument)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "name", argument->name);
	json_put_text(writer, "description", argument->description);
	json_put_bool(writer, "required", argument->is_required);
	json_close_object(writer);
}

static void put_prompt(struct json_writer *writer, const struct prompt *prompt)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "name", prompt->name);
	json_put_text(writer, "title", prompt->title);
	json_put_text(writer, "description", prompt->description);
	if (prompt->argument_count > 0) {
		json_open_array(writer, "arguments");
		for (size_t i = 0; i < prompt->argument_count; i++)
			put_argument(writer, &prompt->arguments[i]);
		json_close_array(writer);
	}
	json_close_object(writer);
}

static void put_prompts(struct page *page, const struct session *session)
{
	for (const struct prompt *const *row = prompt_rows(session); *row; row++) {
		if (page_takes(page))
			put_prompt(page->writer, *row);
	}
}

void prompts_list(const struct request *request)
{
	page_answer(request, "prompts", ANSWER_TTL_MS, put_prompts);
}

const struct prompt *prompts_find(const struct session *session, struct json_value *name)
{
	const struct prompt *const *row = prompt_rows(session);

	while (*row && !json_equals(name, (*row)->name))
		row++;
	return *row;
}

int prompts_find_argument(const struct prompt *prompt, struct json_value *name)
{
	for (size_t i = 0; i < prompt->argument_count; i++) {
		if (json_equals(name, prompt->arguments[i].name))
			return (int)i;
	}
	return -1;
}

static void refuse_unknown(const struct request *request, const struct json_value *name)
{
	const struct prompt *const *prompts = prompt_rows(request->session);
	struct buffer text = { 0 };

	buffer_format(&text, "Unknown prompt: %s. The prompts are: ",
		      text_quoted(name->text, name->size, QUOTE_BYTES));
	for (size_t i = 0; prompts[i]; i++)
		buffer_format(&text, "%s%s", i > 0 ? ", " : "", prompts[i]->name);
	request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
}

/* Report the problem of one argument, and list the valid arguments. */
static void refuse_argument(const struct request *request, const struct prompt *prompt,
			    const char *problem, const char *name, size_t size)
{
	struct buffer text = { 0 };

	buffer_format(&text, "Invalid params: %s: %s. The arguments of %s are:", problem,
		      text_quoted(name, size, QUOTE_BYTES), prompt->name);
	for (size_t i = 0; i < prompt->argument_count; i++)
		buffer_format(&text, "%s %s%s", i > 0 ? "," : "", prompt->arguments[i].name,
			      prompt->arguments[i].is_required ? " (required)" : "");
	buffer_append_text(&text, prompt->argument_count > 0 ? "" : " none");
	request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
}

static const char *check_value(const struct json_value *value, int place)
{
	if (place < 0)
		return "unknown argument";
	if (value->kind != JSON_STRING)
		return "the value must be a string";
	if (value->size > PROMPT_VALUE_BYTES_MAX)
		return "the value is longer than 65536 bytes";
	return NULL;
}

/* Return the index of the argument that a member's key names, or -1. */
static int place_of(const struct prompt *prompt, const struct json_value *member)
{
	struct json_value name = { .kind = JSON_STRING,
				   .text = member->key,
				   .size = member->key_size };

	return prompts_find_argument(prompt, &name);
}

/* Sort checked arguments (an object, or NULL) into the prompt's order. */
static void sort_arguments(const struct prompt *prompt, const struct json_document *document,
			   const struct json_value *arguments,
			   struct json_value *ret_values[PROMPT_ARGUMENTS_MAX])
{
	for (size_t i = 0; i < PROMPT_ARGUMENTS_MAX; i++)
		ret_values[i] = NULL;
	for (struct json_value *v = json_first(document, arguments); v;
	     v = json_next(document, v)) {
		json_decode(v);
		ret_values[place_of(prompt, v)] = v;
	}
}

/* Check arguments and sort them. False: the request has been refused. */
static bool take_arguments(const struct request *request, const struct prompt *prompt,
			   const struct json_value *arguments,
			   struct json_value *ret_values[PROMPT_ARGUMENTS_MAX])
{
	const struct json_document *document = request->document;

	_Static_assert(PROMPT_VALUE_BYTES_MAX == 65536, "check_value() names it");
	for (struct json_value *v = json_first(document, arguments); v;
	     v = json_next(document, v)) {
		const char *problem = check_value(v, place_of(prompt, v));

		if (problem) {
			refuse_argument(request, prompt, problem, v->key, v->key_size);
			return false;
		}
	}
	sort_arguments(prompt, document, arguments, ret_values);
	for (size_t i = 0; i < prompt->argument_count; i++) {
		const char *name = prompt->arguments[i].name;

		if (!prompt->arguments[i].is_required || (ret_values[i] && ret_values[i]->size > 0))
			continue;
		refuse_argument(request, prompt, "a required argument is missing", name,
				strlen(name));
		return false;
	}
	return true;
}

static void run_again(struct call *call, const struct json_document *document,
		      struct json_value *arguments)
{
	const struct prompt *prompt = ask_row(call);
	struct json_value *values[PROMPT_ARGUMENTS_MAX];

	sort_arguments(prompt, document, arguments, values);
	prompt->get(call, prompt, document, values);
}

static const struct asker asker = { .method = "prompts/get", .run = run_again };

void prompts_get(const struct request *request)
{
	struct json_value *name = request_string(request, "name");
	struct json_value *values[PROMPT_ARGUMENTS_MAX];
	struct json_value *arguments;
	const struct prompt *prompt;

	if (!name || !request_object(request, "arguments", &arguments))
		return;
	prompt = prompts_find(request->session, name);
	if (!prompt)
		refuse_unknown(request, name);
	else if (!take_arguments(request, prompt, arguments, values))
		return;
	else if (prompt->may_ask)
		ask_run(request, &asker, prompt, name, arguments);
	else
		prompt->get(call_new(request), prompt, request->document, values);
}

void prompts_answer_text(struct call *call, const struct prompt *prompt, const struct buffer *text)
{
	struct answer answer;
	struct json_writer *writer = &answer.writer;

	call_open_result(call, &answer);
	json_put_text(writer, "description", prompt->description);
	json_open_array(writer, "messages");
	json_open_object(writer, NULL);
	json_put_text(writer, "role", "user");
	json_put_key(writer, "content", strlen("content"));
	call_put_block(writer, text);
	json_close_object(writer);
	json_close_array(writer);
	call_close_result(call, &answer);
}
