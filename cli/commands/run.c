/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp run`: one command in a sandbox of its own, its streams live.
 */
#include <string.h>

#include "ask/execute.h"
#include "commands/trial.h"
#include "common/log.h"
#include "frontend/profile_names.h"
#include "launcher/host/directory.h"
#include "launcher/start/config.h"
#include "options/command.h"

/* The words of an image's command, at most. */
#define WORDS_MAX 512

struct run_options {
	struct execute_options execute;
	struct trial_options trial;
};

static const struct option_row rows[] = {
	TRIAL_ROWS(struct run_options, trial),
	EXECUTE_ROWS(struct run_options, execute),
};

static const char help[] =
	"Run CMD in a sandbox of its own that is gone when it ends. It sees the system's\n"
	"/usr read-only, an empty writable /workspace, and nothing else of this machine:\n"
	"no home, no network, no other processes. Standard input, output and error are\n"
	"passed on live; when input and output are a terminal, CMD gets one of its own.\n"
	"\n"
	"With --workspace (-w), /workspace shows a project, and nothing of it changes:\n"
	"what CMD writes there is kept for an hour, unless --discard is given. -1 names\n"
	"the last such run for 'msp diff', 'apply', 'undo', 'exec' and 'destroy', -2 the\n"
	"one before. For a sandbox that stays longer, see 'msp help create'.\n"
	"\n"
	"Where the user's service answers, it runs CMD, by its own configuration, unless\n"
	"--standalone, --ro, --run-as, --config or MSP_CONFIG is given; else msp starts\n"
	"a supervisor for CMD alone.\n"
	"\n"
	"Without CMD, the command of the profile's image runs, if it has one.\n"
	"\n"
	"Options end at '--' or at the first word that is none. The exit code is CMD's\n"
	"own, or\n"
	"  124      it was ended by the timeout\n"
	"  125      the sandbox could not be made\n"
	"  126,127  CMD could not be executed, or was not found in the sandbox\n"
	"  128+N    it was ended by signal N\n"
	"  64       the command line is wrong\n"
	"  75       too much runs already, or the service stopped; later it may work\n"
	"  78       this machine does not fulfil the policy, or the configuration is\n"
	"           wrong; 'msp doctor' says why\n";

/* Use the command that the profile has from its image. The words stay there. False: it has none. */
static bool take_command(const struct run_options *options, char **ret, int room)
{
	static struct config config = CONFIG_UNREAD;
	static char bytes[IPC_ARGV_MAX];
	const char *name = options->trial.profile;
	char text[CONFIG_TEXT_MAX];
	const struct plan_profile *profile;
	const struct plan *plan;
	int count = 0;

	config.given = options->execute.attach.config;
	plan = config_read(&config, text) == 0 && config.plan_fd >= 0 ? config_plan(&config) : NULL;
	if (!plan)
		return false;
	if (!name)
		name = plan_string(plan, plan_header(plan)->default_profile);
	profile = profile_find(plan, name);
	if (!profile || profile->command_size > sizeof(bytes))
		return false;
	memcpy(bytes, plan_bytes(plan, profile->command), profile->command_size);
	for (char *word = bytes; word < bytes + profile->command_size && count < room;
	     word += strlen(word) + 1)
		ret[count++] = word;
	return count > 0;
}

static int run_run(const struct command *command, int argc, char *argv[])
{
	static struct run_options options = { .execute.attach.limits = LIMITS_UNSAID };
	struct execute what = { .options = &options.execute, .binds = &options.trial.binds };
	static char *words[WORDS_MAX + 1];
	char text[OPTIONS_TEXT_MAX];
	const char *conflict;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	what.words = rest < argc ? argv + rest : words;
	if (rest == argc && !take_command(&options, words, WORDS_MAX))
		return command_usage_error(command,
					   "a command is missing: msp run -- CMD [ARG]...");
	conflict = trial_find_conflict(&options.trial, options.execute.is_json);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	if (options.trial.workspace && directory_is_at(what.words[0])) /* meant for --workspace */
		return command_usage_error(
			command,
			"'%s' is a directory, not a command. A directory for --workspace follows "
			"an equals sign: --workspace=%s",
			what.words[0], what.words[0]);
	command_name_lines(command);
	what.profile = options.trial.profile ? options.trial.profile : "";
	what.no_hosts = options.trial.no_hosts;
	what.is_variable = !options.trial.profile;
	if (what.is_variable && !option_read_default_profile(&what.profile, text))
		return log_fail(MSP_EXIT_USAGE, "%s", text);
	return options.trial.workspace ? trial_run(&options.trial, &what) : execute(&what);
}

const struct command command_run = {
	.name = "run",
	.operands = "[[--] CMD [ARG]...]",
	.summary = "run one command in a sandbox",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_run,
};
