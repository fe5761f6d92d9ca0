/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp exec`: one command in a persistent sandbox, otherwise as `msp run`.
 */
#include "ask/execute.h"
#include "commands/detach.h"
#include "launcher/start/config.h"
#include "options/command.h"

struct exec_options {
	struct execute_options execute;
	struct detach_options detach;
};

static const struct option_row rows[] = {
	DETACH_ROWS(struct exec_options, detach),
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
	"code stay until the sandbox is gone, or 32 newer commands are there. With -t it\n"
	"has a terminal, without a person at it: 'msp attach' brings one, and leaves it.\n"
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

static int run_exec(const struct command *command, int argc, char *argv[])
{
	static struct exec_options options = { .execute.attach.limits = LIMITS_UNSAID };
	struct execute what = { .options = &options.execute, .profile = "" };
	const char *conflict;
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
	conflict = detach_find_conflict(&options.detach);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	command_name_lines(command);
	what.words = argv + rest;
	return options.detach.is_detached ? detach_command(&options.detach, &what, NULL)
					  : execute(&what);
}

const struct command command_exec = {
	.name = "exec",
	.operands = "SANDBOX [--] CMD [ARG]...",
	.summary = "run one command in a persistent sandbox",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_exec,
};
