/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp version` and `msp help`.
 */
#include <stdio.h>
#include <string.h>

#include "common/text/format.h"
#include "options/everywhere.h"
#include "show/print.h"
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

#define TITLE_COLUMN 17
#define COLUMNS 80

static int finish_help(void)
{
	return fflush(stdout) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}

/* Print the names of the group that begins at commands[i]. */
static void print_group(size_t i)
{
	char names[256] = "";

	(void)printf("  %-*s", TITLE_COLUMN - 2, command_group(commands[i]));
	do
		format_append(names, sizeof(names), "%s ", commands[i++]->name);
	while (i < command_count && !command_group(commands[i]));
	print_wrapped(names, TITLE_COLUMN, COLUMNS);
}

static int print_overview(void)
{
	(void)fputs(
		"msp runs commands that nobody has checked, such as those an AI agent writes, in\n"
		"sandboxes that cannot reach your files, your keys or your network.\n"
		"\n"
		"usage: msp [-C DIR] [-q] COMMAND [OPTIONS]\n"
		"\n",
		stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (command_group(commands[i]))
			print_group(i);
	}
	(void)fputs("\n"
		    "examples:\n"
		    "  msp run -- python3 -c 'print(6 * 7)'\n"
		    "  msp run -w -- make test && msp diff -1 && msp apply -1\n"
		    "  msp client-config claude > .mcp.json\n"
		    "\n"
		    "'msp help COMMAND' explains one, 'msp help commands' has a line for each.\n"
		    "'msp doctor' checks this machine.\n",
		    stdout);
	return finish_help();
}

static int print_commands(void)
{
	for (size_t i = 0; i < command_count; i++)
		(void)printf("  %-15s %s\n", commands[i]->name, commands[i]->summary);
	return finish_help();
}

static int print_common_options(void)
{
	(void)fputs("Options of every command, before or behind its name:\n", stdout);
	command_print_options(&everywhere_options, true);
	(void)fputs("\nOptions of many commands, whose help names them:\n", stdout);
	command_print_options(&command_run.options, true);
	(void)fputs("\nA value may also be the next word: '--limits fallback'.\n", stdout);
	return finish_help();
}

/* Texts that are no command's. */
static const struct {
	const char *name;
	int (*print)(void);
} topics[] = {
	{ "commands", print_commands },
	{ "options", print_common_options },
};

static int show_help(const struct command *command, int argc, char *argv[])
{
	const struct command *topic;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, NULL, &rest, &code))
		return code;
	if (rest == argc)
		return print_overview();
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (strcmp(argv[rest], topics[i].name) == 0)
			return topics[i].print();
	}
	topic = command_find(argv[rest]);
	return topic ? command_print_help(topic) : command_refuse_unknown(argv[rest]);
}

const struct command command_help = {
	.name = "help",
	.operands = "[COMMAND | commands | options]",
	.summary = "explain msp, or one command",
	.help = "Explain msp, or one command with its options. 'commands' shows a line for each\n"
		"command, and 'options' the options that many commands share.\n",
	.options = { .has_operands = true },
	.run = show_help,
};
