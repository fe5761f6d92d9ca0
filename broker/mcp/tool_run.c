/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tool_run.h"

#include <string.h>

#include "common/fd.h"
#include "common/limits.h"
#include "mcp/call.h"
#include "memory.h"
#include "text.h"

/* Places of the parameters in the tools' tables. */
enum run_command_param {
	RUN_COMMAND_COMMAND,
	RUN_COMMAND_ARGV,
	RUN_COMMAND_CWD,
	RUN_COMMAND_ENV,
	RUN_COMMAND_STDIN,
	RUN_COMMAND_TIMEOUT,
	RUN_COMMAND_PROFILE,
	RUN_COMMAND_PARAMS,
};

enum run_code_param {
	RUN_CODE_LANGUAGE,
	RUN_CODE_CODE,
	RUN_CODE_STDIN,
	RUN_CODE_ARGS,
	RUN_CODE_TIMEOUT,
	RUN_CODE_PROFILE,
	RUN_CODE_PARAMS,
};

/* Room for a stdin: as long as a line lets it be. */
#define INPUT_MAX (10U << 20)

#define TEXT_PROFILE                                                                               \
	"Name of the policy to run under; leave it out unless the user asked for one. Profiles "   \
	"here: "
#define TEXT_STDIN "Text given to the program's standard input; without it the input is empty."
#define TEXT_TIMEOUT                                                                               \
	"Milliseconds after which every process of the call is killed. The profile's own limit "   \
	"applies if this is left out, and also if it is longer."

static const struct tool_param command_params[RUN_COMMAND_PARAMS] = {
	[RUN_COMMAND_COMMAND] = { "command", PARAM_TEXT, false, NAMES_NONE, IPC_ARGV_MAX - 1,
				  "Command line for the shell (bash). Give either this or argv." },
	[RUN_COMMAND_ARGV] = { "argv", PARAM_LIST, false, NAMES_NONE, IPC_ARGV_MAX,
			       "A program and its arguments, run without a shell and without "
			       "any quoting. Give either this or command." },
	[RUN_COMMAND_CWD] = { "cwd", PARAM_TEXT, false, NAMES_NONE, IPC_PATH_MAX - 1,
			      "Directory inside the sandbox to start in, as an absolute path; "
			      "/workspace if left out." },
	[RUN_COMMAND_ENV] = { "env", PARAM_MAP, false, NAMES_NONE, IPC_ENVIRONMENT_MAX,
			      "Environment variables to add to the sandbox's own few." },
	[RUN_COMMAND_STDIN] = { "stdin", PARAM_BYTES, false, NAMES_NONE, INPUT_MAX, TEXT_STDIN },
	[RUN_COMMAND_TIMEOUT] = { "timeout_ms", PARAM_MILLISECONDS, false, NAMES_NONE, 0,
				  TEXT_TIMEOUT },
	[RUN_COMMAND_PROFILE] = { "profile", PARAM_TEXT, false, NAMES_PROFILES, IPC_NAME_MAX - 1,
				  TEXT_PROFILE },
};

static const struct tool_param code_params[RUN_CODE_PARAMS] = {
	[RUN_CODE_LANGUAGE] = { "language", PARAM_TEXT, true, NAMES_LANGUAGES, IPC_NAME_MAX - 1,
				"The language that `code` is written in. Installed here: " },
	[RUN_CODE_CODE] = { "code", PARAM_TEXT, true, NAMES_NONE, CODE_BYTES_MAX,
			    "The whole source text of the program. Print what you want to see." },
	[RUN_CODE_STDIN] = { "stdin", PARAM_BYTES, false, NAMES_NONE, INPUT_MAX, TEXT_STDIN },
	[RUN_CODE_ARGS] = { "args", PARAM_LIST, false, NAMES_NONE, IPC_ARGV_MAX,
			    "Arguments for the program, as it sees them in argv." },
	[RUN_CODE_TIMEOUT] = { "timeout_ms", PARAM_MILLISECONDS, false, NAMES_NONE, 0,
			       TEXT_TIMEOUT },
	[RUN_CODE_PROFILE] = { "profile", PARAM_TEXT, false, NAMES_PROFILES, IPC_NAME_MAX - 1,
			       TEXT_PROFILE },
};

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
		memcpy(room, call->session->host->posture.profile, IPC_NAME_MAX);
	set_label(call->label.profile, room, strlen(room));
}

static void set_input(struct execution_order *order, const struct json_value *value)
{
	if (value) {
		order->input = value->text;
		order->input_size = value->size;
	}
}

/* Names are checked for length and NUL; an empty one is no name. */
static bool is_empty(const struct json_value *value)
{
	return value && value->size == 0;
}

/* One text block, and what the result says about itself. */
static void answer_execution(struct call *call, const struct result *result,
			     const struct execution_outcome *outcome)
{
	struct answer answer;

	call_open_result(call, &answer);
	call_put_text(&answer, &result->text, result->is_error);
	if (outcome->done) {
		call_open_meta(call, &answer);
		result_put_meta(&answer.writer, result, &call->label, &call->session->host->posture,
				outcome);
		call_close_meta(&answer);
	}
	call_close_result(call, &answer);
}

static void give_up_execution(struct call *call)
{
	executions_cancel(call->session->host->executions, call->execution);
}

static void on_finished(void *owner, const struct execution_outcome *outcome)
{
	struct call *call = owner;
	struct result result = { .is_error = false };

	call->execution = NULL;
	if (outcome->refused)
		result_of_refusal(&call->label, outcome->refused, &result);
	else
		result_of_execution(&call->label, outcome, &result);
	answer_execution(call, &result, outcome);
	buffer_done(&result.text);
}

static const char *const start_problems[] = {
	[EXECUTION_TOO_MANY] = "Too many executions are running: 1024 at once is the most. Nothing "
			       "was run. Wait until one ends, or cancel one, and call again.",
	[EXECUTION_INPUT_FULL] =
		"The `stdin` of all running calls together is limited to 12 MiB. Nothing was "
		"run. Wait until one ends, or pass less, and call again.",
	[EXECUTION_QUEUE_FULL] = "Too many requests are waiting to be started. Nothing was run. "
				 "Wait a moment and call again.",
	[EXECUTION_TOO_LONG] = "The arguments and environment are too long for one execution. "
			       "Nothing was run. Pass large data in `stdin`, or shorten it.",
	[EXECUTION_LOST] = "The supervisor cannot be reached. Nothing was run. The server ends; "
			   "have the client start it again.",
};

static void execute(struct call *call, struct execution_order *order)
{
	enum execution_start start;

	order->finished = on_finished;
	order->owner = call;
	start = executions_start(call->session->host->executions, order, &call->execution);
	if (start == EXECUTION_STARTED)
		call->cancel = give_up_execution;
	else
		call_fail_text(call, start_problems[start]);
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

static void run_command(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	static struct ipc_execution_start start; /* too large for the stack; one thread */
	struct execution_order order = { .command = &start, .code_fd = -1 };
	const char *problem = check_command(values);

	if (problem) {
		call_fail_text(call, problem);
		return;
	}
	memset(&start, 0, sizeof(start));
	fill_command(call, document, values, &start);
	set_input(&order, values[RUN_COMMAND_STDIN]);
	execute(call, &order);
}

static const char *check_code(struct json_value *const *values)
{
	if (is_empty(values[RUN_CODE_LANGUAGE]))
		return "The argument `language` is empty. Name the language that `code` is in.";
	if (is_empty(values[RUN_CODE_PROFILE]))
		return "The argument `profile` is empty. Leave it out for the default profile.";
	return NULL;
}

static void run_code(struct call *call, const struct json_document *document,
		     struct json_value *const *values)
{
	static struct ipc_code_start start; /* too large for the stack; one thread */
	const struct packed argv = { start.argv, &start.argv_size, IPC_ARGV_MAX };
	const struct json_value *language = values[RUN_CODE_LANGUAGE];
	const struct json_value *code = values[RUN_CODE_CODE];
	struct execution_order order = { .code = &start };
	const char *problem = check_code(values);

	if (problem) {
		call_fail_text(call, problem);
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
		call_fail_text(
			call, "There is no memory for the code. Nothing was run. Wait a moment and "
			      "call again.");
	else
		execute(call, &order);
}

/* destructiveHint and openWorldHint are false because a sandbox can neither touch the user's files
 * nor reach the network. */
const struct tool tool_run_command = {
	.name = "run_command",
	.title = "Run a command in a sandbox",
	.description =
		"Run a shell command, or with `argv` one program without a shell, in a fresh "
		"sandbox on the user's Linux machine and return its output. The command "
		"starts in an empty writable /workspace; the sandbox has the machine's "
		"installed programs, read-only, but no network and none of the user's files, "
		"and it vanishes with all its files and processes when the call ends, so do "
		"dependent steps in one command (`a && b`, here-documents). The result is "
		"the standard output, then the standard error under [stderr] if there is "
		"any, then one line such as [exit 0 · 0.02 s]; a non-zero exit code is a "
		"result, not an error of this tool. Output beyond about 9,500 characters is "
		"cut in the middle, so filter it in the command (head, tail, grep) when you "
		"expect more.",
	.params = command_params,
	.param_count = RUN_COMMAND_PARAMS,
	.handler = run_command,
};

const struct tool tool_run_code = {
	.name = "run_code",
	.title = "Run code in a sandbox",
	.description =
		"Run a program given as source text in a fresh sandbox on the user's Linux "
		"machine and return what it prints. Use it to compute, to parse or transform "
		"data, and to check whether code works; unlike with run_command, no shell "
		"quoting is needed. The program sees the language's standard library and the "
		"packages installed on the machine, an empty writable /workspace as its "
		"current directory, no network and none of the user's files; everything "
		"vanishes when the call ends. The result has the same form as run_command's: "
		"output, [stderr] if any, and a last line with the exit code; an exception "
		"in the program is a result, not an error of this tool.",
	.params = code_params,
	.param_count = RUN_CODE_PARAMS,
	.handler = run_code,
};
