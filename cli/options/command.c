/* SPDX-License-Identifier: Apache-2.0 */
#include "options/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/text/format.h"
#include "lib/heap/memory.h"
#include "options/everywhere.h"
#include "options/sandbox_search.h"
#include "options/suggest.h"
#include "show/print.h"

#define COLUMNS 80
#define HELP_COLUMN 26

int command_usage_error(const struct command *command, const char *format, ...)
{
	char text[OPTIONS_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (command)
		log_line("%s: %s. 'msp help %s' shows its use", command->name, text, command->name);
	else
		log_line("%s. 'msp help' shows the commands", text);
	return MSP_EXIT_USAGE;
}

bool command_check_sandbox(const struct command *command, const char *word, int *ret_exit)
{
	const char *taken;
	const char *rule = option_set_sandbox(&taken, word);
	uint32_t number;

	if (!rule || (command->options.has_recent && sandbox_is_recent(word, &number)))
		return true;
	*ret_exit =
		command_usage_error(command, "'%.100s' is no sandbox: it must be %s", word, rule);
	return false;
}

void command_name_lines(const struct command *command)
{
	static char name[32];

	format_text(name, sizeof(name), "msp: %s", command->name);
	log_set_name(name);
}

bool command_parse(const struct command *command, int argc, char *argv[], void *target,
		   int *ret_rest, int *ret_exit)
{
	char text[OPTIONS_TEXT_MAX] = "";

	switch (options_parse(&command->options, argc, argv, target, ret_rest, text)) {
	case OPTIONS_OK:
		return true;
	case OPTIONS_HELP:
		*ret_exit = command_print_help(command);
		return false;
	case OPTIONS_WRONG:
		break;
	}
	*ret_exit = command_usage_error(command, "%s", text);
	return false;
}

bool command_parse_words(const struct command *command, int argc, char *argv[], void *target,
			 struct command_words *words, int *ret_exit)
{
	int rest;

	for (;;) {
		if (!command_parse(command, argc, argv, target, &rest, ret_exit))
			return false;
		argc -= rest;
		argv += rest;
		if (argc == 0)
			return true;
		if (words->count == words->most) {
			*ret_exit =
				command_usage_error(command, "'%s' is one word too many", argv[0]);
			return false;
		}
		words->list[words->count++] = argv[0];
	}
}

bool command_parse_sandbox(const struct command *command, int argc, char *argv[], void *target,
			   struct command_words *words, int *ret_exit)
{
	if (!command_parse_words(command, argc, argv, target, words, ret_exit))
		return false;
	if (words->count > 0)
		return command_check_sandbox(command, words->list[0], ret_exit);
	*ret_exit = command_usage_error(command, "a sandbox is missing: msp %s %s", command->name,
					command->operands);
	return false;
}

static const struct command_action *action_at(const struct action_table *table, size_t i)
{
	return (const void *)((const char *)table->rows + i * table->size);
}

/* A usage error: `word`, the first operand or NULL, is no action of the command. */
static int refuse_action(const struct command *command, const char *word)
{
	const size_t count = command->actions.count;
	const char *names[COMMAND_ACTIONS_MAX];
	char text[OPTIONS_TEXT_MAX];

	if (count > COMMAND_ACTIONS_MAX)
		bug("a command has more actions than there is room for");
	if (!word)
		return command_usage_error(command, "the action is missing; expected %s",
					   command->operands);
	format_text(text, sizeof(text), "there is no action '%s', only", word);
	for (size_t i = 0; i < count; i++) {
		names[i] = action_at(&command->actions, i)->name;
		format_append(text, sizeof(text), "%s %s",
			      i == 0          ? ""
			      : i + 1 < count ? ","
					      : " and",
			      names[i]);
	}
	suggest_append(text, sizeof(text), word, names, count);
	return command_usage_error(command, "%s", text);
}

const void *command_parse_action(const struct command *command, int argc, char *argv[],
				 void *target, struct command_words *words, int *ret_exit)
{
	if (!command_parse_words(command, argc, argv, target, words, ret_exit))
		return NULL;
	for (size_t i = 0; words->count > 0 && i < command->actions.count; i++) {
		const struct command_action *action = action_at(&command->actions, i);
		const int behind = words->count - 1;

		if (strcmp(action->name, words->list[0]) != 0)
			continue;
		if (behind >= action->least && behind <= action->most)
			return action;
		*ret_exit = command_usage_error(command, "%s", action->rule);
		return NULL;
	}
	*ret_exit = refuse_action(command, words->list[0]);
	return NULL;
}

static void print_option(const struct option_row *row)
{
	char text[OPTIONS_TEXT_MAX] = "";
	int used;

	if (row->letter)
		format_text(text, sizeof(text), "-%c, ", row->letter);
	format_append(text, sizeof(text), "--%s", row->name);
	if (row->argument)
		format_append(text, sizeof(text), row->is_optional ? "[=%s]" : "=%s",
			      row->argument);
	used = printf("  %s", text);
	if (used + 2 > HELP_COLUMN)
		(void)printf("\n%*s", HELP_COLUMN, "");
	else
		(void)printf("%*s", HELP_COLUMN - used, "");
	print_wrapped(row->help, HELP_COLUMN, COLUMNS);
}

void command_print_options(const struct option_table *table, bool is_common)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].is_common == is_common)
			print_option(&table->rows[i]);
	}
}

static size_t count_common(const struct option_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++)
		count += table->rows[i].is_common;
	return count;
}

/* Name the common options of a command in one sentence. */
static void print_common(const struct option_table *table)
{
	char text[OPTIONS_TEXT_MAX] = "'msp help options' explains -C, -q";

	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].is_common)
			format_append(text, sizeof(text), ", --%s", table->rows[i].name);
	}
	format_append(text, sizeof(text), ".");
	(void)putchar('\n');
	print_wrapped(text, 0, COLUMNS);
}

int command_fail(const char *act, int error)
{
	return log_fail(MSP_EXIT_REFUSED, "%s: %s", act, errno_text(-error));
}

int command_judge_output(int error, int code)
{
	if (!error)
		return code;
	return log_fail(MSP_EXIT_SOFTWARE, "standard output: %s", errno_text(-error));
}

int command_print_help(const struct command *command)
{
	const struct option_table *table = &command->options;
	const bool is_wide = sizeof("usage: msp  [OPTIONS]") + strlen(command->name) +
				     strlen(command->operands) >
			     COLUMNS;

	(void)printf("usage: msp %s%s%s%s\n\n%s", command->name,
		     command->options.count > 0 ? " [OPTIONS]" : "",
		     is_wide                ? "\n       "
		     : command->operands[0] ? " "
					    : "",
		     command->operands, command->help);
	if (count_common(table) < table->count)
		(void)fputs("\noptions:\n", stdout);
	command_print_options(table, false);
	print_common(table);
	return fflush(stdout) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}
