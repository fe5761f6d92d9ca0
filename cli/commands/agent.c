/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp agent`: a coding agent of this machine, as a whole, in a sandbox over the project.
 */
#include "commands/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/repository.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/state_place.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/confirm.h"

static const char *set_word(void *member, const char *value)
{
	const char *rule = agent_word_check(value);

	if (!rule)
		*(const char **)member = value;
	return rule;
}

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct agent_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	ROW("name", "WORD", set_word, word,
	    "another sandbox of the same agent over this project, with files and sessions of its "
	    "own"),
	ROW("ask", NULL, option_set_flag, is_asking,
	    "keep the agent's own questions before it acts; they are off otherwise, since the "
	    "sandbox and the review stand behind it"),
	ROW("login", NULL, option_set_flag, is_login,
	    "start the agent's own login, whose hosts the sandbox then reaches too"),
	ROW("new", NULL, option_set_flag, is_new,
	    "make another sandbox in place of the one that there is, which stays for 'msp diff' "
	    "and 'msp apply'"),
	ROW("timeout", "TIME", option_set_time, execute.timeout_ms,
	    "end the agent after this time, such as 30m or 2h"),
	ROW("env", "NAME=VALUE", option_set_environment, execute.environment,
	    "set a variable inside; your own environment is not passed on"),
	ROW("json", NULL, option_set_flag, execute.is_json, "with 'list': print one JSON object"),
	ATTACH_ROW_LIMITS(struct agent_options, execute.attach),
	ATTACH_ROWS(struct agent_options, execute.attach),
};

static const char help[] =
	"Run a coding agent that is installed here, such as claude or codex, in a sandbox\n"
	"over the project that this directory lies in. It sees the project copy-on-write,\n"
	"its own program, and an empty home of its own: what it changes stays in the\n"
	"sandbox. At the end the changes are shown, with one question: apply them, keep\n"
	"them, or discard them with the sandbox. It reaches the hosts of its model alone.\n"
	"\n"
	"Its key is the value of its variable here, such as ANTHROPIC_API_KEY. The key\n"
	"stays outside: inside, the variable has a placeholder, which the gateway replaces\n"
	"in requests to the key's hosts. Where a variable of the agent leads it to a model\n"
	"on this machine, such as ANTHROPIC_BASE_URL, the sandbox reaches that port.\n"
	"\n"
	"The sandbox stays for 30 days after its last use, with the agent's sessions and\n"
	"login: 'msp agent AGENT' goes on with it. In a terminal the agent goes on when the\n"
	"terminal is closed, or left by the keys that are named at the start, and the same\n"
	"words attach to it again. Without a terminal its streams are passed on.\n"
	"\n"
	"  list    the agents that are known, their programs, keys and sandboxes here\n"
	"  status  the agents of this project: what runs, and how many files changed\n"
	"\n"
	"'msp agent list -q' prints one name for each agent.\n"
	"\n"
	"Words behind '--' are the agent's own. The exit code is the agent's, or that of\n"
	"'msp exec', or\n"
	"  64       the command line is wrong, or there is no such agent\n"
	"  75       the agent runs already, or too much does\n"
	"  78       the agent is not installed, has no key here, or may not be shown\n";

/* --- the project ------------------------------------------------------------------------------ */

static bool is_home(const char *path)
{
	const char *home = account_home();
	char real[IPC_PATH_MAX];

	return home && strlen(home) < sizeof(real) && realpath(home, real) &&
	       strcmp(real, path) == 0;
}

/* Find the project of the current directory. 0, or the exit code after a line. */
static int find_project(struct agent_run *run)
{
	char *project = run->record.project;
	const char *inside = "";

	if (!getcwd(run->here, sizeof(run->here)) || run->here[0] != '/')
		return log_fail(MSP_EXIT_USAGE, "the current directory is gone: name another with "
						"-C DIR");
	if (!repository_find(project, &inside)) {
		format_text(project, sizeof(run->record.project), "%s", run->here);
		inside = "";
	}
	if (is_home(project) || strcmp(project, "/") == 0)
		return log_fail(MSP_EXIT_USAGE,
				"%s is no project, but %s: name a directory in it with -C DIR",
				project,
				strcmp(project, "/") == 0 ? "all of this machine" : "your home");
	format_text(run->inside, sizeof(run->inside), "/workspace%s%s", inside[0] ? "/" : "",
		    inside);
	return 0;
}

/* Find the sandbox of the agent over the project, if there is one. */
static void find_sandbox(struct agent_run *run)
{
	struct agent_record *record = &run->record;
	char text[STATE_PLACE_TEXT_MAX], call[AGENT_CALL_MAX];

	run->is_first = !agent_record_find(record, text);
	if (run->is_first)
		return;
	if (run->options->is_new) {
		everywhere_note("the sandbox %s stays: 'msp diff %s' shows its changes, 'msp "
				"destroy %s' removes it",
				record->sandbox, record->sandbox, record->sandbox);
		run->is_first = true;
	} else if (!agent_has_sandbox(record)) {
		everywhere_note("the sandbox of '%s' over this project is gone, and another one "
				"is made",
				agent_call(record, call));
		run->is_first = true;
	}
	if (!run->is_first)
		return;
	record->profile[0] = record->command[0] = '\0';
	record->has_login = record->has_session = false;
}

/* --- the command ------------------------------------------------------------------------------ */

static int run_agent(struct agent_run *run)
{
	struct agent_record *record = &run->record;
	int code = find_project(run);

	if (code)
		return code;
	format_text(record->agent, sizeof(record->agent), "%s", run->row->name);
	format_text(record->word, sizeof(record->word), "%s",
		    run->options->word ? run->options->word : "");
	find_sandbox(run);
	run->has_terminal = confirm_is_possible();
	if (!run->is_first && agent_is_running(record))
		return agent_join(run);
	code = agent_prepare(run);
	agent_watch_keys(&run->set);
	if (!code)
		code = agent_start(run);
	agent_leave_keys(&run->set);
	return code;
}

/* Become the account, once: later starts find themselves in it. */
static int become_account(struct agent_options *options)
{
	struct attach_options *attach = &options->execute.attach;
	const int code = launch_become_account(attach->config, attach->run_as);

	attach->run_as = NULL;
	return code;
}

static bool is_word(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

/* The conflict of options in a phrase, or NULL. */
static const char *find_conflict(const struct agent_options *options, const char *word)
{
	const bool is_other = is_word(word, "list") || is_word(word, "status");

	if (is_other &&
	    (options->word || options->is_asking || options->is_login || options->is_new))
		return "--name, --ask, --login and --new are for the run of an agent";
	if (options->execute.is_json && !is_word(word, "list"))
		return "--json is for 'msp agent list'";
	if (options->is_login && options->is_asking)
		return "--login and --ask exclude each other: the login asks anyway";
	return NULL;
}

/* Do what the first operand says. */
static int run_word(const struct command *command, struct agent_options *options, const char *word,
		    char *const *arguments)
{
	static struct agent_rows known;
	static struct agent_run run;
	int code;

	if (is_word(word, "status"))
		return arguments[0] ? command_usage_error(command, "'%.100s' is one word too many",
							  arguments[0])
				    : agent_status(options);
	code = agent_rows_load(options->execute.attach.config, &known);
	if (code)
		return code;
	if (is_word(word, "list") && arguments[0])
		return command_usage_error(command, "'%.100s' is one word too many", arguments[0]);
	if (is_word(word, "list"))
		return agent_list(&known, options->execute.is_json);
	run.options = options;
	run.arguments = arguments;
	run.row = agent_rows_find(&known, word);
	return run.row ? run_agent(&run) : agent_rows_refuse(&known, word);
}

static int run_agent_command(const struct command *command, int argc, char *argv[])
{
	static struct agent_options options = { .execute.attach.limits = LIMITS_UNSAID };
	const char *conflict;
	const char *word;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest == argc)
		return command_usage_error(command, "an agent is missing: msp agent AGENT, or 'msp "
						    "agent list' for those that are known");
	argc -= rest;
	argv += rest;
	word = argv[0];
	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	conflict = find_conflict(&options, word);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	command_name_lines(command);
	code = become_account(&options);
	return code ? code : run_word(command, &options, word, argv + rest);
}

const struct command command_agent = {
	.name = "agent",
	.operands = "AGENT [[--] ARG...] | list | status",
	.summary = "run a coding agent in a sandbox over this project",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_agent_command,
};
