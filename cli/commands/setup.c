/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp setup`: walks a person through what the doctor misses, and does what it may after a
 * question.
 */
#include <errno.h>
#include <stdio.h>

#include "common/log.h"
#include "options/command.h"
#include "setup/walk.h"
#include "show/confirm.h"
#include "show/print.h"
#include "table.h"

struct setup_options {
	bool is_dry;
	bool is_agreed;
};

static const struct option_row rows[] = {
	OPTION(struct setup_options, "dry-run", NULL, option_set_flag, is_dry,
	       "print what would be done, and change nothing"),
	OPTION(struct setup_options, "yes", NULL, option_set_flag, is_agreed, "do not ask"),
};

/* Examine and walk; once more after the account that root becomes was made. 0, or the exit code. */
static int walk_all(struct setup_walk *walk, struct examination *found)
{
	int error;

	do {
		walk->has_changed = false;
		error = examination_make(found);
		if (error)
			return log_fail(error == -EPERM ? MSP_EXIT_REFUSED : MSP_EXIT_SOFTWARE,
					"setup: this machine cannot be examined: %s%s",
					errno_text(-error),
					error == -EPERM ? ". msp must not be setuid" : "");
	} while (!setup_walk(walk, found) && walk->has_changed);
	return 0;
}

static int run_setup(const struct command *command, int argc, char *argv[])
{
	static struct examination found;
	static struct setup_walk walk;
	struct setup_options options = { 0 };
	char name[] = "doctor";
	char *doctor[] = { name, NULL };
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (options.is_dry && options.is_agreed)
		return command_usage_error(command, "--dry-run asks nothing, --yes cannot be given "
						    "too");
	if (!options.is_dry && !options.is_agreed && !confirm_is_possible())
		return log_fail(
			MSP_EXIT_USAGE,
			"setup: nothing was done: there is no terminal to ask on. --dry-run only "
			"prints what would be done, and --yes does it without a question");
	code = launch_standard_fds() < 0 || !launch_own_path(walk.program);
	if (code)
		return log_fail(MSP_EXIT_SOFTWARE,
				"setup: /dev/null or /proc/self/exe cannot be read");
	walk.is_dry = options.is_dry;
	walk.is_agreed = options.is_agreed;
	code = walk_all(&walk, &found);
	if (code)
		return code;
	if (!walk.has_shown)
		(void)puts("There is nothing to do.");
	code = found.verdict.is_fit ? 0 : MSP_EXIT_REFUSED;
	if (!options.is_dry) {
		(void)puts("");
		code = command_doctor.run(&command_doctor, 1, doctor);
	}
	if (print_flush() != 0 || walk.has_failed)
		code = MSP_EXIT_SOFTWARE;
	return code;
}

const struct command command_setup = {
	.name = "setup",
	.operands = "",
	.summary = "mend what this machine lacks, after a question",
	.help = "Walk through what 'msp doctor' misses on this machine. What msp may mend is\n"
		"shown, with the command or the file and its text, and done after a yes. For\n"
		"what root must do, an ordinary user gets the command line. For the rest the\n"
		"remedy is said. At the end the doctor examines the machine again.\n",
	.options = { OPTION_ROWS(rows) },
	.run = run_setup,
};
