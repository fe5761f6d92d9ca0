/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines as data: one table of options per command drives parsing, the help text and (the
 * tests compare them) the manual page. Nothing in here prints or exits.
 */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

/*
 * Check `value` and put it into `member`. NULL when it was taken, else the rule that the value
 * breaks, as a phrase that says what would be right. `value` is NULL for an option without one.
 */
typedef const char *option_set(void *member, const char *value);

struct option_row {
	const char *name;     /* without the two dashes */
	const char *argument; /* the value's name in the help; NULL: takes none */
	option_set *set;
	size_t offset; /* the member's in the command's own struct */
	const char *help;
	char letter;      /* -x for short; 0: none */
	bool is_optional; /* the value may be left out, and is only taken behind '=' */
	bool is_common;   /* 'msp help options' explains it, not each command's help */
};

struct option_table {
	const struct option_row *rows;
	size_t count;
	bool has_operands; /* words after the options belong to the command */
	bool has_recent;   /* one of them may be "-1": a kept run */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): `member` is a part of a name, `more` a list. */
/* A row, with what else it has: a letter, or that it is a common option. */
#define OPTION_WITH(type, option, value, setter, member, text, ...)                                \
	{                                                                                          \
		.name = (option), .argument = (value), .set = (setter),                            \
		.offset = offsetof(type, member), .help = (text), __VA_ARGS__                      \
	}
#define OPTION(type, option, value, setter, member, text)                                          \
	OPTION_WITH(type, option, value, setter, member, text, .letter = 0)
#define OPTION_LETTER(type, sign, option, value, setter, member, text)                             \
	OPTION_WITH(type, option, value, setter, member, text, .letter = (sign))
/* NOLINTEND(bugprone-macro-parentheses) */

/* The first two members of a table. */
#define OPTION_ROWS(rows_) .rows = (rows_), .count = sizeof(rows_) / sizeof((rows_)[0])

enum options_result {
	OPTIONS_OK,
	OPTIONS_HELP,  /* --help was asked for */
	OPTIONS_WRONG, /* the text says what and why */
};

#define OPTIONS_TEXT_MAX 512

/*
 * Read argv[1] and on into `target`, up to "--" or the first word that is no option. Each command
 * also takes the options of options/everywhere.h. *ret_rest is the index of the first operand (argc
 * when there is none). With OPTIONS_WRONG, `text` holds one line for the person: value, rule,
 * remedy.
 */
enum options_result options_parse(const struct option_table *table, int argc, char *const argv[],
				  void *target, int *ret_rest, char text[OPTIONS_TEXT_MAX]);

/* K=V strings with a NUL after each, as execution_start carries them. */
struct environment {
	uint32_t size;
	uint8_t bytes[IPC_ENVIRONMENT_MAX];
};

option_set option_set_flag;    /* bool */
option_set option_set_limits;  /* uint32_t, enum limits_mode: what the operator accepts; before:
				* LIMITS_UNSAID */
option_set option_set_time;    /* uint32_t, milliseconds above 0 */
option_set option_set_profile; /* const char * */
option_set option_set_account; /* const char * */
option_set option_set_config;  /* const char *, the path of a file */

/* The row of commands that root may start, and that look for the account nowhere else. */
#define OPTION_RUN_AS(type, member)                                                                \
	OPTION(type, "run-as", "USER", option_set_account, member,                                 \
	       "when root starts msp: the account to become (the default: MSP_RUN_AS, else "       \
	       "'msp')")

/* The row of those for which the configuration can name the account. */
#define OPTION_RUN_AS_CONFIGURED(type, member, common)                                             \
	OPTION_WITH(type, "run-as", "USER", option_set_account, member,                            \
		    "when root starts msp: the account to become (the default: MSP_RUN_AS, "       \
		    "else what the configuration says, else 'msp')",                               \
		    .is_common = (common))

/* The row of every command that reads the operator's configuration, and the same with what else
 * that means there. */
#define OPTION_CONFIG(type, member) OPTION_CONFIG_ALSO(type, member, true, "")
#define OPTION_CONFIG_ALSO(type, member, common, also)                                             \
	OPTION_WITH(type, "config", "FILE", option_set_config, member,                             \
		    "the operator's configuration (the default: MSP_CONFIG, else "                 \
		    "~/.config/msp/config.yaml, else /etc/msp/config.yaml, else the built-in "     \
		    "profiles)" also,                                                              \
		    .is_common = (common))

/* MSP_DEFAULT_PROFILE into `profile`, unless it is empty or not set; false, and a line in `text`:
 * it is no name of a profile. */
bool option_read_default_profile(const char **profile, char text[OPTIONS_TEXT_MAX]);

option_set option_set_no_hosts;     /* bool */
option_set option_set_sandbox;      /* const char *, a name or an id */
option_set option_set_sandbox_name; /* const char *, of a new one */
option_set option_set_checkpoint;   /* const char *, a name or a number */
option_set option_set_label;        /* const char *, a checkpoint's name, which is no number */
option_set option_set_long_time;    /* uint32_t, seconds above 0 */
option_set option_set_inside_path;  /* const char *, an absolute path */
option_set option_set_environment;  /* struct environment, appended */
option_set option_set_bind;         /* struct bind_words, appended */

option_set option_set_last;       /* uint64_t, how many of the last; UINT64_MAX for "0", all */
option_set option_set_executions; /* uint32_t, 1 to EXECUTIONS_MAX */
option_set option_set_port;       /* uint32_t, 1 to 65535 */
option_set option_set_memory;     /* uint64_t, bytes; 0 for "none" */
option_set option_set_socket;     /* const char *, an absolute path */

#endif
