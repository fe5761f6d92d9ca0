/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths in a repository. Nothing there is brought to the host as a file: commits cross as verified
 * objects and refs (commits.h), and all else belongs to the repository it is in.
 */
#ifndef LAYERS_BASE_GITPATH_H
#define LAYERS_BASE_GITPATH_H

#include <stdbool.h>
#include <stddef.h>

/* Return the length of the path up to the end of its first name ".git", as any file system may
 * spell it; 0: it has none. */
size_t gitpath_repository(const char *path);

/* Return whether the path in a repository is git's own data: objects, refs, logs, the index, of a
 * submodule and a linked worktree, too. The commits say what of it matters. */
bool gitpath_is_data(const char *path);

/* Is this path one of an object of the workspace's repository? */
bool gitpath_is_object(const char *path);

/* Is this path one of those that name objects, and so are swapped behind all others? */
bool gitpath_is_last(const char *path);

#endif
