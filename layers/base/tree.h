/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox's files as layers make them: overlayfs' own rules, read from outside of any mount. All
 * of it works on descriptors of directories that were handed over, beneath which every name is
 * opened with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV). Nothing that a
 * workload made is trusted: names, links, sizes and times may be anything, and may change while
 * they are read.
 */
#ifndef LAYERS_BASE_TREE_H
#define LAYERS_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/limits.h"

/* The directories of one job, each O_PATH or read-only, -1: not handed over. */
struct job_directories {
	int host;               /* the workspace on the host; -1: there is none, all is added */
	int layers[LAYERS_MAX]; /* the whole stack, the highest first; each has a directory per
				 * place and BASE_NAME */
	uint32_t layer_count;
	int since[LAYERS_MAX]; /* the whole stack of the state that is compared with, the highest
				* first, over the same host; a layer may be in both */
	uint32_t since_count;  /* 0: compared with the host */
	int journal;
	int target;
	uint32_t umask; /* the caller's, with FILES_UMASK_KNOWN; 0: not known */
};

/* In a layer's directory: what its files were made from, see base.h; and the place compared. */
#define BASE_NAME "base"
#define WORKSPACE_NAME "workspace"

/* That of git's data outside of it, in a layer. */
#define GIT_NAME "git"

/* One thing that differs between the host's workspace (or an earlier state) and the sandbox's. */
struct difference {
	uint32_t kind;  /* enum change_kind, common/records/changes.h */
	uint32_t flags; /* DIRECTORY, STRIPPED, REFUSED, UNREADABLE */
	char path[IPC_PATH_MAX];
	char old_path[IPC_PATH_MAX]; /* RENAMED; else empty */
	struct stat old, now;        /* st_mode 0: there is none */
	int layer;     /* index in `layers` of what has it; layer_count: the host; -1: deleted */
	int old_layer; /* index in `since`, since_count: the host; -1: there was none */
	uint32_t base; /* enum base_state, base.h, where somebody has looked */
	uint32_t unmerged; /* enum change_unmerged */
};

typedef int (*tree_found)(void *context, const struct difference *difference);

/*
 * Call `found` for each, in the order of the paths' bytes, so a directory before what is in it,
 * until it returns other than 0. Modes of the present state are those of files_applied_mode().
 * What was in a deleted or replaced directory is told of too. Costs
 * what the layers hold and, for directories that hide those below, what those hold; never the whole
 * workspace. A directory with a name whose path has IPC_PATH_MAX bytes or more is told of as one
 * that cannot be looked into. 0, what `found` returned, or -errno.
 */
int tree_compare(const struct job_directories *directories, tree_found found, void *context);

/* Walk every entry of a layer that is not of both sides, and every entry that it hides, alike or
 * not. No content is read, the kind is always CHANGE_NONE. */
int tree_walk(const struct job_directories *directories, tree_found found, void *context);

/* Open a file of either side for reading: a regular file, which cannot block. A descriptor or
 * -errno; -ESTALE: it is no regular file any more. */
int tree_open(const struct job_directories *directories, const struct difference *difference,
	      bool is_old);

/* Read the target of a symbolic link of either side, terminated. Its length or -errno. */
int tree_link(const struct job_directories *directories, const struct difference *difference,
	      bool is_old, char ret[IPC_PATH_MAX]);

#endif
