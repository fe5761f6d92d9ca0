/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tools publish, what they accept, and what they ask of the supervisor.
 */
#include "mcp/tools/tools.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/ipc/ipc_execution.h"
#include "common/ipc/workspace_mode.h"
#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_tools, .init = open_rig, .fini = close_rig);

static void say_call(const char *tool, const char *arguments)
{
	static char line[300000];
	static int id;

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"%s\"%s%s}}",
		++id, tool, arguments[0] ? ",\"arguments\":" : "", arguments);
	rig_say(&rig, line);
}

/* Refused before the supervisor hears of it, with these words. */
static void expect_problem(const char *tool, const char *arguments, const char *part)
{
	say_call(tool, arguments);
	expect_part(rig_hear(&rig), "\"isError\":true");
	expect_part(rig.line, part);
	rig_take_nothing(&rig);
}

static void expect_rpc_error(const char *params, const char *part)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}",
		       params);
	expect_part(rig_ask(&rig, line), "\"code\":-32602");
	expect_part(rig.line, part);
	rig_take_nothing(&rig);
}

static const struct ipc_execution_start *command(const char *arguments)
{
	say_call("run_command", arguments);
	return rig_body(&rig, execution_start);
}

#define expect_bytes(bytes, size, text)                                                            \
	do {                                                                                       \
		cr_assert_eq((size), sizeof(text) - 1);                                            \
		cr_assert_eq(memcmp((bytes), (text), (size)), 0);                                  \
	} while (0)

Test(mcp_tools, the_list)
{
	static const char *const parts[] = {
		"{\"name\":\"run_command\",\"title\":\"",
		"{\"name\":\"run_code\",\"title\":\"",
		"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
		"\"string\",",
		"\"argv\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},",
		"\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},",
		"\"timeout_ms\":{\"type\":\"integer\",\"description\":\"",
		"\"yield_ms\":{\"type\":\"integer\",\"maximum\":55000,\"default\":10000,",
		"\"tty\":{\"type\":\"boolean\",\"description\":\"",
		"\"signal\":{\"type\":\"string\",\"enum\":[\"KILL\",\"HUP\",\"INT\",\"QUIT\","
		"\"USR1\","
		"\"USR2\",\"TERM\",\"CONT\",\"STOP\"],\"default\":\"KILL\",",
		"\"language\":{\"type\":\"string\",\"enum\":[\"python\",\"bash\"]},",
		"\"profile\":{\"type\":\"string\",\"enum\":[\"default\",\"strict\"],",
		"{\"name\":\"list_sandboxes\",",
		"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"offset\":{\"type\":"
		"\"integer\",\"description\":\"Sandboxes to skip.\"}},"
		"\"additionalProperties\":false},\"annotations\":{",
		"\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,"
		"\"idempotentHint\":true,\"openWorldHint\":false}",
		"\"required\":[\"language\"],\"additionalProperties\":false}",
		"\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":false,"
		"\"idempotentHint\":false,\"openWorldHint\":false}",
	};

	(void)rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		expect_part(rig.line, parts[i]);
}

/* Where a sandbox may write to the host's own directory, so may what runs in it. */
Test(mcp_tools, annotations_follow_the_policy)
{
	static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
	const char *hint;

	for (int i = 0; i < 2; i++) {
		hint = strstr(strstr(rig_ask(&rig, list), "{\"name\":\"run_command\""),
			      "\"destructiveHint\":");
		cr_assert_eq(strncmp(hint + 18, i == 0 ? "false" : "true", 4), 0);
		rig.workspace_mode = WORKSPACE_WRITE;
		rig.profile_name = "default";
		rig_change_policy(&rig);
	}
}

Test(mcp_tools, malformed_calls)
{
	expect_rpc_error("{}", "name must be a string");
	expect_rpc_error("null", "name must be a string");
	expect_rpc_error("{\"name\":7}", "name must be a string");
	expect_rpc_error("{\"name\":\"nope\\u001b\"}", "Unknown tool: nope\\\\x1b. The tools are: "
						       "run_command, run_code, read_output");
	expect_rpc_error("{\"name\":\"run_command\",\"arguments\":[]}",
			 "arguments must be an object");
	expect_rpc_error("{\"name\":\"run_command\",\"arguments\":\"ls\"}",
			 "arguments must be an object");
}

Test(mcp_tools, arguments_that_do_not_fit)
{
	expect_problem("run_command", "", "neither was given");
	expect_problem("run_command", "null", "neither was given");
	expect_problem("run_command", "{}", "neither was given");
	expect_problem("run_command", "{\"command\":\"a\",\"argv\":[\"b\"]}", "not both");
	expect_problem("run_command", "{\"argv\":[]}", "is empty");
	expect_problem("run_command", "{\"argv\":\"ls\"}",
		       "is a string, but must be an array of strings");
	expect_problem("run_command", "{\"argv\":[1]}", "contains a number");
	expect_problem("run_command", "{\"command\":[\"ls\"]}",
		       "is an array, but must be a string");
	expect_problem("run_command", "{\"cmd\":\"ls\"}",
		       "run_command has no argument `cmd`. Its arguments "
		       "are: command, argv, cwd, env,");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":[]}",
		       "must be an object of strings");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"A\":null}}", "contains null");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"\":\"x\"}}",
		       "must not be empty");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"A=B\":\"x\"}}", "'='");
	expect_problem("run_command", "{\"command\":\"a\",\"cwd\":\"\"}", "`cwd` is empty");
	expect_problem("run_command", "{\"command\":\"a\",\"profile\":\"\"}",
		       "`profile` is \\\"\\\", but must be one of: default, strict.");
	expect_problem("run_code", "{\"code\":\"x\"}", "needs the argument `language`");
	expect_problem("run_code", "{\"language\":\"python\"}",
		       "needs `code` (source text) or `code_base64`");
	expect_problem("run_code", "{\"language\":\"\",\"code\":\"x\"}",
		       "`language` is \\\"\\\", but must be one of: python, bash.");
	expect_problem("run_code", "{\"language\":\"python\",\"code\":null}", "neither was given");
	expect_problem("run_code", "{\"language\":\"python\",\"code\":\"\",\"code_base64\":\"\"}",
		       "`code` or `code_base64`, not both");
	expect_problem("run_code", "{\"language\":\"python\",\"code_base64\":\"AGFzbQ\"}",
		       "`code_base64` is not base64 with padding");
	expect_problem("run_code", "{\"language\":\"python\",\"code_base64\":[0]}",
		       "`code_base64` is an array, but must be a string");
}

/* The numbers of the schema are those that are checked. */
Test(mcp_tools, integers_within_their_bounds)
{
	expect_problem("run_command", "{\"command\":\"a\",\"yield_ms\":55001}",
		       "`yield_ms` is 55001, but must be an integer from 0 to 55000");
	expect_problem("run_command", "{\"command\":\"a\",\"yield_ms\":-1}", "from 0 to 55000");
	expect_problem("run_command", "{\"command\":\"a\",\"tty\":true,\"tty_rows\":65536}",
		       "from 1 to 65535");
	expect_problem("run_command", "{\"command\":\"a\",\"tty\":true,\"tty_columns\":0}",
		       "from 1 to 65535");
	expect_problem("read_output", "{\"handle\":\"x\",\"max_bytes\":100001}",
		       "from 1 to 100000");
	expect_problem("read_output", "{\"handle\":\"x\",\"offset\":-1}",
		       "from 0 to 9007199254740991");
	expect_problem("read_output", "{\"handle\":\"x\",\"wait_ms\":1e5}", "from 0 to 55000");
	(void)command("{\"command\":\"a\",\"yield_ms\":55000}");
}

Test(mcp_tools, booleans_and_names)
{
	expect_problem("run_command", "{\"command\":\"a\",\"tty\":1}",
		       "is a number, but must be true or false");
	expect_problem("run_command", "{\"command\":\"a\",\"interactive\":\"yes\"}",
		       "is a string, but must be true or false");
	expect_problem("run_command", "{\"command\":\"a\",\"profile\":\"stric\"}",
		       "`profile` is \\\"stric\\\", but must be one of: default, strict.");
	expect_problem("run_command", "{\"command\":\"a\",\"profile\":\"default, strict\"}",
		       "must be one of");
	expect_problem("read_output", "{\"handle\":\"x\",\"stream\":\"both\"}",
		       "must be one of: stdout, stderr.");
	expect_problem("kill_execution", "{\"handle\":\"x\",\"signal\":\"SEGV\"}",
		       "must be one of: KILL, HUP,");
	expect_problem("kill_execution", "{\"handle\":\"x\",\"signal\":9}",
		       "is a number, but must be a string");
	expect_problem("list_sandboxes", "{\"all\":true}",
		       "list_sandboxes has no argument `all`. Its arguments are: offset.");
	expect_problem("run_command", "{\"command\":\"a\",\"tty_rows\":5}", "Set `tty` to true");
}

/* What is not published may be an alias: the supervisor knows. */
Test(mcp_tools, languages_of_other_names)
{
	struct channel_message *message;

	say_call("run_code", "{\"language\":\"py\",\"code\":\"1\"}");
	message = rig_take(&rig, IPC_TYPE_code_start);
	cr_assert_str_eq(ipc_body(message, code_start)->language, "py");
	channel_message_done(message);
}

Test(mcp_tools, a_terminal_as_the_supervisor_sees_it)
{
	const struct ipc_execution_start *start = command("{\"command\":\"a\",\"tty\":true}");

	cr_assert_eq(start->use_tty, 1);
	cr_assert_eq(start->tty_rows, 24);
	cr_assert_eq(start->tty_columns, 80);
	start = command("{\"command\":\"a\",\"tty\":true,\"tty_rows\":50,\"tty_columns\":132}");
	cr_assert_eq(start->tty_rows, 50);
	cr_assert_eq(start->tty_columns, 132);
}

Test(mcp_tools, timeouts_that_are_none)
{
	static const char *const values[] = { "0",     "-1",      "1.5", "4294967296",
					      "1e400", "\"100\"", "true" };
	char arguments[128];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments),
			       "{\"command\":\"a\",\"timeout_ms\":%s}", values[i]);
		expect_problem("run_command", arguments, "`timeout_ms`");
	}
	cr_assert_eq(command("{\"command\":\"a\",\"timeout_ms\":1e3}")->timeout_ms, 1000);
}

/* UINT32_MAX stands for the profile's maximum. */
Test(mcp_tools, a_call_that_returns_early_has_the_most_time)
{
	static const struct {
		const char *arguments;
		uint32_t timeout_ms;
	} cases[] = {
		{ "{\"command\":\"a\",\"yield_ms\":0}", UINT32_MAX },
		{ "{\"command\":\"a\",\"yield_ms\":300}", UINT32_MAX },
		{ "{\"command\":\"a\",\"yield_ms\":9999}", UINT32_MAX },
		{ "{\"command\":\"a\",\"yield_ms\":10000}", 0 },
		{ "{\"command\":\"a\",\"yield_ms\":55000}", 0 },
		{ "{\"command\":\"a\",\"interactive\":true}", UINT32_MAX },
		{ "{\"command\":\"a\",\"tty\":true}", UINT32_MAX },
		{ "{\"command\":\"a\",\"yield_ms\":300,\"timeout_ms\":7}", 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(command(cases[i].arguments)->timeout_ms, cases[i].timeout_ms, "%s",
			     cases[i].arguments);
}

Test(mcp_tools, text_that_the_kernel_cannot_take)
{
	static const char *const names[] = { "command", "cwd", "profile" };
	char arguments[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments), "{\"%s\":\"a\\u0000b\"}", names[i]);
		expect_problem("run_command", arguments, "NUL character");
		(void)snprintf(arguments, sizeof(arguments), "{\"%s\":\"a\\ud800b\"}", names[i]);
		expect_problem("run_command", arguments, "unpaired surrogate");
	}
	expect_problem("run_command", "{\"argv\":[\"a\",\"\\u0000\"]}", "NUL character");
	expect_problem("run_command", "{\"argv\":[\"a\",\"\\udc00\"]}", "unpaired surrogate");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"A\":\"\\u0000\"}}",
		       "NUL character");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"\\u0000\":\"a\"}}", "NUL");
	expect_problem("run_command", "{\"command\":\"a\",\"env\":{\"\\ud800\":\"a\"}}",
		       "unpaired surrogate");
	expect_problem("run_command", "{\"command\":\"a\",\"stdin\":\"\\ud800\"}",
		       "unpaired surrogate");
	expect_problem("run_code", "{\"language\":\"python\",\"code\":\"\\u0000\"}",
		       "NUL character");
	expect_problem("run_code", "{\"language\":\"python\",\"code\":\"\\ud800\"}",
		       "unpaired surrogate");
	expect_problem("run_code", "{\"language\":\"python\\u0000\",\"code\":\"1\"}",
		       "NUL character");
	expect_problem("run_code",
		       "{\"language\":\"python\",\"code\":\"1\",\"args\":[\"\\u0000\"]}",
		       "NUL character");
	/* input may hold anything that is text */
	(void)command("{\"command\":\"cat\",\"stdin\":\"\\u0000\"}");
}

/* `{"KEY":"xxx...` of `size` x, then `end`. */
static char *long_arguments(const char *begin, size_t size, const char *end)
{
	char *text = malloc(strlen(begin) + size + strlen(end) + 1);

	cr_assert_not_null(text);
	memcpy(text, begin, strlen(begin));
	memset(text + strlen(begin), 'x', size);
	memcpy(text + strlen(begin) + size, end, strlen(end) + 1);
	return text;
}

static void expect_bound(const char *begin, size_t most, const char *end)
{
	char *fits = long_arguments(begin, most, end);
	char *too_long = long_arguments(begin, most + 1, end);

	(void)command(fits);
	expect_problem("run_command", too_long, "bytes long, but at most");
	free(fits);
	free(too_long);
}

Test(mcp_tools, bounds)
{
	expect_bound("{\"command\":\"", IPC_ARGV_MAX - 1, "\"}");
	expect_bound("{\"argv\":[\"a\",\"", IPC_ARGV_MAX - 3, "\"]}");
	expect_bound("{\"command\":\"a\",\"env\":{\"A\":\"", IPC_ENVIRONMENT_MAX - 3, "\"}}");
	expect_bound("{\"command\":\"a\",\"cwd\":\"", IPC_PATH_MAX - 1, "\"}");
}

Test(mcp_tools, a_command_as_the_supervisor_sees_it)
{
	const struct ipc_execution_start *start = command("{\"command\":\"echo \\u00e9\"}");

	cr_assert_eq(start->use_shell, 1);
	cr_assert_eq(start->use_tty, 0);
	cr_assert_eq(start->timeout_ms, 0);
	cr_assert_str_eq(start->profile, "default");
	cr_assert_str_eq(start->cwd, "");
	expect_bytes(start->argv, start->argv_size, "echo \xc3\xa9\0");
	cr_assert_eq(start->environment_size, 0);
}

Test(mcp_tools, everything_a_command_may_have)
{
	const struct ipc_execution_start *start =
		command("{\"argv\":[\"prog\",\"\",\"a "
			"b\"],\"cwd\":\"/tmp\",\"env\":{\"A\":\"1\",\"B\":\"\"},"
			"\"timeout_ms\":1500,\"profile\":\"strict\",\"command\":null}");

	cr_assert_eq(start->use_shell, 0);
	cr_assert_eq(start->timeout_ms, 1500);
	cr_assert_str_eq(start->profile, "strict");
	cr_assert_str_eq(start->cwd, "/tmp");
	expect_bytes(start->argv, start->argv_size, "prog\0\0a b\0");
	expect_bytes(start->environment, start->environment_size, "A=1\0B=\0");
}

Test(mcp_tools, code_as_the_supervisor_sees_it)
{
	struct channel_message *message;
	char code[64];

	say_call("run_code",
		 "{\"language\":\"python\",\"code\":\"print('\\u00e9')\\n\",\"args\":[\"x\","
		 "\"y z\"],\"timeout_ms\":7,\"profile\":\"strict\"}");
	message = rig_take(&rig, IPC_TYPE_code_start);
	cr_assert_str_eq(ipc_body(message, code_start)->language, "python");
	cr_assert_str_eq(ipc_body(message, code_start)->profile, "strict");
	cr_assert_eq(ipc_body(message, code_start)->timeout_ms, 7);
	expect_bytes(ipc_body(message, code_start)->argv, ipc_body(message, code_start)->argv_size,
		     "x\0y z\0");
	cr_assert_eq(pread(message->fds[0], code, sizeof(code), 0), 12);
	cr_assert_eq(memcmp(code, "print('\xc3\xa9')\n", 12), 0);
	channel_message_done(message);
}

Test(mcp_tools, code_of_a_binary)
{
	struct channel_message *message;
	char code[64];

	say_call("run_code", "{\"language\":\"python\",\"code_base64\":\"AGFzbQD/\"}");
	message = rig_take(&rig, IPC_TYPE_code_start);
	cr_assert_eq(pread(message->fds[0], code, sizeof(code), 0), 6);
	cr_assert_eq(memcmp(code, "\0asm\0\xff", 6), 0);
	channel_message_done(message);
}

Test(mcp_tools, code_has_a_bound)
{
	static const char head[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"run_code\",\"arguments\":{\"language\":\"python\",\"code\":\"";
	char *code = malloc(CODE_BYTES_MAX + 1);

	cr_assert_not_null(code);
	memset(code, '#', CODE_BYTES_MAX + 1);
	rig_say_bytes(&rig, head, strlen(head));
	rig_say_bytes(&rig, code, CODE_BYTES_MAX + 1);
	rig_say_bytes(&rig, "\"}}}\n", 5);
	expect_part(rig_hear(&rig), "4194305 bytes long, but at most 4194304");
	rig_say_bytes(&rig, head, strlen(head));
	rig_say_bytes(&rig, code, CODE_BYTES_MAX);
	rig_say_bytes(&rig, "\"}}}\n", 5);
	channel_message_done(rig_take(&rig, IPC_TYPE_code_start));
	free(code);
}

/* The rig's plan knows no system call: nothing gets past the filter. */
Test(mcp_tools, a_policy_is_explained_without_the_supervisor)
{
	say_call("explain_policy", "{\"operation\":\"read /etc/passwd\",\"profile\":\"default\"}");
	expect_part(rig_hear(&rig), "\"text\":\"refused: read /etc/passwd: function not "
				    "implemented (ENOSYS)\\nrule: seccomp: it is in no group;");
	expect_part(rig.line, "\"isError\":false,\"structuredContent\":{\"profile\":\"default\","
			      "\"operation\":\"read /etc/passwd\",\"answer\":\"refused\","
			      "\"layer\":\"seccomp\",\"error\":\"ENOSYS\",\"rule\":\"seccomp: ");
	expect_part(rig.line, "\"remedy\":\"none: no profile can allow it\"}");
	rig_take_nothing(&rig);
}

Test(mcp_tools, what_cannot_be_explained)
{
	char text[2048];

	expect_problem("explain_policy", "{}", "operation");
	expect_problem("explain_policy", "{\"operation\":\"chmod /x\",\"profile\":\"default\"}",
		       "an operation is one of: read PATH");
	expect_problem("explain_policy",
		       "{\"operation\":\"read /\\u001b\",\"profile\":\"default\"}",
		       "control characters");
	expect_problem("explain_policy",
		       "{\"operation\":\"read /\\u0000\",\"profile\":\"default\"}", "NUL");
	expect_problem("explain_policy", "{\"operation\":\"read /\",\"profile\":\"_helper\"}",
		       "profile");
	(void)snprintf(text, sizeof(text),
		       "{\"operation\":\"read /%01100d\",\"profile\":\"default\"}", 0);
	expect_problem("explain_policy", text, "operation");
}

Test(mcp_tools, a_profile_of_our_own_is_not_explained)
{
	rig_close(&rig);
	rig_open(&rig, false);
	rig.profile_name = "_mine";
	rig_welcome(&rig);
	expect_problem("explain_policy", "{\"operation\":\"read /\",\"profile\":\"default\"}",
		       "This profile has no policy");
}
