/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a layer that is unpacked, beneath its directory: no path leads out of it, over `..`
 * or a symbolic link. A file takes the place of one that is there, as tar does.
 *
 * Functions that fail keep the reason (image/refuse.h).
 */
#ifndef IMAGE_TARGET_H
#define IMAGE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "image/room.h"

/* The permissions of a directory that has no entry. */
#define TARGET_MODE 0755

/* The mark of an opaque directory, as overlayfs has it with `userxattr`. */
#define TARGET_OPAQUE_NAME "user.overlay.opaque"
#define TARGET_OPAQUE_VALUE "y"

/* Directories above an entry: a path of PATH_MAX bytes cannot have more, and a program in the
 * sandbox can name none that lies deeper. */
#define TARGET_DEPTH_MAX (PATH_MAX / 2)

struct target {
	struct room *room;
	int root;
	int parent; /* of the directory that was opened last; -1: none */
	char parent_path[PATH_MAX];
};

/* Make the directory of a layer in `incoming`; all in it takes of the room. 0 or -1; ends with
 * target_end() in both cases. */
int target_begin(struct target *target, struct room *room, int incoming, const char *diff_id);

/* Close its descriptors. */
void target_end(struct target *target);

/* Open the directory in which the functions below make entries, and make what is missing of it. 0
 * or -1. */
int target_parent(struct target *target, const char *directory);

/* Make a directory with these permissions, or keep the one that is there. Its descriptor, which is
 * the caller's, or -1. */
int target_directory(struct target *target, const char *name, mode_t mode);

/* Make a file of this name and mode; its descriptor, which is the caller's, or -1. */
int target_file(struct target *target, const char *name, mode_t mode);

/* Make a symbolic link. 0 or -1. */
int target_symlink(struct target *target, const char *name, const char *text);

/* Make `name` another name of the file at a path in the layer. 0 or -1. */
int target_hard_link(struct target *target, const char *name, const char *directory,
		     const char *other);

/* Hide a name of lower layers; a directory that is there hides theirs. 0 or -1. */
int target_hide(struct target *target, const char *name);

/* Have a directory, "." or one in it, hide that of lower layers. 0 or -1. */
int target_hide_below(struct target *target, const char *name);

/* Set the time of a directory of the layer, if it still is one. */
void target_set_time(const struct target *target, const char *path, struct timespec changed);

#endif
