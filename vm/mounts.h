/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories of the sandbox that the machine sees: all of it, as far as files are kept there.
 */
#ifndef VM_MOUNTS_H
#define VM_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/limits.h"

/* With more, QEMU has no room for their devices: a microvm has 24. */
#define MOUNTS_MAX 16

struct mount_entry {
	bool is_writable;
	char path[IPC_PATH_MAX];
};

/* The first one is the root. */
struct mounts {
	uint32_t count;
	struct mount_entry list[MOUNTS_MAX];
};

/* Find them: the root, to be read, and each directory of it that can be written. False after a line
 * on stderr. */
bool mounts_find(struct mounts *ret);

/* Find them in a table of mounts. */
bool mounts_read(FILE *table, struct mounts *ret);

#endif
