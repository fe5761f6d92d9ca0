/* SPDX-License-Identifier: Apache-2.0
 *
 * From an opened file up to the root by "..", noting the (device, inode) of each folder: the answer
 * to which of two files lies in the other, whatever they are called.
 */
#ifndef LAUNCHER_HOST_PROTECTED_WALK_H
#define LAUNCHER_HOST_PROTECTED_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "launcher/host/mounts.h"

/* Folders above one path, over all of its names; with more a walk fails with -ELOOP. */
#define STEPS_MAX 1024

struct identity {
	dev_t device;
	ino_t inode;
};

struct walk {
	struct identity steps[STEPS_MAX];
	size_t count;
};

/* Tell who an opened file is. 0 or -errno. */
int walk_identify(int fd, struct identity *ret);

bool walk_is_same(const struct identity *a, const struct identity *b);

/* Is it one of all the steps of a walk, or of the first `count`? */
bool walk_meets(const struct walk *walk, const struct identity *identity);
bool walk_steps_meet(const struct walk *walk, size_t count, const struct identity *identity);

/* Add the steps from `fd` (not taken), known as `path`, to a walk. They begin above a file, and
 * above a folder that we may not search, since neither has a ".." to go by. 0 or -errno. */
int walk_from(int fd, const char *path, struct walk *walk);

/* Add the steps from every other name that `fd` has through bind mounts. 0 or -errno. */
int walk_from_others(int fd, const char *path, const struct mounts *mounts, struct walk *walk);

/*
 * Open (O_PATH) `path`, or the nearest folder above it that exists and can be reached;
 * *ret_is_exact tells which, and `nearest` its name. What cannot be reached cannot be shown either;
 * what does not exist may come to exist. A descriptor or -errno.
 */
int walk_open_nearest(const char *path, char nearest[4096], bool *ret_is_exact);

/* Write the kernel's own name for an opened file: protected files may be links. 0 or -errno. */
int walk_real_name(int fd, char name[4096]);

#endif
