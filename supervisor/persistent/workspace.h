/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories of the host that sandboxes work on. We open nothing of the host's: the part of the
 * launcher that stayed does, when the policy lets it, and hands us the descriptor.
 */
#ifndef SUPERVISOR_PERSISTENT_WORKSPACE_H
#define SUPERVISOR_PERSISTENT_WORKSPACE_H

#include "base/state.h"
#include "common/ipc/channel.h"

/* Send the launcher a question, after the directories that the requests of a frontend may name
 * (NULL: a person's, who may name any). 0 or -errno. */
int launcher_ask(const struct frontend *frontend, uint32_t type, const void *message);

/*
 * The directory at `path`, for the frontend's request: O_PATH, the caller's, with its canonical
 * path in `ret`. -EINPROGRESS: it was asked for, and the handler shall wait (deferred_add()); it
 * runs again when the answer is there. Another -errno with the reason in `detail`.
 */
int workspace_find(const struct frontend *frontend, const char *path, bool is_person,
		   char ret[IPC_PATH_MAX], char detail[IPC_LIST_MAX]);

/* Return the list and git's data that came with the directory of the request that a handler runs
 * for, as in workspace_open; -1: there is none. Stay here, until they are taken. */
int *workspace_came(void);

/* Take the launcher's answer; ignore one to a question that no request asks any more. */
int workspace_opened(void *context, struct channel_message *message);
int workspace_refused(void *context, struct channel_message *message);

/* It will answer nothing more. */
void workspace_lost(void);

#endif
