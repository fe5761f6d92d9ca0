/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes of `msp agent`: one for each project, agent and name. The file `agents` of the
 * state directory has a line for each (ask/state_file.h).
 */
#ifndef CLI_AGENT_RECORD_H
#define CLI_AGENT_RECORD_H

#include <stdbool.h>

#include "background/note.h"
#include "common/limits.h"

#define AGENT_NAME_MAX 32

struct agent_record {
	char id[IPC_ID_MAX]; /* its sandbox */
	char agent[AGENT_NAME_MAX];
	char word[AGENT_NAME_MAX];       /* --name; empty: none */
	char sandbox[IPC_NAME_MAX];      /* the sandbox's name */
	char profile[IPC_NAME_MAX];      /* with the suffix of its set */
	char command[BACKGROUND_ID_MAX]; /* the last one with a terminal; empty: none */
	bool has_login;                  /* it was started with --login */
	bool has_session;                /* the agent has run in it */
	char project[IPC_PATH_MAX];
};

/* Find the record of a project; `ret` has its agent, word and project. False: there is none, or the
 * file cannot be read, with a phrase in `text` (STATE_PLACE_TEXT_MAX), else "". */
bool agent_record_find(struct agent_record *ret, char *text);

/* Write a record, in the place of one of the same agent, word and project. 0, or -errno with a
 * phrase in `text`. */
int agent_record_write(const struct agent_record *record, char *text);

/* Forget the sandbox. 0, or -errno with a phrase in `text`. */
int agent_record_drop(const char *id, char *text);

/* Call for each record, newest first. 0, or -errno with a phrase in `text`. */
int agent_records_each(void (*take)(void *context, const struct agent_record *record),
		       void *context, char *text);

/* Is this a --name? NULL, or the rule that it breaks. */
const char *agent_word_check(const char *word);

#endif
