/* SPDX-License-Identifier: Apache-2.0
 *
 * A position in a directory tree, held by descriptors: no path is made, so no depth is too deep.
 * The deepest levels stay open; a level above them is reached through "..", and only believed when
 * it is the inode that was entered.
 */
#ifndef LAYERS_BASE_DESCENT_H
#define LAYERS_BASE_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define DESCENT_OPEN_MAX 64

/* 16 bytes each; a file system needs gigabytes for as many directories. */
#define DESCENT_LEVELS_MAX ((size_t)4 << 20)

struct descent_level {
	ino_t inode;
	mode_t mode; /* permissions to be given back; 0: they are as they were */
};

struct descent {
	int open[DESCENT_OPEN_MAX]; /* level L at L % keep; -1: closed */
	size_t keep;
	dev_t device;
	struct descent_level *levels; /* the first is the root */
	size_t depth, room;           /* how many levels were entered */
};

/* Enter the root, which stays the caller's; keep up to `keep` levels open. 0 or -errno; the
 * descent has to be ended in either case. */
int descent_begin(struct descent *descent, int root, size_t keep);

/*
 * Enter a directory in the present one. `force`: one that its owner shut is opened, until it is
 * left. 0, or -errno where nothing changed; -ENOENT, -ESTALE: the name is gone, or no directory any
 * more; -EFBIG: DESCENT_LEVELS_MAX.
 */
int descent_enter(struct descent *descent, const char *name, bool force);

/* Go back to the level above. 0 or -errno; -ESTALE: the directory was moved meanwhile. */
int descent_leave(struct descent *descent);

/* The present directory, open for reading; it stays the descent's. */
int descent_here(const struct descent *descent);

/* Leave all levels and free what they took. */
void descent_end(struct descent *descent);

#endif
