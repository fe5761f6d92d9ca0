/* SPDX-License-Identifier: Apache-2.0
 *
 * The project that a person works in: the git repository of the current directory, and without one
 * the directory itself. A linked worktree and a submodule are projects of their own, because each
 * has files of its own. All paths are resolved ones.
 */
#ifndef CLI_ASK_PROJECT_H
#define CLI_ASK_PROJECT_H

#include <stdbool.h>

#include "common/limits.h"

struct project {
	char here[IPC_PATH_MAX];  /* the current directory; empty: it is gone */
	char root[IPC_PATH_MAX];  /* the project's */
	char shown[IPC_PATH_MAX]; /* the directory that `msp run -w` shows, the superproject of a
				   * submodule; empty: this directory */
	bool is_repository;
};

/* Find the project of the current directory. */
void project_find(struct project *ret);

/* Is a directory, which may be gone, of this project? */
bool project_has(const struct project *project, const char *directory);

/* Is a directory of the current directory's project? */
bool project_is_here(const char *directory);

#endif
