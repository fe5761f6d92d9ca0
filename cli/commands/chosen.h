/* SPDX-License-Identifier: Apache-2.0
 *
 * The paths of a workspace that a command was given.
 */
#ifndef CLI_COMMANDS_CHOSEN_H
#define CLI_COMMANDS_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/limits.h"
#include "frontend/changes.h"
#include "options/command.h"

#define EXCLUDED_MAX 32

/* Options of the commands that show or take changes. */
struct chosen_options {
	bool is_ignored;
	struct excluded_words {
		uint32_t count;
		const char *words[EXCLUDED_MAX];
	} excluded; /* the values as they were given */
};

#define CHOSEN_ROWS(type, member)                                                                  \
	OPTION(type, "ignored", NULL, option_set_flag, member.is_ignored,                          \
	       "also the files that the project's ignore rules leave out"),                        \
		OPTION(type, "exclude", "GLOB", chosen_set_excluded, member.excluded,              \
		       "leave out what this pattern of a .gitignore matches, such as '*.log' or "  \
		       "'docs/'; may be given several times")

/* The exit code where something of what was asked for was left out. */
#define CHOSEN_EXIT_PARTLY 1

struct ipc_changes_done;

struct chosen {
	bool is_all;                    /* one of them is the workspace itself */
	bool is_met[COMMAND_WORDS_MAX]; /* something that changed is in it; in the order of bytes */
	size_t paths_size;              /* bytes of paths; exclusions follow them */
	size_t size;
	char bytes[(COMMAND_WORDS_MAX + EXCLUDED_MAX) * IPC_PATH_MAX]; /* NUL after each */
};

/* Add what a person names: relative to the directory `below` in the workspace (empty: to the
 * workspace itself), or as the sandbox sees it, below /workspace. NULL, or the rule that it breaks.
 */
const char *chosen_add(struct chosen *chosen, const char *below, const char *path);

/* Add all but the first word, and the exclusions. In a directory of the sandbox's `workspace`, a
 * path of this machine or empty, words are relative to that directory, else to the workspace.
 * False: a usage error was explained, *ret_exit. */
bool chosen_add_words(struct chosen *chosen, const struct command *command,
		      const struct command_words *words, const struct chosen_options *options,
		      const char *workspace, int *ret_exit);

option_set chosen_set_excluded; /* struct excluded_words, appended */

/* A change that was told of. */
void chosen_meet(struct chosen *chosen, const struct change *change);

/* Name those in which nothing has changed: perhaps they were mistyped. Returns whether there is
 * one. */
bool chosen_explain_unmet(const struct chosen *chosen, const char *sandbox);

/* Say on stderr how many ignored files were left out, if any. `action`: what was not done with
 * them, such as "shown". */
void chosen_note_ignored(const struct ipc_changes_done *done, const char *action);

#endif
