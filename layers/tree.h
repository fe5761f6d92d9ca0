/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox's files as layers make them: overlayfs' own rules, read from outside of any mount. All
 * of it works on descriptors of directories that were handed over, beneath which every name is
 * opened with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV). Nothing that a
 * workload made is trusted: names, links, sizes and times may be anything, and may change while
 * they are read.
 */
#ifndef LAYERS_TREE_H
#define LAYERS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/limits.h"

/* The directories of one job, each O_PATH or read-only, -1: not handed over. */
struct job_directories {
	int host;               /* the workspace on the host */
	int layers[LAYERS_MAX]; /* the highest first; each has a directory per place and BASE_NAME
				 */
	uint32_t layer_count;
	int since[LAYERS_MAX]; /* those of them that belong to what is compared with */
	uint32_t since_count;
	int journal;
	int target;
};

/* In a layer's directory: what its files were made from, see base.h. */
#define BASE_NAME "base"

/* One thing that differs between the host's workspace (or an earlier state) and the sandbox's. */
struct difference {
	uint32_t kind; /* enum change_kind, common/changes.h */
	uint32_t flags;
	char path[IPC_PATH_MAX];
	char old_path[IPC_PATH_MAX]; /* RENAMED */
	struct stat old, now;        /* st_mode 0: there is none */
	int layer;                   /* index of the layer that has it; -1: deleted */
};

/*
 * Call `found` for each, in the order of the paths' bytes with a directory before what is in it,
 * until it returns other than 0. Costs what the layers hold and, for directories that hide those
 * below, what those hold; never the whole workspace. 0, what `found` returned, or -errno.
 */
int tree_compare(const struct job_directories *directories,
		 int (*found)(void *context, const struct difference *difference), void *context);

/* Open a file of either side for reading: a regular file, which cannot block. A descriptor or
 * -errno. */
int tree_open_now(const struct job_directories *directories, const struct difference *difference);
int tree_open_old(const struct job_directories *directories, const struct difference *difference);

#endif
