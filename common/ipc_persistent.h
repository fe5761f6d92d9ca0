/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes: what a frontend asks of them, and what it is told. Part of ipc.h.
 */
#ifndef COMMON_IPC_PERSISTENT_H
#define COMMON_IPC_PERSISTENT_H

#include <stdint.h>

#include "common/limits.h"

/* Work on a file of a persistent sandbox: an execution of msp-file in it, by the way of all others.
 * Its stdin takes what is to be written, its stdout gives what was read (common/file_record.h). */
struct ipc_file_start {
	uint64_t request;
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	uint32_t argv_size;
	uint8_t argv[IPC_PATH_MAX * 2]; /* arguments of msp-file, NUL after each, without argv[0] */
};

enum workspace_mode {
	WORKSPACE_NONE = 0, /* an empty one of the sandbox's own */
	WORKSPACE_COPY,     /* copy-on-write */
	WORKSPACE_READ,
	WORKSPACE_WRITE, /* the directory itself, if the operator allows that */
	WORKSPACE_MODE_COUNT
};

/* sandbox_info answers, or execution_refused. */
struct ipc_sandbox_new {
	uint64_t request;
	uint32_t workspace_mode;      /* enum workspace_mode */
	uint32_t ttl_s;               /* 0: the profile's */
	char profile[IPC_NAME_MAX];   /* empty: the default one */
	char name[IPC_NAME_MAX];      /* for people, unique among the owner's; empty: none */
	char owner[IPC_NAME_MAX];     /* empty: the user's own */
	char workspace[IPC_PATH_MAX]; /* absolute path on the host; empty with NONE */
};

/* All of an owner's, in a sandbox_info each, then request_done, or first sandbox_more. */
struct ipc_sandbox_list {
	uint64_t request;
	uint32_t is_everybody; /* 1: of every owner; not for brokers */
	char owner[IPC_NAME_MAX];
	char after[IPC_ID_MAX];    /* only those behind this id; empty: from the first one on */
	char called[IPC_NAME_MAX]; /* only the one with this id or name; empty: whatever they are
				    * called. Not of everybody's */
};

/* There may be more: who wants them asks again, with just these words. */
struct ipc_sandbox_more {
	uint64_t request;
	uint32_t is_everybody;
	char owner[IPC_NAME_MAX];
	char after[IPC_ID_MAX];
};

enum sandbox_end {
	SANDBOX_END_STOP = 1, /* end what runs in it; its files stay */
	SANDBOX_END_DESTROY,
	SANDBOX_END_EMPTY, /* destroy it if nothing runs in it and it has no files; else refuse */
};

/* request_done answers, or execution_refused. */
struct ipc_sandbox_end {
	uint64_t request;
	uint32_t how; /* enum sandbox_end */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

enum checkpoint_operation {
	CHECKPOINT_SAVE = 1, /* checkpoint_info answers */
	CHECKPOINT_LIST,     /* a checkpoint_info each, then request_done */
	CHECKPOINT_ROLLBACK, /* request_done; what is not saved is gone */
	CHECKPOINT_FORK,   /* sandbox_info of the new one, as it was at the checkpoint, or is now */
	CHECKPOINT_DELETE, /* request_done; its files stay where others need them */
	CHECKPOINT_OPERATION_COUNT
};

/* Refused while something runs in the sandbox, but for LIST. */
struct ipc_checkpoint_do {
	uint64_t request;
	uint32_t operation;      /* enum checkpoint_operation */
	uint32_t number;         /* the checkpoint's; 0: by name, or with FORK the present */
	char name[IPC_NAME_MAX]; /* SAVE: of the new one; FORK: of the new sandbox; may be empty */
	char of[IPC_NAME_MAX];   /* name of the checkpoint that is meant; empty: by number */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

enum changes_operation {
	CHANGES_DIFF = 1,
	CHANGES_PREVIEW, /* show the result of an apply */
	CHANGES_APPLY,
	CHANGES_UNDO, /* the last apply, where nobody has changed the files since */
	/* Make changeable in a new sandbox what another owner or group on the host would not let
	 * overlayfs copy. The records are the paths that stay unchangeable; `total` counts the
	 * files and directories of others, `conflicts` the directories, `applied` the prepared and
	 * `held` the unchangeable ones. `step` READ: the search was cut; WRITE: the workspace
	 * itself is not the user's to write. */
	CHANGES_PREPARE,
	CHANGES_OPERATION_COUNT
};

enum changes_conflict {
	CONFLICT_REFUSE = 0, /* apply nothing while there is one */
	CONFLICT_OURS,       /* the sandbox's wins */
	CONFLICT_THEIRS,     /* the host's stays, and the rest is applied */
	CONFLICT_COUNT
};

enum changes_flag {
	CHANGES_TEXT = 1,            /* DIFF, PREVIEW: with unified diffs */
	CHANGES_HELD_TOO = 2,        /* host-executed files are confirmed: apply them too */
	CHANGES_FROM_CHECKPOINT = 4, /* DIFF: since the checkpoint `number`, not against the host */
	CHANGES_TEXT_HELD = 8,       /* as TEXT, only of what is held back */
};

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

/* A persistent sandbox, as it is now. Times are of the real clock, in seconds. */
struct ipc_sandbox_info {
	uint64_t request;
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
	char workspace[IPC_PATH_MAX];
	uint32_t workspace_mode; /* enum workspace_mode */
	uint32_t is_live;
	uint32_t is_elsewhere; /* another supervisor has it */
	uint32_t is_damaged;
	uint32_t executions; /* that run in it now */
	uint32_t checkpoints;
	uint64_t created_s;
	uint64_t used_s;
	uint64_t expires_s;
	uint64_t disk_bytes; /* its own layers', at the last count */
};

struct ipc_checkpoint_info {
	uint64_t request;
	uint32_t number;     /* counted from 1, never given again in its sandbox */
	uint32_t parent;     /* the checkpoint it was made on; 0: none */
	uint32_t is_current; /* the sandbox's files are built on it */
	uint64_t created_s;
	char name[IPC_NAME_MAX];
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
	uint32_t told;
	uint64_t total;                   /* changes that there are */
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
