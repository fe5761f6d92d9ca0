/* SPDX-License-Identifier: Apache-2.0
 *
 * The only background command that runs in a sandbox, for a person who names that.
 */
#ifndef CLI_COMMANDS_RUNNING_IN_H
#define CLI_COMMANDS_RUNNING_IN_H

#include "background/note.h"

struct attach_options;

/*
 * Find the command by a word: a sandbox's name, id, four or more characters of that, or -1 for a
 * kept run. 1: `ret` is its id; 0: the word names no sandbox in which one runs; -1, after a line:
 * several run there, or the word is refused. `sandboxes` is from background_open_sandboxes().
 */
int running_in_find(int sandboxes, const char *word, const struct attach_options *options,
		    char ret[BACKGROUND_ID_MAX]);

#endif
