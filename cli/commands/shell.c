/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp shell`: a shell in a persistent sandbox, or over the current project as `msp run
 * --workspace`.
 */
#include <string.h>
#include <unistd.h>

#include "commands/trial.h"
#include "common/text/format.h"
#include "launcher/start/config.h"
#include "options/command.h"

struct shell_options {
	struct execute_options execute;
	struct trial_options trial;
};

static const struct option_row rows[] = {
	TRIAL_ROWS(struct shell_options, trial),
	SHELL_ROWS(struct shell_options, execute),
};

static const char help[] =
	"Start a shell in SANDBOX, whose prompt shows it; bash where the sandbox has it,\n"
	"else sh. Without SANDBOX it is a shell over this directory, or that of\n"
	"--workspace, as with 'msp run --workspace': nothing there changes, and what the\n"
	"shell leaves in it is kept for an hour, for 'msp diff -1' and 'msp apply -1'.\n"
	"The shell reads no start-up files. Its commands come from standard input, which\n"
	"need not be a terminal.\n"
	"\n"
	"SANDBOX is the name, the id, the first four or more characters of the id, or -1\n"
	"for the last 'msp run --workspace'. The exit code is the shell's, else as with\n"
	"'msp run'.\n";

/* The shell finds its prompt in the environment; only start-up files, which --norc leaves out,
 * would replace it. dash knows no directory in a prompt. */
static char script[] = "if command -v bash >/dev/null 2>&1; then\n"
		       "\texport PS1=\"[msp $1] \\\\w\\\\$ \"\n"
		       "\texec bash --norc\n"
		       "fi\n"
		       "export PS1=\"[msp $1] $ \"\n"
		       "exec sh\n";

/* Find the word that the prompt shows of a project: its last part, if a shell takes it as it is. */
static void name_project(const char *path, char ret[IPC_NAME_MAX])
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "._-";
	char here[IPC_PATH_MAX];
	const char *name;

	if (strcmp(path, ".") == 0 && getcwd(here, sizeof(here)))
		path = here;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	if (name[0] == '\0' || strlen(name) >= IPC_NAME_MAX || name[strspn(name, safe)] != '\0')
		name = "workspace";
	format_text(ret, IPC_NAME_MAX, "%s", name);
}

static const char *find_conflict(const struct shell_options *options, const char *sandbox)
{
	const struct trial_options *trial = &options->trial;

	if (sandbox && (trial->workspace || trial->profile || trial->no_hosts ||
			trial->is_discarded || trial->is_reviewed || trial->binds.count > 0))
		return "--workspace, --profile, --network, --ro, --discard and --review are for a "
		       "shell without a SANDBOX: leave one of the two out";
	return sandbox ? NULL : trial_find_conflict(trial, false);
}

static int run_shell(const struct command *command, int argc, char *argv[])
{
	static struct shell_options options = { .execute.attach.limits = LIMITS_UNSAID };
	static struct command_words words = { .most = 1 };
	static char name[IPC_NAME_MAX];
	static char sh[] = "sh";
	static char flag[] = "-c";
	char *const shell[] = { sh, flag, script, sh, name, NULL };
	struct execute what = {
		.options = &options.execute, .profile = "", .words = shell, .is_shell = true
	};
	const char *conflict;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	what.sandbox = words.list[0];
	if (what.sandbox && !command_check_sandbox(command, what.sandbox, &code))
		return code;
	if (!what.sandbox && !options.trial.workspace)
		(void)trial_set_workspace(&options.trial, NULL);
	conflict = find_conflict(&options, what.sandbox);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	command_name_lines(command);
	if (what.sandbox) {
		format_text(name, sizeof(name), "%s", what.sandbox);
		return execute(&what);
	}
	name_project(options.trial.workspace, name);
	return trial_run(&options.trial, &what);
}

const struct command command_shell = {
	.name = "shell",
	.operands = "[SANDBOX]",
	.summary = "start a shell in a sandbox, or over this directory",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_shell,
};
