/* SPDX-License-Identifier: Apache-2.0
 *
 * Names inside one tree: each is resolved beneath the tree's root (RESOLVE_IN_ROOT), so that no
 * symbolic link can lead out of it. Paths are absolute, as seen from inside the tree.
 */
#ifndef CHILD_INIT_TREE_H
#define CHILD_INIT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* O_PATH descriptor of what the path names, or -errno. */
int tree_open(int root, const char *path, uint64_t flags);

/*
 * Open the path, if its file is `meant` and it goes through no link; else -ESTALE, also if no file
 * is there. A descriptor that another mount namespace opened cannot be mounted from here, so its
 * path is resolved again.
 */
int tree_open_meant(int root, const char *path, uint64_t flags, const struct stat *meant);

/*
 * The directory that something was last made in: of neighbours most have the same, which is then
 * not looked for again. Whoever covers it, or a directory above it, closes it first.
 */
struct tree_parent {
	int root;
	int fd;           /* O_PATH; negative: none */
	const char *path; /* the caller's, which stays as it is; its first `size` bytes */
	size_t size;
};

#define TREE_PARENT(root) ((struct tree_parent){ (root), -1, NULL, 0 })

/* O_PATH descriptor of the path's parent directory, made with mode 0755 where it is missing, or
 * -errno. It stays `parent`'s. *ret_name points to the last component within `path`. */
int tree_parent(struct tree_parent *parent, const char *path, const char **ret_name);

#endif
