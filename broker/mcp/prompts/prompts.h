/* SPDX-License-Identifier: Apache-2.0
 *
 * The prompts: texts that people choose to begin with, one row each, with a table of arguments
 * that is both the published schema and the check of values.
 */
#ifndef BROKER_MCP_PROMPTS_PROMPTS_H
#define BROKER_MCP_PROMPTS_PROMPTS_H

#include "mcp/core/call.h"
#include "mcp/prompts/completion.h"

#define PROMPT_ARGUMENTS_MAX 4
/* Bound of one argument's value. */
#define PROMPT_VALUE_BYTES_MAX 65536U

struct prompt_argument {
	const char *name;
	const char *description;
	bool is_required;
	enum completion_source source;
};

/* The rows of a prompt's arguments, and their number. */
#define PROMPT_ARGUMENTS(rows)                                                                     \
	.arguments = (rows), .argument_count = sizeof(rows) / sizeof((rows)[0])

struct prompt {
	const char *name;
	const char *title;
	const char *description;
	const struct prompt_argument *arguments;
	size_t argument_count;
	bool may_ask; /* see ask.h */
	/* Answer with a result of messages. Arguments have been checked; `values` has one decoded
	 * string per argument, NULL: not given. */
	void (*get)(struct call *call, const struct prompt *prompt,
		    const struct json_document *document, struct json_value *const *values);
};

/* The product's prompts (prompt_start.c). */
extern const struct prompt prompt_try_code, prompt_compare_commands, prompt_explore_sandbox;

/* Answer prompts/list and prompts/get. */
void prompts_list(const struct request *request);
void prompts_get(const struct request *request);

/* Find a prompt by name; NULL: there is none. */
const struct prompt *prompts_find(const struct session *session, struct json_value *name);

/* Return the index of an argument by its name, or -1. */
int prompts_find_argument(const struct prompt *prompt, struct json_value *name);

/* Answer with one text for the model, as the user's, and end the call. */
void prompts_answer_text(struct call *call, const struct prompt *prompt, const struct buffer *text);

#endif
