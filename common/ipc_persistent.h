/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes: what a frontend asks of them, and what it is told.
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

/* sandbox_info answers, or execution_refused. */
struct ipc_sandbox_new {
	uint64_t request;
	uint32_t workspace_mode;      /* enum workspace_mode */
	uint32_t ttl_s;               /* 0: the profile's */
	uint32_t no_hosts;            /* 1: none of the profile's */
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

#endif
