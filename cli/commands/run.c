/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp run`: one command in a sandbox of its own, its streams live.
 */
#include <string.h>

#include "ask/execute.h"
#include "commands/detach.h"
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
	struct detach_options detach;
};

static const struct option_row rows[] = {
	TRIAL_ROWS(struct run_options, trial),
	DETACH_ROWS(struct run_options, detach),
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
	"one before. For a sandbox that stays longer, see 'msp help create'. With -d CMD\n"
	"runs in the background, and with -t it has a terminal there, as with 'msp exec'.\n"
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

static const char *find_conflict(const struct run_options *options)
{
	const struct trial_options *trial = &options->trial;
	const char *conflict = detach_find_conflict(&options->detach);

	if (!conflict && options->detach.is_detached && !trial->workspace)
		return "--detach is for --workspace, or for 'msp exec': a sandbox that is gone at "
		       "the end keeps no output";
	if (!conflict && options->detach.is_detached && (trial->is_discarded || trial->is_reviewed))
		return "--detach excludes --discard and --review: the output is in the sandbox, "
		       "and nobody is asked at the end";
	return conflict ? conflict : trial_find_conflict(trial, options->execute.is_json);
}

/* Be the keeper's part of a trial. */
static int run_kept(void *context, const struct execute *what)
{
	return trial_run(context, what);
}

static int run_run(const struct command *command, int argc, char *argv[])
{
	static struct run_options options = { .execute.attach.limits = LIMITS_UNSAID };
	struct execute what = { .options = &options.execute, .binds = &options.trial.binds };
	const struct background_way way = { .run = run_kept, .context = &options.trial };
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
	conflict = find_conflict(&options);
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
	if (options.detach.is_detached)
		return detach_command(&options.detach, &what, &way);
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
