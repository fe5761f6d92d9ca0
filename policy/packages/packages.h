/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration in /etc that packages brought and nobody changed: files whose content has the
 * hash that dpkg or ucf recorded, and symbolic links beside them. Sandboxes are shown copies, of
 * the very bytes that were hashed.
 */
#ifndef POLICY_PACKAGES_PACKAGES_H
#define POLICY_PACKAGES_PACKAGES_H

#include "lib/heap/buffer.h"

#include <stdbool.h>

/* In the directory of the copies: what sandboxes are shown. */
#define PACKAGES_TREE "etc"

/* One file or link. */
struct packages_file {
	char *path; /* below /etc */
	char *link; /* the link's text; NULL: a file */
	struct buffer content;
};

struct packages {
	struct packages_file *files; /* by path */
	size_t count, room;
	char *tree;            /* the path of the copies, once they are made */
	struct buffer watched; /* paths whose change makes this old, a NUL after each */
};

/* Fill an empty list from the tree below `root`, a path without a slash at its end. Without records
 * it stays empty. */
void packages_read(struct packages *packages, const char *root);

/* Return whether the list has something at or below this path; with `is_file`, a file. */
bool packages_have(const struct packages *packages, const char *path, bool is_file);

/*
 * Make the tree in the directory at `place` have the list and nothing else, and then the file of
 * what is watched. The tree stays the same directory, which running sandboxes show, and each file
 * is replaced by a rename. 0 or -errno.
 */
int packages_copy(struct packages *packages, const char *place);

void packages_done(struct packages *packages);

#endif
