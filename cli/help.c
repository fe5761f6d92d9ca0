/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp version` and `msp help`.
 */
#include <stdio.h>

#include "show/format.h"
#include "table.h"

static int run_version(const struct command *command, int argc, char *argv[])
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
	.run = run_version,
};

static int print_overview(void)
{
	(void)fputs(
		"msp runs commands that nobody has checked, such as those an AI agent writes, in\n"
		"sandboxes that cannot reach your files, your keys or your network.\n"
		"\n"
		"usage: msp COMMAND [OPTIONS]\n"
		"\n"
		"commands:\n",
		stdout);
	for (size_t i = 0; i < command_count; i++)
		(void)printf("  %-15s %s\n", commands[i]->name, commands[i]->summary);
	(void)fputs("\n"
		    "examples:\n"
		    "  msp run -- python3 -c 'print(6 * 7)'\n"
		    "  msp run --ro=/srv/data:/data --timeout=10s -- sh -c 'wc -l /data/*'\n"
		    "  msp create --name=try --workspace=. && msp exec try make && msp diff try\n"
		    "  msp client-config claude > .mcp.json\n"
		    "\n"
		    "'msp help COMMAND' says more. 'msp doctor' checks this machine.\n",
		    stdout);
	return fflush(stdout) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}

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
		return print_overview();
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
