/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables, and what clients see of them. Argument checks are in arguments.c, what the tools do
 * in tool_run.c.
 */
#include "mcp/tools.h"

#include <string.h>

#include "common/limits.h"
#include "mcp/tool_run.h"

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

/* Order is what clients see. destructiveHint and openWorldHint are false because a sandbox can
 * neither touch the user's files nor reach the network. */
static const struct tool tools[] = {
	{ .name = "run_command",
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
	  .handler = tool_run_command },
	{ .name = "run_code",
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
	  .handler = tool_run_code },
};
#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))

_Static_assert(RUN_COMMAND_PARAMS <= TOOL_PARAMS_MAX && RUN_CODE_PARAMS <= TOOL_PARAMS_MAX,
	       "raise TOOL_PARAMS_MAX");

const struct tool *tool_find(struct json_value *name)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (json_equals(name, tools[i].name))
			return &tools[i];
	}
	return NULL;
}

void tools_append_names(struct buffer *text)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (i > 0)
			buffer_append_text(text, ", ");
		buffer_append_text(text, tools[i].name);
	}
}

static void put_description(struct json_writer *writer, const struct tool_param *param,
			    const struct posture *posture)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, param->description);
	if (param->names == NAMES_PROFILES)
		buffer_append_text(&text, posture->profiles);
	if (param->names == NAMES_LANGUAGES)
		buffer_append_text(&text, posture->languages[0] ? posture->languages : "none");
	if (param->names != NAMES_NONE)
		buffer_append_text(&text, ".");
	json_put_string(writer, "description", text.bytes, text.size);
	buffer_done(&text);
}

static void put_param(struct json_writer *writer, const struct tool_param *param,
		      const struct posture *posture)
{
	static const char *const types[] = {
		[PARAM_TEXT] = "string", [PARAM_BYTES] = "string",         [PARAM_LIST] = "array",
		[PARAM_MAP] = "object",  [PARAM_MILLISECONDS] = "integer",
	};

	json_open_object(writer, param->name);
	json_put_text(writer, "type", types[param->kind]);
	if (param->kind == PARAM_LIST || param->kind == PARAM_MAP) {
		json_open_object(writer,
				 param->kind == PARAM_LIST ? "items" : "additionalProperties");
		json_put_text(writer, "type", "string");
		json_close_object(writer);
	}
	if (param->kind == PARAM_MILLISECONDS)
		json_put_number(writer, "minimum", 1);
	put_description(writer, param, posture);
	json_close_object(writer);
}

/* Absent when empty: older JSON Schema does not know an empty list. */
static void put_required(struct json_writer *writer, const struct tool *tool)
{
	bool is_open = false;

	for (size_t i = 0; i < tool->param_count; i++) {
		if (!tool->params[i].is_required)
			continue;
		if (!is_open)
			json_open_array(writer, "required");
		is_open = true;
		json_put_text(writer, NULL, tool->params[i].name);
	}
	if (is_open)
		json_close_array(writer);
}

static void put_schema(struct json_writer *writer, const struct tool *tool,
		       const struct posture *posture)
{
	json_open_object(writer, "inputSchema");
	json_put_text(writer, "type", "object");
	json_open_object(writer, "properties");
	for (size_t i = 0; i < tool->param_count; i++)
		put_param(writer, &tool->params[i], posture);
	json_close_object(writer);
	put_required(writer, tool);
	json_put_bool(writer, "additionalProperties", false);
	json_close_object(writer);
}

static void put_tool(struct json_writer *writer, const struct tool *tool,
		     const struct posture *posture)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "name", tool->name);
	json_put_text(writer, "title", tool->title);
	json_put_text(writer, "description", tool->description);
	put_schema(writer, tool, posture);
	json_open_object(writer, "annotations");
	json_put_text(writer, "title", tool->title);
	json_put_bool(writer, "readOnlyHint", tool->is_read_only);
	json_put_bool(writer, "destructiveHint", tool->is_destructive);
	json_put_bool(writer, "idempotentHint", tool->is_idempotent);
	json_put_bool(writer, "openWorldHint", tool->is_open_world);
	json_close_object(writer);
	json_close_object(writer);
}

void tools_put_list(struct json_writer *writer, const char *key, const struct posture *posture)
{
	json_open_array(writer, key);
	for (size_t i = 0; i < TOOL_COUNT; i++)
		put_tool(writer, &tools[i], posture);
	json_close_array(writer);
}
