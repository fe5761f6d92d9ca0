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

struct chosen {
	bool is_all;                    /* one of them is the workspace itself */
	bool is_met[COMMAND_WORDS_MAX]; /* something that changed is in it; in the order of bytes */
	size_t size;
	char bytes[COMMAND_WORDS_MAX * IPC_PATH_MAX]; /* each with a NUL behind it */
};

/* Add what a person names: relative to the workspace, or as the sandbox sees it, below /workspace.
 * NULL, or the rule that it breaks. */
const char *chosen_add(struct chosen *chosen, const char *path);

/* Add all but the first word. False: a usage error was explained, *ret_exit. */
bool chosen_add_words(struct chosen *chosen, const struct command *command,
		      const struct command_words *words, int *ret_exit);

/* A change that was told of. */
void chosen_meet(struct chosen *chosen, const struct change *change);

/* Name those in which nothing has changed: perhaps they were mistyped. */
void chosen_explain_unmet(const struct chosen *chosen, const char *sandbox);

#endif
