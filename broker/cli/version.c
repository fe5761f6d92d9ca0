/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp version` and `msp help`.
 */
#include <stdio.h>

#include "command.h"
#include "format.h"

static int version(const struct command *command, int argc, char *argv[])
{
	int rest;
	int code;

	if (!command_parse(command, argc, argv, NULL, &rest, &code))
		return code;
	(void)puts("msp " MSP_VERSION);
	return fflush(stdout) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}

const struct command command_version = {
	.name = "version",
	.operands = "",
	.summary = "print the version",
	.help = "Print the version of msp.\n",
	.run = version,
};

static int show_help(const struct command *command, int argc, char *argv[])
{
	const struct command *topic = NULL;
	char text[OPTIONS_TEXT_MAX];
	const char *near;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, NULL, &rest, &code))
		return code;
	if (rest == argc)
		return command_print_help(NULL);
	topic = command_find(argv[rest]);
	if (topic)
		return command_print_help(topic);
	near = command_suggest(argv[rest]);
	format_text(text, sizeof(text), "there is no command '%s'%s%s%s", argv[rest],
		    near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
	return command_usage_error(NULL, text);
}

const struct command command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "explain msp, or one command",
	.help = "Explain msp, or one command with its options.\n",
	.options = { .has_operands = true },
	.run = show_help,
};
