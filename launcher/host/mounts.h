/* SPDX-License-Identifier: Apache-2.0
 *
 * The mount table of this process (proc_pid_mountinfo(5)), for two questions about a folder: what
 * is mounted inside it, and by which other paths can it be reached (bind mounts).
 */
#ifndef LAUNCHER_HOST_MOUNTS_H
#define LAUNCHER_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct mount {
	const char *device; /* "major:minor" */
	const char *root;   /* the part of that file system that is mounted here */
	const char *point;
	const char *type;
};

struct mounts {
	char *text;
	struct mount *list;
	size_t count;
};

/* Read the whole table; 0 or -errno. */
int mounts_read(struct mounts *ret);

/* Parse a text, which is taken. 0, or -EBADMSG if there is a line that cannot be read. */
int mounts_parse(char *text, struct mounts *ret);

void mounts_done(struct mounts *mounts);

/* The first mount point strictly inside the absolute `path`, or NULL. */
const char *mounts_inside(const struct mounts *mounts, const char *path);

/*
 * The path that mount number `index` gives to what `path` names, when it shows the same part of
 * the same file system: false when it does not, or when that is `path` itself, or does not fit.
 * The answer is a guess that the caller verifies by (device, inode).
 */
bool mounts_other_name(const struct mounts *mounts, size_t index, const char *path, char *ret,
		       size_t room);

/* Print the path that `path`, which lies inside `from`, has where that is called `to`. */
void path_move(const char *path, const char *from, const char *to, char *ret, size_t room);

/* Does `path` lie inside `folder`, or is it that? Both absolute and normalised. */
bool path_is_within(const char *path, const char *folder);

#endif
