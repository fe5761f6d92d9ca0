/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's name and email of git's configuration, for commits in a sandbox. Both travel to the
 * job that prepares a new sandbox behind the paths of named.h, as records that begin as no path
 * of a workspace does (common/limits.h).
 */
#ifndef LAUNCHER_GIT_USER_H
#define LAUNCHER_GIT_USER_H

#include <stdbool.h>

#include "common/limits.h"

enum git_user_value { GIT_USER_NAME, GIT_USER_EMAIL, GIT_USER_COUNT };

/* A value in the system's or the user's configuration, with their includes, as git reads them for a
 * repository at or above `workspace`. The repository's own configuration is in the workspace.
 * False: there is none, it has control characters or is too long, or git alone can tell. */
bool git_user_read(const char *workspace, enum git_user_value value, char ret[GIT_USER_MAX]);

/* Write the record of a value. False: there is none. */
bool git_user_record(const char *workspace, enum git_user_value value,
		     char ret[GIT_USER_RECORD_MAX]);

/* Return whether a condition of an include holds: 1, 0, or -1 if git alone can tell. `file` has it,
 * `repository` is the .git of the workspace, or empty. */
int git_user_condition(const char *condition, const char *file, const char *repository);

#endif
