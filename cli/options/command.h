/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of msp as data: its name, options and help; and what all commands do with their words.
 */
#ifndef CLI_OPTIONS_COMMAND_H
#define CLI_OPTIONS_COMMAND_H

#include <stddef.h>

#include "options/options.h"

/* An action of a command, which its first operand names: the first member of a row. */
struct command_action {
	const char *name;
	int least, most;  /* words behind it */
	const char *rule; /* their number in a phrase */
};

/* Rows of a command's own, at most COMMAND_ACTIONS_MAX. */
struct action_table {
	const void *rows;
	size_t size; /* bytes of a row */
	size_t count;
};
#define COMMAND_ACTIONS_MAX 8
#define ACTION_ROWS(rows_)                                                                         \
	{                                                                                          \
		.rows = (rows_), .size = sizeof((rows_)[0]),                                       \
		.count = sizeof(rows_) / sizeof((rows_)[0])                                        \
	}

struct command {
	const char *name;
	const char *operands; /* words behind the options, for the usage line */
	const char *summary;  /* one line */
	const char *help;     /* paragraphs, each line at most 78 columns */
	struct option_table options;
	struct action_table actions;
	/* argv[0] is the command's name. Returns the exit code of msp. */
	int (*run)(const struct command *command, int argc, char *argv[]);
};

/*
 * Read a command's options into `target`. True: go on with argv[*ret_rest]. False: help was shown,
 * or a usage error explained; *ret_exit is what to exit with.
 */
bool command_parse(const struct command *command, int argc, char *argv[], void *target,
		   int *ret_rest, int *ret_exit);

#define COMMAND_WORDS_MAX 256

/* Operands. */
struct command_words {
	int most; /* that the command takes, at most COMMAND_WORDS_MAX */
	int count;
	char *list[COMMAND_WORDS_MAX + 1]; /* NULL behind the last one */
};

/* Parse options with operands, which may stand before, between and behind them. */
bool command_parse_words(const struct command *command, int argc, char *argv[], void *target,
			 struct command_words *words, int *ret_exit);

/* Parse words of which the first names an action of the command, with as many behind it as that
 * takes. Return its row, or NULL: *ret_exit, as above. */
const void *command_parse_action(const struct command *command, int argc, char *argv[],
				 void *target, struct command_words *words, int *ret_exit);

/* Parse words of which the first must be what a sandbox can be called. */
bool command_parse_sandbox(const struct command *command, int argc, char *argv[], void *target,
			   struct command_words *words, int *ret_exit);

/* Is `word` what a sandbox can be called? False: *ret_exit, after a usage error was explained. */
bool command_check_sandbox(const struct command *command, const char *word, int *ret_exit);

/* From now on lines on stderr begin with the command's name. */
void command_name_lines(const struct command *command);

/* A usage error of `command` (NULL: of msp itself) on stderr. Returns its exit code. */
int command_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Say that an act has failed (-errno). Returns MSP_EXIT_REFUSED. */
int command_fail(const char *act, int error);

/* Return `code`, or if printing failed (-errno), another exit code after a line. */
int command_judge_output(int error, int code);

/* Print what the help says about the options of a table: the common ones, or the others. */
void command_print_options(const struct option_table *table, bool is_common);

/* Print the help of a command on stdout. Returns the exit code of msp. */
int command_print_help(const struct command *command);

#endif
