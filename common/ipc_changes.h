/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: about the changes of a persistent sandbox.
 */
#ifndef COMMON_IPC_CHANGES_H
#define COMMON_IPC_CHANGES_H

#include <stdint.h>

#include "common/limits.h"

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
	/* A broker needs the digest of a preview for them. */
	CHANGES_CONSENTED = CHANGES_HELD_TOO | CHANGES_BRANCHES,
};

/* A pattern of gitignore(5) among the chosen paths begins so, which no path does: they are
 * relative. What it matches is not chosen. */
#define CHANGES_EXCLUDED '/'

/* fd: the chosen paths, relative to the workspace, NUL after each, sealed; empty: all.
 * changes_started and changes_done answer, or execution_refused. */
struct ipc_changes_start {
	uint64_t request;
	uint32_t operation; /* enum changes_operation */
	uint32_t conflict;  /* enum changes_conflict */
	uint32_t flags;     /* enum changes_flag */
	uint32_t number;    /* a checkpoint's */
	uint64_t skip;      /* DIFF, PREVIEW: changes to leave out at the beginning */
	uint64_t most;      /* how many to list; 0: all */
	/* APPLY: the digest of a preview with the same chosen paths. If the changes are others now,
	 * nothing is applied: ESTALE at CHANGES_STEP_CONFIRMED. All zero: whatever they are. */
	uint8_t expected[IPC_DIGEST_BYTES];
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

/* fd: struct change_record (common/changes.h) after another */
struct ipc_changes_started {
	uint64_t request;
};

struct ipc_changes_done {
	uint64_t request;
	uint32_t error;     /* errno of a failure; 0: all of it was done and told */
	uint32_t step;      /* enum changes_step of it */
	uint32_t conflicts; /* how many changes are in conflict */
	uint32_t held;
	uint32_t applied;
	uint64_t total;                   /* changes that there are */
	uint64_t ignored;                 /* changed files that are left out, in no other count */
	uint8_t digest[IPC_DIGEST_BYTES]; /* PREVIEW: SHA-256 of all of them, told or not, and of
					   * the contents of the new files; else zero */
};

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

#endif
