/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tool_run.h"

#include <string.h>

#include "common/fd.h"
#include "mcp/call.h"
#include "memory.h"
#include "text.h"

/* What fails to start when a command line does. */
#define SHELL_LABEL "the profile's shell"

/* NUL-terminated strings one after the other, in a message's fixed room. */
struct packed {
	uint8_t *bytes;
	uint32_t *size;
	uint32_t room;
};

/* The tables' bounds are the message's bounds, so what was checked fits. */
static void pack(const struct packed *packed, const char *text, size_t size, char end)
{
	if (size + 1 > packed->room - *packed->size)
		bug("checked arguments do not fit");
	memcpy(packed->bytes + *packed->size, text, size);
	packed->bytes[*packed->size + size] = (uint8_t)end;
	*packed->size += (uint32_t)size + 1;
}

static void pack_list(const struct packed *packed, const struct json_document *document,
		      const struct json_value *list)
{
	for (struct json_value *v = json_first(document, list); v; v = json_next(document, v))
		pack(packed, v->text, v->size, '\0');
}

static void pack_map(const struct packed *packed, const struct json_document *document,
		     const struct json_value *map)
{
	for (struct json_value *v = json_first(document, map); v; v = json_next(document, v)) {
		pack(packed, v->key, v->key_size, '=');
		pack(packed, v->text, v->size, '\0');
	}
}

/* A checked string into a fixed room; its table's bound is below the room. */
static void copy_text(char *room, size_t room_size, const struct json_value *value)
{
	if (value->size >= room_size)
		bug("a checked string does not fit");
	memcpy(room, value->text, value->size);
	room[value->size] = '\0';
}

static void set_label(char room[LABEL_TEXT_MAX], const char *text, size_t size)
{
	struct buffer quoted = { 0 };

	text_quote(&quoted, text, size, LABEL_TEXT_MAX - 8);
	memcpy(room, quoted.bytes, quoted.size);
	room[quoted.size] = '\0';
	buffer_done(&quoted);
}

static uint32_t milliseconds(const struct json_value *value)
{
	int64_t number = 0; /* the profile's default */

	if (value && !json_integer(value, &number))
		bug("a checked integer is none");
	return (uint32_t)number;
}

static void set_profile(struct call *call, const struct json_value *value, char room[IPC_NAME_MAX])
{
	if (value)
		copy_text(room, IPC_NAME_MAX, value);
	else
		memcpy(room, call->session->posture.profile, IPC_NAME_MAX);
	set_label(call->label.profile, room, strlen(room));
}

static void set_input(struct execution_order *order, const struct json_value *value)
{
	if (value) {
		order->input = value->text;
		order->input_size = value->size;
	}
}

static void fail_with(struct call *call, const char *text)
{
	struct buffer problem = { 0 };

	buffer_append_text(&problem, text);
	call_fail(call, &problem);
	buffer_done(&problem);
}

/* Names are checked for length and NUL; an empty one is no name. */
static bool is_empty(const struct json_value *value)
{
	return value && value->size == 0;
}

static const char *check_command(struct json_value *const *values)
{
	const struct json_value *argv = values[RUN_COMMAND_ARGV];

	if (!values[RUN_COMMAND_COMMAND] && !argv)
		return "run_command needs `command` (a command line for the shell) or `argv` (a "
		       "program and its arguments); neither was given.";
	if (values[RUN_COMMAND_COMMAND] && argv)
		return "run_command takes `command` or `argv`, not both. Give one of them.";
	if (argv && argv->count == 0)
		return "The argument `argv` is empty, but must begin with the program to run.";
	if (is_empty(values[RUN_COMMAND_PROFILE]))
		return "The argument `profile` is empty. Leave it out for the default profile.";
	if (is_empty(values[RUN_COMMAND_CWD]))
		return "The argument `cwd` is empty. Leave it out to start in /workspace.";
	return NULL;
}

static void fill_command(struct call *call, const struct json_document *document,
			 struct json_value *const *values, struct ipc_execution_start *start)
{
	const struct packed argv = { start->argv, &start->argv_size, IPC_ARGV_MAX };
	const struct packed environment = { start->environment, &start->environment_size,
					    IPC_ENVIRONMENT_MAX };
	const struct json_value *command = values[RUN_COMMAND_COMMAND];
	const struct json_value *program = json_first(document, values[RUN_COMMAND_ARGV]);

	start->timeout_ms = milliseconds(values[RUN_COMMAND_TIMEOUT]);
	set_profile(call, values[RUN_COMMAND_PROFILE], start->profile);
	if (values[RUN_COMMAND_CWD]) {
		copy_text(start->cwd, sizeof(start->cwd), values[RUN_COMMAND_CWD]);
		set_label(call->label.cwd, start->cwd, strlen(start->cwd));
	}
	if (command) {
		start->use_shell = 1;
		pack(&argv, command->text, command->size, '\0');
		set_label(call->label.subject, SHELL_LABEL, strlen(SHELL_LABEL));
	} else {
		pack_list(&argv, document, values[RUN_COMMAND_ARGV]);
		set_label(call->label.subject, program->text, program->size);
	}
	pack_map(&environment, document, values[RUN_COMMAND_ENV]);
}

void tool_run_command(struct call *call, const struct json_document *document,
		      struct json_value *const *values)
{
	static struct ipc_execution_start start; /* too large for the stack; one thread */
	struct execution_order order = { .command = &start, .code_fd = -1 };
	const char *problem = check_command(values);

	if (problem) {
		fail_with(call, problem);
		return;
	}
	memset(&start, 0, sizeof(start));
	fill_command(call, document, values, &start);
	set_input(&order, values[RUN_COMMAND_STDIN]);
	call_execute(call, &order);
}

static const char *check_code(struct json_value *const *values)
{
	if (is_empty(values[RUN_CODE_LANGUAGE]))
		return "The argument `language` is empty. Name the language that `code` is in.";
	if (is_empty(values[RUN_CODE_PROFILE]))
		return "The argument `profile` is empty. Leave it out for the default profile.";
	return NULL;
}

void tool_run_code(struct call *call, const struct json_document *document,
		   struct json_value *const *values)
{
	static struct ipc_code_start start; /* too large for the stack; one thread */
	const struct packed argv = { start.argv, &start.argv_size, IPC_ARGV_MAX };
	const struct json_value *language = values[RUN_CODE_LANGUAGE];
	const struct json_value *code = values[RUN_CODE_CODE];
	struct execution_order order = { .code = &start };
	const char *problem = check_code(values);

	if (problem) {
		fail_with(call, problem);
		return;
	}
	memset(&start, 0, sizeof(start));
	start.timeout_ms = milliseconds(values[RUN_CODE_TIMEOUT]);
	set_profile(call, values[RUN_CODE_PROFILE], start.profile);
	copy_text(start.language, sizeof(start.language), language);
	set_label(call->label.subject, language->text, language->size);
	pack_list(&argv, document, values[RUN_CODE_ARGS]);
	set_input(&order, values[RUN_CODE_STDIN]);
	order.code_fd = fd_sealed_from_bytes("code", code->text, code->size);
	if (order.code_fd < 0)
		fail_with(call,
			  "There is no memory for the code. Nothing was run. Wait a moment and "
			  "call again.");
	else
		call_execute(call, &order);
}
