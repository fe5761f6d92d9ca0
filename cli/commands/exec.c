/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp exec`: one command in a persistent sandbox, otherwise as `msp run`.
 */
#include <stdio.h>
#include <unistd.h>

#include "ask/enabled.h"
#include "ask/execute.h"
#include "background/keep.h"
#include "launcher/start/config.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/json.h"
#include "show/print.h"

struct exec_options {
	struct execute_options execute;
	bool is_detached;
};

static const struct option_row rows[] = {
	OPTION_LETTER(
		struct exec_options, 'd', "detach", NULL, option_set_flag, is_detached,
		"run CMD in the background, and print its id for 'msp ps', 'attach', 'wait' and "
		"'kill'"),
	EXECUTE_ROWS(struct exec_options, execute),
};

static const char help[] =
	"Run CMD in SANDBOX, which 'msp create' made: what it writes to /workspace and\n"
	"to its home is there for the next one. Everything else is as with 'msp run':\n"
	"the sandbox's profile limits it, its streams are passed on live, and when input\n"
	"and output are a terminal, CMD gets one of its own.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"Several commands can run in one sandbox at once through the user's service;\n"
	"without it each msp has the sandbox for itself. What CMD leaves running ends\n"
	"with it.\n"
	"\n"
	"With -d CMD runs in the background, without input; its id is printed once it\n"
	"has started. It goes on when you log out, as far as the system lets processes\n"
	"and the service run on then, and ends at the profile's time limit, with the\n"
	"service, and with the sandbox. The newest 3 to 4 MiB of its output and its exit\n"
	"code stay until the sandbox is gone, or 32 newer commands are there.\n"
	"\n"
	"Options may stand before and behind SANDBOX. They end at '--' or at the first\n"
	"word that is none. The exit code is CMD's own, or\n"
	"  124      it was ended by the timeout\n"
	"  125      the sandbox could not be started, or is damaged\n"
	"  126,127  CMD could not be executed, or was not found in the sandbox\n"
	"  128+N    it was ended by signal N\n"
	"  64       the command line is wrong, or there is no such sandbox\n"
	"  75       too much runs already, the sandbox is in use elsewhere, its disk\n"
	"           space is used up, or the service stopped; later it may work\n"
	"  78       this machine does not fulfil the policy, or the configuration is\n"
	"           wrong; 'msp doctor' says why\n";

static int print_json(const struct background_start *start)
{
	struct json_writer *json = json_begin_object();

	json_put_text(json, "id", start->id);
	json_put_text(json, "sandbox", start->sandbox);
	json_put_number(json, "wall_ms", start->wall_ms);
	return json_finish();
}

/* Start the command in the background and print its id. */
static int detach_command(const struct execute *what)
{
	struct background_start start;
	char span[FIGURES_TEXT_MAX];
	const bool is_json = what->options->is_json;
	int error;
	int code;

	what->options->is_json = false; /* no output is captured */
	code = background_start(what, &start);
	if (code)
		return code;
	error = is_json ? print_json(&start) : 0;
	if (!is_json) {
		(void)puts(start.id);
		error = print_flush();
	}
	everywhere_note(
		"the command ends after %s at the latest: 'msp attach %s' shows its output, 'msp "
		"wait %s' its end",
		figures_span((start.wall_ms + 999) / 1000, span), start.id, start.id);
	/* A person who says --standalone or names a socket knows. */
	if (!what->options->attach.is_standalone && !what->options->attach.socket &&
	    service_is_absent())
		everywhere_note("until then no other command can use the sandbox, nor 'msp bridge' "
				"reach it: no service runs here, and 'msp setup' starts one");
	return command_judge_output(error, 0);
}

static int run_exec(const struct command *command, int argc, char *argv[])
{
	static struct exec_options options = { .execute.attach.limits = LIMITS_UNSAID };
	struct execute what = { .options = &options.execute, .profile = "" };
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest == argc)
		return command_usage_error(
			command, "a sandbox is missing: msp exec SANDBOX -- CMD [ARG]...");
	argc -= rest;
	argv += rest;
	what.sandbox = argv[0];
	if (!command_check_sandbox(command, what.sandbox, &code) ||
	    !command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest == argc)
		return command_usage_error(
			command, "a command is missing: msp exec SANDBOX -- CMD [ARG]...");
	command_name_lines(command);
	what.words = argv + rest;
	return options.is_detached ? detach_command(&what) : execute(&what);
}

const struct command command_exec = {
	.name = "exec",
	.operands = "SANDBOX [--] CMD [ARG]...",
	.summary = "run one command in a persistent sandbox",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_exec,
};
