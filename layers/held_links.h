/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbolic links and what the host executes by itself: .git/hooks/pre-commit is often one that
 * leads to a script of the project, which is then as good as the hook.
 */
#ifndef LAYERS_HELD_LINKS_H
#define LAYERS_HELD_LINKS_H

#include "job.h"

/* Where a link at `path` leads, as far as its text says, beneath the workspace; an absolute one
 * from there. false: too far to be told. */
bool held_links_join(const char *path, const char *target, char ret[IPC_PATH_MAX]);

/* Does one of the host's links, whose own name is held, lead to this path or above it? Reads them
 * when it is asked first. */
bool held_links_lead_to(const struct job *job, const char *path);

/* Forget what was read. */
void held_links_forget(void);

#endif
