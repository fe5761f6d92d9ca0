/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: about the changes of a persistent sandbox.
 */
#ifndef COMMON_IPC_IPC_CHANGES_H
#define COMMON_IPC_IPC_CHANGES_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

enum changes_operation {
	CHANGES_DIFF = 1,
	CHANGES_PREVIEW, /* show the result of an apply */
	CHANGES_APPLY,
	CHANGES_UNDO, /* the last apply, where nobody has changed the files since */
	/* Make changeable in a new sandbox what another owner or group on the host would not let
	 * overlayfs copy. The records are the paths that stay unchangeable; `total` counts the
	 * files and directories of others, `conflicts` the directories, `applied` the prepared and
	 * `held` the unchangeable ones, `ignored` the names that were searched. `step` READ: the
	 * search ended behind those; WRITE: the workspace itself is not the user's to write. */
	CHANGES_PREPARE,
	CHANGES_OPERATION_COUNT
};

enum changes_conflict {
	CONFLICT_REFUSE = 0, /* apply nothing while there is one */
	CONFLICT_SANDBOX,    /* the sandbox's wins */
	CONFLICT_HOST,       /* the host's stays, and the rest is applied */
	/* Both sides' changes are merged, of text files whose base git has; nothing is applied
	 * while there is a conflict that is not merged. */
	CONFLICT_MERGE,
	CONFLICT_COUNT
};

enum changes_flag {
	CHANGES_TEXT = 1,            /* DIFF, PREVIEW: with unified diffs */
	CHANGES_HELD_TOO = 2,        /* host-executed files are confirmed: apply them too */
	CHANGES_FROM_CHECKPOINT = 4, /* DIFF: since the checkpoint `number`, not against the host */
	CHANGES_TEXT_HELD = 8,       /* as TEXT, only of what is held back */
	CHANGES_IGNORED_TOO = 16,    /* ignored files that git does not track, too */
	CHANGES_BRANCHES = 32, /* commits move the host's branches (layers/branches/branches.h) */
	CHANGES_MARKERS = 64,  /* CONFLICT_MERGE: lines in conflict are applied between markers */
	CHANGES_UMASK = 128,   /* new files get the modes of a umask: the bits from UMASK_SHIFT on */
	CHANGES_FILES = 256,   /* files that come with a commit are written, too */
	/* A broker needs the digest of a preview for them. */
	CHANGES_CONSENTED = CHANGES_HELD_TOO | CHANGES_BRANCHES,
};

#define CHANGES_UMASK_SHIFT 16
#define CHANGES_UMASK_BITS (UINT32_C(0777) << CHANGES_UMASK_SHIFT)

/* A pattern of gitignore(5) among the chosen paths begins so, which no path does: they are
 * relative. What it matches is not chosen. */
#define CHANGES_EXCLUDED '/'

/* fd: the chosen paths, relative to the workspace, NUL after each, sealed; empty: all.
 * changes_started and changes_done answer, or execution_refused. */
IPC_MESSAGE(changes_start,
	(HEAD, STR),
	(U32, operation), /* enum changes_operation */
	(U32, conflict),  /* enum changes_conflict */
	(U32, flags),     /* enum changes_flag */
	(U32, number),    /* a checkpoint's */
	(U64, skip),      /* DIFF, PREVIEW: changes to leave out at the beginning */
	(U64, most),      /* how many to list; 0: all */
	/* APPLY: the digest of a preview with the same chosen paths. If the changes are others now,
	 * nothing is applied: ESTALE at CHANGES_STEP_CONFIRMED. All zero: whatever they are. */
	(RAW, expected, IPC_DIGEST_BYTES));

/* fd: struct change_record (common/records/changes.h) after another */
IPC_MESSAGE(changes_started, (U64, request));

IPC_MESSAGE(changes_done,
	(U64, request),
	(U32, error),     /* errno of a failure; 0: all of it was done and told */
	(U32, step),      /* enum changes_step of it */
	(U32, conflicts), /* how many changes are in conflict */
	(U32, held), (U32, applied),
	(U64, total),   /* changes that there are */
	(U64, ignored), /* changed files that are left out, in no other count */
	/* PREVIEW: SHA-256 of all of them, told or not, and of the contents of the new files; else
	 * zero */
	(RAW, digest, IPC_DIGEST_BYTES));

enum changes_step {
	CHANGES_STEP_NONE,
	CHANGES_STEP_READ,      /* reading the sandbox's or the host's files */
	CHANGES_STEP_OUTPUT,    /* telling of them */
	CHANGES_STEP_JOURNAL,   /* writing down what will be done */
	CHANGES_STEP_WRITE,     /* changing the host's files; what was begun is undone */
	CHANGES_STEP_HELPER,    /* msp-layers did not say */
	CHANGES_STEP_CONFIRMED, /* comparing with what was confirmed: nothing was begun */
	CHANGES_STEP_COUNT
};

/* clang-format on */

#endif
