/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes that `msp run --workspace` has kept, newest last: the file `runs` of the state
 * directory, in each line an id and the directory that the run was over. -1 names the newest one
 * over the project of the current directory. A name could not say it: an agent chooses the names of
 * its sandboxes, and no sandbox can write this file.
 */
#ifndef CLI_ASK_RECENT_H
#define CLI_ASK_RECENT_H

#include <stdbool.h>

#include "common/limits.h"

struct ipc_execution_refused;

/* Remember the sandbox of a run over a directory, a resolved path. 0, or -errno with a phrase in
 * `text` (STATE_PLACE_TEXT_MAX). */
int recent_add(const char *id, const char *workspace, char *text);

/* Forget a sandbox; no error if it is not there. 0 or -errno. */
int recent_drop(const char *id);

/* A question to the person: 0 with the answer, or the exit code. */
struct recent_asker {
	int (*ask)(void *context, const char *text, bool *ret_is_yes);
	void *context;
};

/*
 * Replace "-1", "-2", ... by the id that it means; leave any other word. If no run over this
 * project is kept, the run over another one is asked about; without an asker (NULL) or a terminal,
 * it is refused. 0, or the exit code after a line on stderr.
 */
int recent_resolve(char sandbox[IPC_NAME_MAX], const struct recent_asker *asker);

/* An asker where no conversation with a supervisor goes on. */
extern const struct recent_asker recent_confirm;

/* If the sandbox `id` that `word` (-1, ...) means is refused as unknown, say in the refusal that it
 * is gone. The word stays its own: another run in its place could be applied by mistake. */
void recent_explain(const char *word, const char *id, struct ipc_execution_refused *refused);

/* The runs over this project, for lists. Their count; 0 also where the file cannot be read. */
struct recent_ids {
	int count;
	char ids[99][IPC_ID_MAX]; /* -1 first */
};
void recent_list(struct recent_ids *ret);

#endif
