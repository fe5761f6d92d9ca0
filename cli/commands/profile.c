/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp profile`, `msp policy` and `msp network`: what the operator's configuration amounts to, or
 * can name. msp-policy answers, in the place of msp; what is found here is the configuration that a
 * start would use.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/network.h"
#include "common/log.h"
#include "common/text/format.h"
#include "doctor/own_addresses.h"
#include "launcher/host/account.h"
#include "launcher/host/pins.h"
#include "launcher/host/state_place.h"
#include "launcher/start/compile.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"

/* Words for msp-policy: the operands, its name, --config, its value, and the end. */
#define POLICY_WORDS_MAX (COMMAND_WORDS_MAX + 8)

/* `msp profile` and `msp policy` have the configuration alone. */
static const struct option_row rows[] = {
	OPTION_CONFIG(struct network_options, attach.config),
};

static const char *set_client(void *target, const char *text)
{
	const char **client = target;

	*client = text;
	return text[0] ? NULL : "a number, as 'msp network asked' shows it";
}

static const struct option_row network_rows[] = {
	OPTION(struct network_options, "sandbox", "SANDBOX", option_set_sandbox, sandbox,
	       "approve: for this persistent sandbox, which need not have asked"),
	OPTION(struct network_options, "client", "N", set_client, client,
	       "approve: for all sandboxes of this client, until its session ends"),
	OPTION(struct network_options, "json", NULL, option_set_flag, is_json,
	       "list: print one JSON object"),
	ATTACH_ROWS(struct network_options, attach),
};

/* Room for msp-policy's name of an action. */
#define ASKED_MAX 32

struct action {
	struct command_action is;
	bool is_bare;      /* it is not about a configuration */
	const char *asked; /* msp-policy's name for it; NULL: the same */
	int (*run)(const struct network_options *options, char *const words[]); /* in its place */
};

static int give_up(const struct command *command, const char *text, int code)
{
	return log_fail(code, "%s: %s", command->name, text);
}

static int become_policy(const struct command *command, char *asked, char *path, char *words[],
			 int count)
{
	static char program[] = "msp-policy";
	static char option[] = "--config", option_images[] = "--images", option_home[] = "--home";
	static char images[IPC_PATH_MAX], home[IPC_PATH_MAX];
	const char *found = compile_home();
	char *all[POLICY_WORDS_MAX] = { program, asked };
	char text[CONFIG_TEXT_MAX];
	int used = 2;
	int code;

	if (path[0]) {
		all[used++] = option;
		all[used++] = path;
		if (found) {
			format_text(home, sizeof(home), "%s", found);
			all[used++] = option_home;
			all[used++] = home;
		}
		if (state_place_images(images)) {
			all[used++] = option_images;
			all[used++] = images;
		}
	}
	for (int i = 1; i < count; i++)
		all[used++] = words[i];
	code = compile_become(all, text);
	return give_up(command, text, code);
}

/* Say what prevents a start with this configuration's paths, and which of its hosts have addresses
 * of this machine: in a child, which as root becomes the account that would open them. 0, or the
 * exit code after a message. */
static int check_paths(const struct command *command, const char *path)
{
	struct config config = CONFIG_UNREAD;
	char text[LAUNCH_TEXT_MAX];
	int status = 0;
	int code = 0;
	const pid_t pid = fork();

	if (pid != 0) {
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return give_up(command, "the paths cannot be checked", MSP_EXIT_SOFTWARE);
		return WEXITSTATUS(status);
	}
	config.given = path;
	config.is_roots = geteuid() == 0;
	if (config_read(&config, text) != 0)
		_exit(0); /* msp-policy says it */
	if (launch_drop_root(NULL, &config, &code, text) != 0)
		_exit(give_up(command, text, code));
	if (pins_check(config_plan(&config), text) != 0)
		_exit(give_up(command, text, MSP_EXIT_REFUSED));
	own_addresses_log(config_plan(&config));
	_exit(0);
}

static int run_action(const struct command *command, const struct action *action, const char *given,
		      char *words[], int count)
{
	static char path[IPC_PATH_MAX];
	const bool is_check = strcmp(action->is.name, "check") == 0;
	char asked[ASKED_MAX];
	char text[CONFIG_TEXT_MAX];
	int code = 0;

	if (is_check && count == 2)
		given = words[--count];
	if (!action->is_bare && config_find(given, path, text) != 0)
		return give_up(command, text, MSP_EXIT_REFUSED);
	if (strcmp(action->is.name, "list") == 0 || (is_check && !path[0]))
		log_line("configuration: %s", path[0] ? path : "built-in");
	/* The built-in profiles were checked when msp was built. */
	if (is_check && !path[0])
		return 0;
	if (is_check)
		code = check_paths(command, path);
	format_text(asked, sizeof(asked), "%s", action->asked ? action->asked : action->is.name);
	return code ? code : become_policy(command, asked, path, words, count);
}

static int choose_action(const struct command *command, int argc, char *argv[])
{
	struct network_options options = { .attach.limits = LIMITS_UNSAID };
	const struct action *action;
	struct command_words words = { .most = COMMAND_WORDS_MAX };
	int code;

	action = command_parse_action(command, argc, argv, &options, &words, &code);
	if (!action)
		return code;
	if ((options.sandbox || options.client) && action->run != network_approve)
		return command_usage_error(command, "--sandbox and --client are for approve");
	if (options.is_json && action->run != network_list)
		return command_usage_error(command, "--json is for list");
	if (options.sandbox && options.client)
		return command_usage_error(command, "--sandbox and --client exclude one another");
	if (options.attach.config && !action->run &&
	    (action->is_bare || (action->is.least == 0 && words.count > 1)))
		return command_usage_error(command, "%s", action->is.rule);
	if (action->run)
		return action->run(&options, words.list + 1);
	if (launch_standard_fds() < 0)
		return give_up(command, "/dev/null cannot be opened", MSP_EXIT_SOFTWARE);
	if (account_is_setuid())
		return give_up(command, "msp must not be setuid or setgid", MSP_EXIT_REFUSED);
	return run_action(command, action, options.attach.config, words.list, words.count);
}

static const struct action profile_actions[] = {
	{ .is = { "list", 0, 0, "list takes no name" } },
	{ .is = { "show", 1, 1, "show takes the name of one profile: show NAME" } },
	{ .is = { "check", 0, 1, "check takes one file, or --config, or none of the two" } },
	{ .is = { "diff", 2, 2, "diff takes the names of two profiles: diff NAME NAME" } },
};

static const struct action policy_actions[] = {
	{ .is = { "seccomp", 1, 1, "seccomp takes the name of one profile: seccomp NAME" } },
	{ .is = { "groups", 0, 0, "groups takes no name and no --config" }, .is_bare = true },
	{ .is = { "explain", 2, COMMAND_WORDS_MAX,
		  "explain takes a profile and an operation: explain NAME 'read /etc/passwd'" } },
};

static const struct action network_actions[] = {
	{ .is = { "list", 1, 1, "list takes the name of one sandbox: list SANDBOX" },
	  .run = network_list },
	{ .is = { "asked", 0, 0, "asked takes no name" }, .run = network_asked },
	{ .is = { "approve", 1, 1, "approve takes one host: approve HOST[:PORT]" },
	  .run = network_approve },
	{ .is = { "tighten", 1, 2,
		  "tighten takes a sandbox, and one host or none: tighten SANDBOX [HOST]" },
	  .run = network_tighten },
	{ .is = { "groups", 0, 0, "groups takes no name and no --config" },
	  .is_bare = true,
	  .asked = "hosts" },
};

const struct command command_profile = {
	.name = "profile",
	.operands = "list | show NAME | check [FILE] | diff NAME NAME",
	.summary = "show and check the profiles of the configuration",
	.help = "What sandboxes are: a profile says what one may see, do and use. The built-in\n"
		"profiles are there always; the operator's configuration has others, and says\n"
		"which one is used where none is named.\n"
		"\n"
		"  list             the profiles, and on standard error which file is in force\n"
		"  show NAME        what a profile amounts to, with all that it inherits\n"
		"  check [FILE]     say what is wrong with a configuration, if anything\n"
		"  diff NAME NAME   in what two profiles differ\n"
		"\n"
		"Root sees the configuration that a start by root reads. The exit code is 0, 64\n"
		"when the command line is wrong, and 78 when the configuration is.\n",
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(profile_actions),
	.run = choose_action,
};

const struct command command_policy = {
	.name = "policy",
	.operands = "seccomp NAME | groups | explain NAME OPERATION",
	.summary = "explain what a profile allows and refuses",
	.help = "What a profile decides, and where that is said.\n"
		"\n"
		"  seccomp NAME     its system calls, by group, with reasons\n"
		"  groups           the groups of system calls that a profile can name\n"
		"  explain NAME OPERATION\n"
		"                   whether a workload may do it, and by which rule: 'read PATH',\n"
		"                   'write PATH', 'create PATH', 'delete PATH', 'list PATH',\n"
		"                   'exec PATH', 'connect HOST:PORT', 'connect unix:PATH',\n"
		"                   'resolve HOST', 'bind PORT', 'request METHOD URL',\n"
		"                   'use SECRET at HOST' or 'syscall NAME'\n"
		"\n"
		"The exit code is 0, 64 when the command line is wrong, and 78 when the\n"
		"configuration is.\n",
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(policy_actions),
	.run = choose_action,
};

const struct command command_network = {
	.name = "network",
	.operands = "list | asked | approve | tighten | groups ...",
	.summary = "show and change what running sandboxes reach",
	.help = "A profile with 'network: hosts' has a list of hosts. Hosts that one tool needs\n"
		"together are a group, which the list names as '@GROUP'.\n"
		"\n"
		"  list SANDBOX     the hosts that a persistent sandbox is connected to now, each\n"
		"                   with the number that 'msp logs' has, and what its network\n"
		"                   refused lately; earlier connections are in 'msp logs'.\n"
		"                   Hosts that were granted or taken away are shown, too\n"
		"  asked            the hosts that sandboxes were refused and that you can grant,\n"
		"                   since their profile says 'host_approval': how often, when,\n"
		"                   and the persistent sandbox or the client\n"
		"  approve HOST[:PORT]\n"
		"                   let the sandbox or client that asked for the host reach it\n"
		"                   until it ends: it tries again. The profile stays as it is\n"
		"  tighten SANDBOX [HOST]\n"
		"                   take the host, or all hosts, away from a sandbox until it\n"
		"                   ends, those of its profile, too; open connections end at\n"
		"                   once\n"
		"  groups           the groups, what they are for, and their hosts\n"
		"\n"
		"SANDBOX is the name, the id, the first four or more characters of the id, or -1\n"
		"for the last 'msp run --workspace'. The exit code is 0; 64 when the command\n"
		"line is wrong, there is no such sandbox, or nobody or several ask for the host;\n"
		"75 when nothing runs in the sandbox; and 78 when its profile lets no host be\n"
		"added.\n",
	.options = { OPTION_ROWS(network_rows), .has_operands = true, .has_recent = true },
	.actions = ACTION_ROWS(network_actions),
	.run = choose_action,
};
