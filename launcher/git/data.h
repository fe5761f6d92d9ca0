/* SPDX-License-Identifier: Apache-2.0
 *
 * git's data where it lies outside of the workspace: that of a linked worktree, of a directory
 * whose .git is a link or a file, and the objects that a shared clone borrows. A workspace can say
 * any path, since a workload or an archive may have written it. So only the data itself can say
 * that it belongs to the workspace.
 */
#ifndef LAUNCHER_GIT_DATA_H
#define LAUNCHER_GIT_DATA_H

#include <limits.h>
#include <stdbool.h>

#include "common/limits.h"

#define GIT_DATA_RECORD_MAX (GIT_DATA_POINTER_MAX + PATH_MAX + 16)

/* Write the record about the data of `workspace`, a canonical path (common/limits.h). False: there
 * is none outside, or none at all. */
bool git_data_record(const char *workspace, char ret[GIT_DATA_RECORD_MAX]);

#endif
