/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes: what a frontend asks of them, and what it is told.
 */
#ifndef COMMON_IPC_IPC_PERSISTENT_H
#define COMMON_IPC_IPC_PERSISTENT_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* Work on a file of a persistent sandbox: an execution of msp-file in it, by the way of all others.
 * Its stdin takes what is to be written, its stdout gives what was read (common/records/file_record.h). */
IPC_MESSAGE(file_start,
	(HEAD, STR),
	/* arguments of msp-file, NUL after each, without argv[0] */
	(BYTES, argv, IPC_PATH_MAX * 2));

/* sandbox_info answers, or execution_refused. */
IPC_MESSAGE(sandbox_new,
	(HEAD, OPT),                     /* no sandbox */
	(U32, workspace_mode),           /* enum workspace_mode */
	(U32, ttl_s),                    /* 0: the profile's */
	(U32, no_hosts),                 /* 1: none of the profile's */
	(OPT, profile, IPC_NAME_MAX),    /* empty: the default one */
	(OPT, name, IPC_NAME_MAX),       /* for people, unique among the owner's; empty: none */
	(OPT, workspace, IPC_PATH_MAX)); /* absolute path on the host; empty with NONE */

/* All of an owner's, in a sandbox_info each, then request_done, or first sandbox_more. */
IPC_MESSAGE(sandbox_list,
	(HEAD, OPT),               /* only the sandbox, which is not for everybody's; empty: all */
	(U32, is_everybody),       /* 1: of every owner; not for brokers */
	(OPT, after, IPC_ID_MAX)); /* only those behind this id; empty: from the first one on */

/* There may be more: who wants them asks again, with just these words. */
IPC_MESSAGE(sandbox_more, (HEAD, OPT), (U32, is_everybody), (STR, after, IPC_ID_MAX));

enum sandbox_end {
	SANDBOX_END_STOP = 1, /* end what runs in it; its files stay */
	SANDBOX_END_DESTROY,
	SANDBOX_END_EMPTY, /* destroy it if nothing runs in it and it has no files; else refuse */
};

/* request_done answers, or execution_refused. */
IPC_MESSAGE(sandbox_end,
	(HEAD, STR),
	(U32, how)); /* enum sandbox_end */

enum checkpoint_operation {
	CHECKPOINT_SAVE = 1, /* checkpoint_info answers */
	CHECKPOINT_LIST,     /* a checkpoint_info each, then request_done */
	CHECKPOINT_ROLLBACK, /* request_done; what is not saved is gone */
	CHECKPOINT_FORK,   /* sandbox_info of the new one, as it was at the checkpoint, or is now */
	CHECKPOINT_DELETE, /* request_done; its files stay where others need them */
	CHECKPOINT_OPERATION_COUNT
};

/* Refused while something runs in the sandbox, but for LIST. */
IPC_MESSAGE(checkpoint_do,
	(HEAD, STR),
	(U32, operation), /* enum checkpoint_operation */
	(U32, number),    /* the checkpoint's; 0: by name, or with FORK the present */
	/* SAVE: of the new one; FORK: of the new sandbox; may be empty */
	(OPT, name, IPC_NAME_MAX),
	(OPT, of, IPC_NAME_MAX)); /* name of the checkpoint that is meant; empty: by number */

/* A persistent sandbox, as it is now. Times are of the real clock, in seconds. */
IPC_MESSAGE(sandbox_info,
	(U64, request), (STR, id, IPC_ID_MAX), (OPT, name, IPC_NAME_MAX),
	(OPT, owner, IPC_NAME_MAX), (OPT, profile, IPC_NAME_MAX), (OPT, workspace, IPC_PATH_MAX),
	(U32, workspace_mode), /* enum workspace_mode */
	(U32, is_live),
	(U32, is_elsewhere), /* another supervisor has it */
	(U32, is_damaged),
	(U32, executions), /* that run in it now */
	(U32, checkpoints), (U64, created_s), (U64, used_s), (U64, expires_s),
	(U64, disk_bytes)); /* its own layers', at the last count */

IPC_MESSAGE(checkpoint_info,
	(U64, request),
	(U32, number),     /* counted from 1, never given again in its sandbox */
	(U32, parent),     /* the checkpoint it was made on; 0: none */
	(U32, is_current), /* the sandbox's files are built on it */
	(U64, created_s), (OPT, name, IPC_NAME_MAX));

/* clang-format on */

#endif
