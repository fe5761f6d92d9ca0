/* SPDX-License-Identifier: Apache-2.0
 *
 * Names inside one tree: each is resolved beneath the tree's root (RESOLVE_IN_ROOT), so that no
 * symbolic link can lead out of it. Paths are absolute, as seen from inside the tree.
 */
#ifndef CHILD_INIT_TREE_H
#define CHILD_INIT_TREE_H

#include <stdint.h>
#include <sys/stat.h>

/* O_PATH descriptor of what the path names, or -errno. */
int tree_open(int root, const char *path);

/*
 * What the path names, if it is `meant` and the path goes through no link; else -ESTALE, also where
 * nothing is. A descriptor that another mount namespace opened cannot be mounted from here, so its
 * path is resolved again.
 */
int tree_open_meant(int root, const char *path, uint64_t flags, const struct stat *meant);

/* O_PATH descriptor of the path's parent directory, made with mode 0755 where it is missing, or
 * -errno. *ret_name points to the last component within `path`. */
int tree_parent(int root, const char *path, const char **ret_name);

/* Make a directory; one that exists keeps its mode. 0 or -errno. */
int tree_make_directory(int root, const char *path, uint32_t mode);

/* A new file with this mode, open for writing; -EEXIST when there is one. */
int tree_create_file(int root, const char *path, uint32_t mode);

#endif
