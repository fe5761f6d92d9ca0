/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/limits.h"
#include "frontend/base64.h"
#include "frontend/profile_names.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/asking/tasks.h"
#include "mcp/core/call.h"
#include "mcp/core/sandboxes.h"
#include "mcp/core/waiting.h"
#include "mcp/tools/params.h"
#include "mcp/tools/run_sandbox.h"
#include "mcp/tools/tool_handle.h"

/* Indexes of the parameters in the tools' tables. */
enum run_command_param {
	RUN_COMMAND_COMMAND,
	RUN_COMMAND_ARGV,
	RUN_COMMAND_CWD,
	RUN_COMMAND_ENV,
	RUN_COMMAND_STDIN,
	RUN_COMMAND_INTERACTIVE,
	RUN_COMMAND_TTY,
	RUN_COMMAND_ROWS,
	RUN_COMMAND_COLUMNS,
	RUN_COMMAND_YIELD,
	RUN_COMMAND_TIMEOUT,
	RUN_COMMAND_PROFILE,
	RUN_COMMAND_SANDBOX,
	RUN_COMMAND_NETWORK,
};

enum run_code_param {
	RUN_CODE_LANGUAGE,
	RUN_CODE_CODE,
	RUN_CODE_BASE64,
	RUN_CODE_STDIN,
	RUN_CODE_ARGS,
	RUN_CODE_INTERACTIVE,
	RUN_CODE_YIELD,
	RUN_CODE_TIMEOUT,
	RUN_CODE_PROFILE,
	RUN_CODE_SANDBOX,
	RUN_CODE_NETWORK,
};

/* The base 64 of the longest code. */
#define CODE_BASE64_MAX ((CODE_BYTES_MAX + 2) / 3 * 4)

/* Default size of a terminal. */
#define TTY_ROWS_DEFAULT 24
#define TTY_COLUMNS_DEFAULT 80

static const struct tool_param command_params[] = {
	[RUN_COMMAND_COMMAND] = { .name = "command",
				  .kind = PARAM_TEXT,
				  .bytes_max = IPC_ARGV_MAX - 1,
				  .description = "Shell command line (bash), or:" },
	[RUN_COMMAND_ARGV] = { .name = "argv",
			       .kind = PARAM_LIST,
			       .bytes_max = IPC_ARGV_MAX,
			       .description = "A program and its arguments, without a shell." },
	[RUN_COMMAND_CWD] = { .name = "cwd",
			      .kind = PARAM_TEXT,
			      .bytes_max = IPC_PATH_MAX - 1,
			      .if_empty = ". Leave it out to start in /workspace.",
			      .description = "Absolute path; default /workspace." },
	[RUN_COMMAND_ENV] = { .name = "env", .kind = PARAM_MAP, .bytes_max = IPC_ENVIRONMENT_MAX },
	[RUN_COMMAND_STDIN] = ROW_STDIN("Standard input, which then ends."),
	[RUN_COMMAND_INTERACTIVE] = ROW_INTERACTIVE("Keep the input open for send_input."),
	[RUN_COMMAND_TTY] = ROW_FLAG("tty", NULL, "Run in a terminal."),
	[RUN_COMMAND_ROWS] = ROW_UINT16("tty_rows", TEXT_OF(TTY_ROWS_DEFAULT), NULL),
	[RUN_COMMAND_COLUMNS] = ROW_UINT16("tty_columns", TEXT_OF(TTY_COLUMNS_DEFAULT), NULL),
	[RUN_COMMAND_YIELD] =
		ROW_YIELD("Wait so long for the end, then return a handle; 0 for servers."),
	[RUN_COMMAND_TIMEOUT] = ROW_TIMEOUT("Kill it after so long", params_describe_timeout),
	[RUN_COMMAND_PROFILE] = ROW_PROFILE("As in create_sandbox; a `sandbox` has its own."),
	[RUN_COMMAND_SANDBOX] =
		ROW_RUN_SANDBOX("A persistent one's id or name; else an ephemeral one."),
	[RUN_COMMAND_NETWORK] = ROW_NETWORK("Without the profile's hosts; not with `sandbox`."),
};

static const struct tool_param code_params[] = {
	[RUN_CODE_LANGUAGE] = { .name = "language",
				.kind = PARAM_NAME,
				.is_required = true,
				.source = NAMES_LANGUAGES,
				.bytes_max = IPC_NAME_MAX,
				.describe = params_describe_languages },
	[RUN_CODE_CODE] = { .name = "code",
			    .kind = PARAM_TEXT,
			    .bytes_max = CODE_BYTES_MAX,
			    .description = "Whole source text; print the results. Or:" },
	[RUN_CODE_BASE64] = { .name = "code_base64",
			      .kind = PARAM_TEXT,
			      .bytes_max = CODE_BASE64_MAX,
			      .description = "A binary, such as a .wasm module." },
	[RUN_CODE_STDIN] = ROW_STDIN(NULL),
	[RUN_CODE_ARGS] = { .name = "args", .kind = PARAM_LIST, .bytes_max = IPC_ARGV_MAX },
	[RUN_CODE_INTERACTIVE] = ROW_INTERACTIVE(NULL),
	[RUN_CODE_YIELD] = ROW_YIELD(NULL),
	[RUN_CODE_TIMEOUT] = ROW_TIMEOUT(NULL, NULL),
	[RUN_CODE_PROFILE] = ROW_PROFILE(NULL),
	[RUN_CODE_SANDBOX] = ROW_RUN_SANDBOX(NULL),
	[RUN_CODE_NETWORK] = ROW_NETWORK(NULL),
};

/* The program named when a command line fails to start. */
#define SHELL_LABEL "the profile's shell"

/* NUL-terminated strings one after the other, in a message's fixed room. */
struct packed {
	uint8_t *bytes;
	uint32_t *size;
	uint32_t room;
};

/* The tables' bounds are the message's bounds, so checked values fit. */
static void pack_text(const struct packed *packed, const char *text, size_t size, char end)
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
		pack_text(packed, v->text, v->size, '\0');
}

static void pack_map(const struct packed *packed, const struct json_document *document,
		     const struct json_value *map)
{
	for (struct json_value *v = json_first(document, map); v; v = json_next(document, v)) {
		pack_text(packed, v->key, v->key_size, '=');
		pack_text(packed, v->text, v->size, '\0');
	}
}

/* The label of the call that is being taken; one thread. */
static struct execution_label label;

static void set_label(char room[LABEL_TEXT_MAX], const char *text, size_t size)
{
	(void)snprintf(room, LABEL_TEXT_MAX, "%s", text_quoted(text, size, LABEL_TEXT_MAX - 8));
}

/* Set the profile; empty if the sandbox has one. The label has that of the sandbox to come. */
static void set_profile(struct call *call, const struct json_value *value, bool has_sandbox,
			bool no_hosts, char room[IPC_NAME_MAX])
{
	const struct plan *plan = &call->session->host->plan;
	const char *name;

	if (value)
		tool_copy_text(value, room, IPC_NAME_MAX);
	else if (!has_sandbox)
		memcpy(room, call->session->host->posture.profile, IPC_NAME_MAX);
	name = no_hosts && plan->bytes ? profile_without_hosts(plan, room) : room;
	name = name ? name : room; /* the supervisor knows none either */
	set_label(label.profile, name, strlen(name));
}

static void set_input(struct execution_order *order, const struct json_value *value,
		      const struct json_value *is_interactive)
{
	order->keeps_input = tool_boolean(is_interactive);
	if (value) {
		order->input = value->text;
		order->input_size = value->size;
	}
}

/* The call has waited long enough: the execution goes on without it, and the client gets its
 * handle. */
static void yield_execution(struct waiting *waiting)
{
	const struct result_part part = result_part_all(execution_info(waiting->execution));

	(void)handle_answer(waiting->call, waiting->execution, &part, RESULT_TEXT_BYTES, false);
	free(waiting);
}

/* Answer; output that was shown whole is dropped. */
static void answer_result(struct waiting *waiting)
{
	struct execution *execution = waiting->execution;
	const struct result_part part = result_part_all(execution_info(execution));

	if (!handle_answer(waiting->call, execution, &part, RESULT_TEXT_BYTES, true))
		execution_discard(execution);
	free(waiting);
}

/* A client that polls a task needs no handle, unless it wants to write to the execution, or to have
 * it in the background. */
static bool is_task(const struct waiting *waiting, enum waiting_end end)
{
	const struct execution_info *info = execution_info(waiting->execution);

	return end == WAITING_TIME && !info->is_input_open &&
	       call_become_task(waiting->call, info->handle);
}

static void on_ended(struct waiting *waiting, enum waiting_end end);

/* Only a task's client has the handle; it may want to read the output so far. */
static void on_cancelled(struct waiting *waiting)
{
	if (call_is_task(waiting->call))
		execution_kill(waiting->execution);
	else
		execution_discard(waiting->execution);
	free(waiting);
}

static const struct waiting_rules rules = { .ended = on_ended, .cancelled = on_cancelled };

static void on_ended(struct waiting *waiting, enum waiting_end end)
{
	if (end == WAITING_OVER) {
		answer_result(waiting);
	} else if (end == WAITING_GONE) {
		handle_fail_gone(waiting->call);
		free(waiting);
	} else if (is_task(waiting, end)) { /* wait until its end */
		waiting_begin(waiting, waiting->call, waiting->execution, &rules, UINT32_MAX);
	} else {
		yield_execution(waiting);
	}
}

static const char *const start_problems[] = {
	[EXECUTION_START_TOO_MANY] = "Nothing was run: 1024 executions are running, which is the "
				     "limit. Call again when one has ended.",
	[EXECUTION_START_SHARE] = "Nothing was run: this client's share of executions is running. "
				  "Call again when one of them has ended.",
	[EXECUTION_START_INPUT_FULL] = "Nothing was run: the `stdin` of all running calls exceeds "
				       "12 MiB. Call again when one has ended, or pass less.",
	[EXECUTION_START_QUEUE_FULL] =
		"Nothing was run: too many requests are waiting. Call again in a moment.",
	[EXECUTION_START_TOO_LONG] = "Nothing was run: the arguments and environment are too long. "
				     "Pass large data in `stdin`.",
	[EXECUTION_START_LOST] =
		"Nothing was run: this server is ending. Have the client start it again.",
};

void run_start(struct call *call, struct execution_order *order, uint32_t limit_ms)
{
	const struct session *session = call->session;
	struct execution *execution;
	enum execution_start start;
	struct waiting *waiting;

	sandboxes_head(session, NULL, order->wanted);
	order->owner = session_owner(session);
	order->asked_us = call->begun_us;
	start = executions_start(session->host->executions, order, &execution);
	if (start != EXECUTION_START_DONE) {
		call_fail(call, "%s", start_problems[start]);
		return;
	}
	waiting = memory_get_zeroed(1, sizeof(*waiting));
	waiting->ends_at_start = limit_ms == 0;
	waiting_begin(waiting, call, execution, &rules, limit_ms);
}

/* A sandbox that has a cable keeps it. Return false with the call failed. */
static bool check_network(struct call *call, const struct json_value *network,
			  const struct json_value *sandbox)
{
	if (network && sandbox)
		call_fail(call, "Nothing was run: a sandbox keeps the network that it was "
				"created with, so `network` is for a new one. Leave `sandbox` "
				"out, or create a sandbox with `network`.");
	return !network || !sandbox;
}

static void execute_order(struct call *call, struct execution_order *order,
			  const struct json_value *yield_ms, const struct json_value *sandbox)
{
	const uint32_t limit_ms = (uint32_t)tool_integer(yield_ms, WAIT_MS_DEFAULT);

	order->label = &label;
	if (sandbox)
		run_in_sandbox(call, order, &label, sandbox, limit_ms);
	else
		run_start(call, order, limit_ms);
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
	if (!tool_boolean(values[RUN_COMMAND_TTY]) &&
	    (values[RUN_COMMAND_ROWS] || values[RUN_COMMAND_COLUMNS]))
		return "The arguments `tty_rows` and `tty_columns` are the size of a terminal. Set "
		       "`tty` to true to have one.";
	return NULL;
}

/* An interactive execution is meant to run for long, and so is one whose call returns before it
 * must: a server with a moment to fail in. */
static bool is_long(const struct json_value *is_interactive, const struct json_value *yield_ms)
{
	return tool_boolean(is_interactive) ||
	       tool_integer(yield_ms, WAIT_MS_DEFAULT) < WAIT_MS_DEFAULT;
}

/* Return the time limit; 0: the profile's default. A value above the profile's maximum stands for
 * the maximum. */
static uint32_t timeout_of(const struct json_value *value, bool is_long)
{
	return (uint32_t)tool_integer(value, is_long ? UINT32_MAX : 0);
}

static void fill_command(struct call *call, const struct json_document *document,
			 struct json_value *const *values, struct ipc_execution_start *start)
{
	const struct packed argv = { start->argv, &start->argv_size, IPC_ARGV_MAX };
	const struct packed environment = { start->environment, &start->environment_size,
					    IPC_ENVIRONMENT_MAX };
	const struct json_value *command = values[RUN_COMMAND_COMMAND];
	const struct json_value *program = json_first(document, values[RUN_COMMAND_ARGV]);

	start->timeout_ms = timeout_of(
		values[RUN_COMMAND_TIMEOUT],
		tool_boolean(values[RUN_COMMAND_TTY]) ||
			is_long(values[RUN_COMMAND_INTERACTIVE], values[RUN_COMMAND_YIELD]));
	start->no_hosts = values[RUN_COMMAND_NETWORK] != NULL;
	set_profile(call, values[RUN_COMMAND_PROFILE], values[RUN_COMMAND_SANDBOX] != NULL,
		    start->no_hosts != 0, start->profile);
	if (values[RUN_COMMAND_CWD]) {
		tool_copy_text(values[RUN_COMMAND_CWD], start->cwd, sizeof(start->cwd));
		set_label(label.cwd, start->cwd, strlen(start->cwd));
	}
	if (command) {
		start->use_shell = 1;
		pack_text(&argv, command->text, command->size, '\0');
		set_label(label.subject, SHELL_LABEL, strlen(SHELL_LABEL));
	} else {
		pack_list(&argv, document, values[RUN_COMMAND_ARGV]);
		set_label(label.subject, program->text, program->size);
	}
	set_label(label.command, (const char *)start->argv, start->argv_size - 1);
	pack_map(&environment, document, values[RUN_COMMAND_ENV]);
	start->use_tty = tool_boolean(values[RUN_COMMAND_TTY]);
	start->tty_rows = (uint32_t)tool_integer(values[RUN_COMMAND_ROWS], TTY_ROWS_DEFAULT);
	start->tty_columns =
		(uint32_t)tool_integer(values[RUN_COMMAND_COLUMNS], TTY_COLUMNS_DEFAULT);
}

static void run_command(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	static struct ipc_execution_start start; /* too large for the stack; one thread */
	struct execution_order order = { .type = IPC_TYPE_execution_start,
					 .wanted = &start.head,
					 .profile = start.profile,
					 .code_fd = -1 };
	const char *problem = check_command(values);

	if (problem) {
		call_fail(call, "%s", problem);
		return;
	}
	if (!check_network(call, values[RUN_COMMAND_NETWORK], values[RUN_COMMAND_SANDBOX]))
		return;
	ipc_clear(IPC_TYPE_execution_start, &start);
	memset(&label, 0, sizeof(label));
	fill_command(call, document, values, &start);
	order.timeout_ms = start.timeout_ms;
	order.is_terminal = start.use_tty != 0;
	set_input(&order, values[RUN_COMMAND_STDIN], values[RUN_COMMAND_INTERACTIVE]);
	execute_order(call, &order, values[RUN_COMMAND_YIELD], values[RUN_COMMAND_SANDBOX]);
}

static const char *check_code(struct json_value *const *values)
{
	if (!values[RUN_CODE_CODE] && !values[RUN_CODE_BASE64])
		return "run_code needs `code` (source text) or `code_base64` (a binary, such as a "
		       ".wasm module); neither was given.";
	if (values[RUN_CODE_CODE] && values[RUN_CODE_BASE64])
		return "run_code takes `code` or `code_base64`, not both. Give one of them.";
	return NULL;
}

/* Make the sealed file of the code; the label says the code, or a binary's size. Return -1 if that
 * fails. */
static int seal_code(struct call *call, struct json_value *const *values)
{
	const struct json_value *code = values[RUN_CODE_CODE];
	struct buffer bytes = { 0 };
	int fd = -1;

	if (code) {
		buffer_append(&bytes, code->text, code->size);
		set_label(label.command, code->text, code->size);
	} else if (base64_decode(&bytes, values[RUN_CODE_BASE64]->text,
				 values[RUN_CODE_BASE64]->size)) {
		(void)snprintf(label.command, sizeof(label.command), "%zu bytes of code",
			       bytes.size);
	} else {
		call_fail(call, "Nothing was run: `code_base64` is not base64 with padding. "
				"Encode the bytes again, or give source text in `code`.");
		return -1;
	}
	fd = fd_sealed_from_bytes("code", bytes.bytes, bytes.size);
	if (fd < 0)
		call_fail(call, "Nothing was run: there is no memory for the code. Call again "
				"in a moment.");
	buffer_done(&bytes);
	return fd;
}

static void run_code(struct call *call, const struct json_document *document,
		     struct json_value *const *values)
{
	static struct ipc_code_start start; /* too large for the stack; one thread */
	const struct packed argv = { start.argv, &start.argv_size, IPC_ARGV_MAX };
	const struct json_value *language = values[RUN_CODE_LANGUAGE];
	struct execution_order order = { .type = IPC_TYPE_code_start,
					 .wanted = &start.head,
					 .profile = start.profile };
	const char *problem = check_code(values);

	if (problem) {
		call_fail(call, "%s", problem);
		return;
	}
	if (!check_network(call, values[RUN_CODE_NETWORK], values[RUN_CODE_SANDBOX]))
		return;
	ipc_clear(IPC_TYPE_code_start, &start);
	memset(&label, 0, sizeof(label));
	start.timeout_ms = order.timeout_ms =
		timeout_of(values[RUN_CODE_TIMEOUT],
			   is_long(values[RUN_CODE_INTERACTIVE], values[RUN_CODE_YIELD]));
	start.no_hosts = values[RUN_CODE_NETWORK] != NULL;
	set_profile(call, values[RUN_CODE_PROFILE], values[RUN_CODE_SANDBOX] != NULL,
		    start.no_hosts != 0, start.profile);
	tool_copy_text(language, start.language, sizeof(start.language));
	set_label(label.subject, language->text, language->size);
	pack_list(&argv, document, values[RUN_CODE_ARGS]);
	set_input(&order, values[RUN_CODE_STDIN], values[RUN_CODE_INTERACTIVE]);
	order.code_fd = seal_code(call, values);
	if (order.code_fd >= 0)
		execute_order(call, &order, values[RUN_CODE_YIELD], values[RUN_CODE_SANDBOX]);
}

/* destructiveHint and openWorldHint are false because a sandbox can neither touch the user's files,
 * nor reach the network, unless the operator allows it. */
#define DESCRIPTION(network)                                                                       \
	"Run a command in a sandbox on the user's Linux machine: the machine's programs and a "    \
	"writable /workspace, " network ", none of the user's files. With `sandbox` files "        \
	"persist; without it they are removed at the end, so put dependent steps in one call. "    \
	"Returns stdout, stderr under [stderr], and a line such as [exit 0 · 0.02 s]. A command " \
	"that outlasts `yield_ms` goes on; its handle is for read_output, send_input and "         \
	"kill_execution. Background processes (&) end with their command: run a server as a "      \
	"command of its own, with `yield_ms` 0."

const struct tool tool_run_command = {
	.name = "run_command",
	.title = "Run a command in a sandbox",
	.description = DESCRIPTION("no network"),
	.description_hosts = DESCRIPTION("of the network the profile's hosts alone"),
	TOOL_PARAMS(command_params),
	.is_destructive_here = true,
	.is_open_world_here = true,
	.handler = run_command,
};

const struct tool tool_run_code = {
	.name = "run_code",
	.title = "Run code in a sandbox",
	.description = "Run source text in a sandbox like run_command's and return what it "
		       "prints, without shell quoting. Use it to compute, to transform data, to "
		       "check code. The other arguments are run_command's.",
	TOOL_PARAMS(code_params),
	.is_destructive_here = true,
	.is_open_world_here = true,
	.handler = run_code,
};
