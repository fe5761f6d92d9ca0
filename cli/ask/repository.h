/* SPDX-License-Identifier: Apache-2.0
 *
 * The repository around the working directory, which a run over a project shows as a whole: git
 * needs its data, its ignore rules hold below it, and packages use what is installed in its root.
 */
#ifndef CLI_ASK_REPOSITORY_H
#define CLI_ASK_REPOSITORY_H

#include <stdbool.h>

#include "common/limits.h"

/*
 * Find the repository that the working directory lies in, as its owner's git does, with its path in
 * `ret` and the rest of the way in *ret_inside, "" in its root, in static storage. The superproject
 * of a submodule holds the submodule's data, so it is found in its place. False: there is none, or
 * one that is another user's, a home's or on another file system.
 */
bool repository_find(char ret[IPC_PATH_MAX], const char **ret_inside);

#endif
