/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp create`: a sandbox that keeps its files.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "commands/new_sandbox.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "frontend/words/words.h"
#include "launcher/start/config.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/json.h"
#include "show/print.h"
#include "show/sandbox_text.h"

struct create_options {
	struct attach_options attach;
	struct new_sandbox wanted;
	struct bind_words binds;
	bool is_json;
};

static const char *set_mode(void *member, const char *value)
{
	for (uint32_t mode = WORKSPACE_COPY; mode < WORKSPACE_MODE_COUNT; mode++) {
		if (strcmp(value, workspace_modes[mode]) != 0)
			continue;
		*(uint32_t *)member = mode;
		return NULL;
	}
	return "'copy-on-write', 'read-only' or 'read-write'";
}

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct create_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	ROW("name", "NAME", option_set_sandbox_name, wanted.name,
	    "what to call it: letters, digits, '-', '_' and '.'; no other sandbox of yours may "
	    "have that name"),
	ROW("profile", "NAME", option_set_profile, wanted.profile,
	    "the policy to run under (the default: MSP_DEFAULT_PROFILE, else what the "
	    "configuration says, else 'default')"),
	ROW("network", "none", option_set_no_hosts, wanted.no_hosts, NEW_SANDBOX_NETWORK_HELP),
	ROW("workspace", "DIR", new_sandbox_set_workspace, wanted.workspace,
	    "show this directory at /workspace, such as '.'; without it /workspace is empty"),
	ROW("mode", "MODE", set_mode, wanted.mode,
	    "how --workspace is shown: 'copy-on-write' (the default): what is written stays in "
	    "the sandbox until 'msp apply'; 'read-only'; 'read-write': the directory itself, where "
	    "the profile allows it"),
	NEW_SANDBOX_ROW_RO(struct create_options, binds),
	ROW("ttl", "TIME", option_set_long_time, wanted.ttl_s,
	    "remove it so long after its last use, such as 12h or 7d; never more than the profile "
	    "allows (the default: the profile's)"),
	ROW("json", NULL, option_set_flag, is_json, "print one JSON object in place of the id"),
	ATTACH_ROWS(struct create_options, attach),
};

static const char help[] =
	"Make a sandbox that keeps its files, and print its id. 'msp exec' runs commands\n"
	"in it; what they write to /workspace and to their home stays, on disk, until\n"
	"'msp destroy' or until it was not used for as long as --ttl says. No process\n"
	"stays when none of its commands runs for a while.\n"
	"\n"
	"With --workspace=DIR, /workspace shows DIR of this machine, and nothing of it\n"
	"is changed: 'msp diff' shows what the sandbox made of it, 'msp apply' takes it\n"
	"over. Nothing is shown that was not named: without --workspace, /workspace is\n"
	"empty, also when msp is started in a project. Homes as a whole and places of\n"
	"keys are refused. --ro shows what its commands need beside that, such as a\n"
	"toolchain in your home, for as long as the sandbox lasts.\n"
	"\n"
	"The exit code is\n"
	"  0        it is made\n"
	"  64       the command line is wrong, the name is taken, or DIR may not be shown\n"
	"  75       there are as many sandboxes, or they take as much disk space, as the\n"
	"           operator allows; or the service stopped\n"
	"  78       the configuration is wrong, or there is no place to keep files in\n";

/* Print the id in any case: an unknown sandbox would stay until its time is over. */
static int show_id(const struct create_options *options, const struct ipc_sandbox_info *info,
		   const struct ipc_changes_done *prepared)
{
	int error;

	if (options->is_json) {
		struct json_writer *json = json_begin_object();

		sandbox_write(json, info);
		if (info->workspace_mode == WORKSPACE_COPY)
			new_sandbox_write_foreign(json, prepared);
		error = json_finish();
	} else {
		(void)puts(info->id);
		error = print_flush();
	}
	if (error)
		return log_fail(MSP_EXIT_SOFTWARE, "sandbox %s was made, but standard output: %s",
				info->id, errno_text(-error));
	if (!options->wanted.workspace && isatty(STDERR_FILENO))
		everywhere_note(
			"its /workspace is empty; --workspace=. would show this directory there, "
			"copy-on-write");
	return 0;
}

static int run_create(const struct command *command, int argc, char *argv[])
{
	static struct create_options options = { .attach.limits = LIMITS_UNSAID };
	static struct question question;
	static struct ipc_sandbox_info info;
	static struct asking asking;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest < argc)
		return command_usage_error(
			command, "'%.200s' is one word too many; a name is given as --name=NAME",
			argv[rest]);
	if (options.wanted.mode && !options.wanted.workspace)
		return command_usage_error(command, "--mode is for --workspace");
	command_name_lines(command);
	code = new_sandbox_fill(&options.wanted, &question);
	if (code)
		return code;
	code = ask_begin_new(&asking, &options.attach, &question, &options.binds, false, false);
	question.act = options.is_json ? NULL : "making the sandbox";
	if (!code)
		code = new_sandbox_ask(&asking, &question, &info);
	code = ask_end(&asking, code);
	return code ? code : show_id(&options, &info, &asking.done);
}

const struct command command_create = {
	.name = "create",
	.operands = "",
	.summary = "make a sandbox that keeps its files",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_create,
};
