/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/prompts/prompts.h"

enum try_code_argument {
	TRY_CODE_LANGUAGE,
	TRY_CODE_TASK,
};

enum compare_commands_argument {
	COMPARE_FIRST,
	COMPARE_SECOND,
	COMPARE_INPUT,
};

enum explore_sandbox_argument {
	EXPLORE_PROFILE,
};

static void append_value(struct buffer *text, const struct json_value *value)
{
	buffer_append(text, value->text, value->size);
}

/* Append the person's own text, set off from the prompt's. */
static void append_block(struct buffer *text, const char *heading, const struct json_value *value)
{
	buffer_append_text(text, heading);
	buffer_append_text(text, "\n\n");
	append_value(text, value);
	buffer_append_text(text, "\n\n");
}

static void try_code(struct call *call, const struct prompt *prompt,
		     const struct json_document *document, struct json_value *const *values)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "Write a program in ");
	append_value(&text, values[TRY_CODE_LANGUAGE]);
	append_block(&text, " for this task, and show that it works by running it:",
		     values[TRY_CODE_TASK]);
	buffer_append_text(
		&text,
		"Run it with the tool `run_code`. Every run has a fresh sandbox with only the "
		"language's standard library and this machine's packages, without network or my "
		"files, so put the input into the program or into `stdin`.\n\n1. Write the program "
		"together with a few checks whose results you know beforehand: the plain case, an "
		"empty or smallest input, an input that is wrong.\n2. Run it. If a check fails or "
		"the program does not run, find the cause in the output, fix the program, not the "
		"check, and run it again.\n3. When all checks pass, show me the program without "
		"the checks, the commands you ran and their output, and the cases you have not "
		"tried.\n\nIf it still fails after five runs, stop, and tell me your findings "
		"about the cause.");
	prompts_answer_text(call, prompt, &text);
	buffer_done(&text);
}

static void compare_commands(struct call *call, const struct prompt *prompt,
			     const struct json_document *document, struct json_value *const *values)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "Compare two shell commands: do they give the same result, and "
				  "which is faster?\n\n");
	append_block(&text, "First command:", values[COMPARE_FIRST]);
	append_block(&text, "Second command:", values[COMPARE_SECOND]);
	if (values[COMPARE_INPUT])
		append_block(&text, "What they work on:", values[COMPARE_INPUT]);
	buffer_append_text(
		&text,
		"Use the tool `run_command`. Every call has a fresh sandbox whose files vanish "
		"with it, so make the input and run both commands in one call, on the same input; "
		"without network, generate it (seq, awk, /dev/urandom) and make it large enough "
		"that a run takes at least a tenth of a second.\n\n1. Check that both programs "
		"exist. If one is missing, say so and stop: programs cannot be installed.\n2. "
		"Compare their output (cmp, diff). If it differs, show the first difference and "
		"explain it before anything about speed.\n3. Run each once without counting it, "
		"then at least five times in turn (first, second, first, ...), with the output "
		"sent to /dev/null, and take the time of each run.\n4. Give me a table with the "
		"lowest, the middle and the highest time of each, and say whether the difference "
		"is larger than the spread of the runs. The sandbox limits CPU and memory, so "
		"trust the ratio more than the seconds.");
	prompts_answer_text(call, prompt, &text);
	buffer_done(&text);
}

static void explore_sandbox(struct call *call, const struct prompt *prompt,
			    const struct json_document *document, struct json_value *const *values)
{
	const struct json_value *profile = values[EXPLORE_PROFILE];
	struct buffer text = { 0 };

	buffer_append_text(&text, "Find out what your sandboxes on this machine can and cannot "
				  "do, and report it to me. ");
	if (profile) {
		buffer_append_text(&text, "Use the profile ");
		append_value(&text, profile);
		buffer_append_text(&text, " in every call (argument `profile`). ");
	}
	buffer_append_text(
		&text,
		"Only look: do what an ordinary program does, do not try to break out.\n\nWith the "
		"tool `run_command`, in a few calls, find out:\n- who you are (id), which system "
		"it is, and what of it you see (ls /, df -h, mount);\n- which directories can be "
		"written to, and whether a file still exists in the next call;\n- which languages, "
		"compilers and usual programs are there, with their versions;\n- the limits: CPUs, "
		"memory, processes, file size, time (nproc, ulimit -a);\n- whether the network can "
		"be reached, by name and by address, and whether a server on the loopback can;\n- "
		"whether my files, my processes or credentials can be seen (/home, /root, ps, "
		"env).\n\nThen write a page for me: uses of this sandbox, tasks that will not work "
		"and alternatives, and every surprise. Say for each point whether you tried it or "
		"only read it. If you can read resources of this server, compare with the policy "
		"at policy://");
	if (profile)
		append_value(&text, profile);
	else
		buffer_append_text(&text, call->session->host->posture.profile);
	buffer_append_text(&text, " and name what differs.");
	prompts_answer_text(call, prompt, &text);
	buffer_done(&text);
}

static const struct prompt_argument try_code_arguments[] = {
	[TRY_CODE_LANGUAGE] = { "language", "The language to write the program in", true,
				COMPLETION_LANGUAGES },
	[TRY_CODE_TASK] = { "task", "Task of the program", true, COMPLETION_NONE },
};

static const struct prompt_argument compare_commands_arguments[] = {
	[COMPARE_FIRST] = { "first", "A shell command", true, COMPLETION_NONE },
	[COMPARE_SECOND] = { "second", "Another shell command that should do the same", true,
			     COMPLETION_NONE },
	[COMPARE_INPUT] = { "input", "Input of both: data, or how to make it", false,
			    COMPLETION_NONE },
};

static const struct prompt_argument explore_sandbox_arguments[] = {
	[EXPLORE_PROFILE] = { "profile", "The policy to examine; the default if left out", false,
			      COMPLETION_PROFILES },
};

const struct prompt prompt_try_code = {
	.name = "try_code",
	.title = "Write a program and run it until it works",
	.description = "Writes a program for a task, runs it with checks in a sandbox, and fixes "
		       "it until the checks pass.",
	PROMPT_ARGUMENTS(try_code_arguments),
	.get = try_code,
};

const struct prompt prompt_compare_commands = {
	.name = "compare_commands",
	.title = "Compare two commands",
	.description = "Runs two shell commands on the same input in a sandbox, compares their "
		       "output, and measures which is faster.",
	PROMPT_ARGUMENTS(compare_commands_arguments),
	.get = compare_commands,
};

const struct prompt prompt_explore_sandbox = {
	.name = "explore_sandbox",
	.title = "Find out what the sandbox can do",
	.description =
		"Explores a sandbox and reports which operations work and which are blocked.",
	PROMPT_ARGUMENTS(explore_sandbox_arguments),
	.get = explore_sandbox,
};
