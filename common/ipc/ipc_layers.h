/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of msp-layers.
 */
#ifndef COMMON_IPC_IPC_LAYERS_H
#define COMMON_IPC_IPC_LAYERS_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

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
IPC_MESSAGE(layers_host, (U32, reserved));

/* fd: a directory of the state directory, opened for reading by msp-store. Landlock keeps both from
 * opening any other so, which it does not do with O_PATH. */
IPC_MESSAGE(layers_directory, (U32, role)); /* enum layers_role */

/* fds: the chosen paths, as in changes_start; what git names, as in workspace_open. The directories
 * came before; it does this and ends. */
IPC_MESSAGE(layers_do,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, operation), /* enum layers_operation */
	(U32, conflict), (U32, flags), (U64, skip), (U64, most),
	/* real clock; NOTE: a file of the host that changed later has no known base */
	(U64, since_us),
	(RAW, expected, IPC_DIGEST_BYTES), /* as in changes_start */
	(OPT, name, IPC_NAME_MAX),         /* the sandbox's, or its id: part of its refs' names */
	(OPT, workspace, IPC_PATH_MAX),    /* the kernel's name of HOST; empty: there is none */
	/* patterns that the operator adds to what is held back, NUL after each */
	(BYTES, held, IPC_LIST_MAX));

/* How a NOTE failed, in the place of a step. */
enum layers_note_step {
	LAYERS_SCAN_TREE = 100, /* not countable, now or later; `bytes` is a part */
	LAYERS_SCAN_MACHINE,    /* they could not be counted now, or not all */
	LAYERS_SCAN_BASES,      /* all is counted; what files were made from is not noted */
};

IPC_MESSAGE(layers_done,
	(U32, error),
	(U32, step), /* enum changes_step; NOTE: enum layers_note_step */
	(U32, conflicts), (U32, held), (U32, applied), (U64, total), (U64, ignored),
	(U64, bytes), /* NOTE, MERGE: of the layers, in blocks */
	(U64, inodes),
	(RAW, digest, IPC_DIGEST_BYTES)); /* as in changes_done */

/* clang-format on */

#endif
