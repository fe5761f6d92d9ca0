/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of msp-layers.
 */
#ifndef COMMON_IPC_LAYERS_H
#define COMMON_IPC_LAYERS_H

#include <stdint.h>

#include "common/limits.h"

enum layers_operation {
	LAYERS_SCAN = 1, /* scan: note the bases of the uppers' files, and count bytes */
	LAYERS_DIFF,
	LAYERS_PREVIEW,
	LAYERS_APPLY,
	LAYERS_UNDO,
	LAYERS_RECOVER, /* finish or undo what a journal says was interrupted */
	LAYERS_MERGE,   /* several layers into one */
	LAYERS_REMOVE,  /* a tree */
	LAYERS_PREPARE, /* foreign files: make them in a new upper with the user's ids */
	LAYERS_OPERATION_COUNT
};

enum layers_role {
	LAYERS_LAYER = 1, /* a layer's directory (its places and its base), the highest first */
	LAYERS_SINCE,     /* as LAYER: a layer that belongs to what is compared with */
	LAYERS_JOURNAL,   /* the sandbox's directory for journals */
	LAYERS_TARGET,    /* to be removed, or to take the merged layers */
	LAYERS_ROLE_COUNT
};

/* fd: O_PATH of the workspace on the host, as the path opener opened it */
struct ipc_layers_host {
	uint32_t reserved;
};

/* fd: a directory of the state directory, opened for reading by msp-store. Landlock keeps both from
 * opening any other so, which it does not do with O_PATH. */
struct ipc_layers_directory {
	uint32_t role; /* enum layers_role */
};

/* fds: the chosen paths, as in changes_start; what git names, as in workspace_open. The directories
 * came before; it does this and ends. */
struct ipc_layers_do {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t operation; /* enum layers_operation */
	uint32_t conflict;
	uint32_t flags;
	uint64_t skip;
	uint64_t most;
	uint64_t since_us; /* real clock; NOTE: a file of the host that changed later has no
			    * known base */
	uint8_t expected[IPC_DIGEST_BYTES]; /* as in changes_start */
	char name[IPC_NAME_MAX];            /* the sandbox's, or its id: part of its refs' names */
	char workspace[IPC_PATH_MAX];       /* the kernel's name of HOST; empty: there is none */
	uint32_t held_size;         /* patterns that the operator adds to what is held back */
	uint8_t held[IPC_LIST_MAX]; /* NUL after each */
};

/* How a NOTE failed, in the place of a step. */
enum layers_note_step {
	LAYERS_SCAN_TREE = 100, /* not countable, now or later; `bytes` is a part */
	LAYERS_SCAN_MACHINE,    /* they could not be counted now, or not all */
	LAYERS_SCAN_BASES,      /* all is counted; what files were made from is not noted */
};

struct ipc_layers_done {
	uint32_t error;
	uint32_t step; /* enum changes_step; NOTE: enum layers_note_step */
	uint32_t conflicts;
	uint32_t held;
	uint32_t applied;
	uint64_t total;
	uint64_t ignored;
	uint64_t bytes; /* NOTE, MERGE: of the layers, in blocks */
	uint64_t inodes;
	uint8_t digest[IPC_DIGEST_BYTES]; /* as in changes_done */
};

#endif
