/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a supervisor and the msp-store that has the files of its persistent sandboxes.
 */
#ifndef COMMON_IPC_IPC_STORE_H
#define COMMON_IPC_IPC_STORE_H

#include "common/ipc/ipc_message.h"
#include "common/records/history.h"

/* clang-format off */

/* Each is a function of stewards/store/store.h. */
enum store_operation {
	STORE_DO_LIST,
	STORE_DO_FIND,
	STORE_DO_LOOK,
	STORE_DO_TAKE,
	STORE_DO_CREATE,
	STORE_DO_COUNT,
	STORE_DO_MARK,
	STORE_DO_UNMARK,
	STORE_DO_DESTROY,
	STORE_DO_DISCARD,
	STORE_DO_CHECKPOINT,
	STORE_DO_ROLLBACK,
	STORE_DO_FORGET,
	STORE_DO_FORK,
	STORE_DO_MERGE_TARGET,
	STORE_DO_MERGE_DONE,
	STORE_DO_LAYER,
	STORE_DO_JOURNAL,
	STORE_DO_INTERRUPTED,
	STORE_DO_IS_EMPTY,
	STORE_DO_TRASH,
	STORE_DO_CUTS,
	STORE_DO_COUNT_OF,
};

/* Bytes of a struct store_meta, and of an id. */
#define IPC_STORE_META_BYTES 14656
#define IPC_STORE_ID_BYTES 16

/* A state directory that somebody copied sandboxes into may have more than SANDBOXES_MAX. */
#define IPC_STORE_IDS_MAX (2 * SANDBOXES_MAX * IPC_ID_MAX)

/* The limits that one more sandbox has to fit into, where 0 is room for none, and the sums over all
 * sandboxes. An owner with a name has a share: three times what is left. */
struct store_census {
	uint32_t sandboxes_max;
	uint32_t sandboxes;
	uint64_t bytes_max;
	uint64_t bytes; /* each layer once */
	uint64_t owned_bytes;
	uint32_t owned;      /* sandboxes of the owner; counted if it has a name */
	char id[IPC_ID_MAX]; /* the owner's sandbox that has the name already */
	uint8_t reserved;
};

/* The first message; store_answer says whether the state directory could be opened. */
IPC_MESSAGE(store_start, (RAW, schema, IPC_SCHEMA_BYTES));

/* fd: the directory of the sandbox that the next store_ask is about */
IPC_MESSAGE(store_sandbox, (U32, reserved));

/* An execution for the history of a sandbox. No request waits for it: it has no answer. fd: the
 * sandbox's directory */
IPC_MESSAGE(store_note, (STRUCT, note, history_note));

IPC_MESSAGE(store_ask,
	(U32, operation), /* enum store_operation */
	(U32, number),    /* a checkpoint's; LIST: 1 if expired sandboxes are to be destroyed */
	(U64, bytes), (U64, inodes), (STRUCT, census, store_census),
	(OPT, name, IPC_NAME_MAX), /* a sandbox's name or id, a checkpoint's */
	(OPT, owner, IPC_NAME_MAX),
	(BYTES, ids, LAYERS_DEEP_MAX * IPC_STORE_ID_BYTES), /* layers' ids */
	(BYTES, meta, IPC_STORE_META_BYTES));

IPC_MESSAGE(store_answer,
	(U32, error), /* errno */
	(U32, value), /* a number; where a descriptor follows: 1 */
	(U32, is_taken), (U64, used_s),
	(STRUCT, census, store_census),      /* FIND: the id is that of the sandbox */
	(BYTES, meta, IPC_STORE_META_BYTES), /* as the operation changed or found it */
	(BYTES, made, IPC_STORE_META_BYTES), /* FORK: the new sandbox's */
	/* Texts, a NUL after each. LIST: the destroyed ones first, of which `value` is the number;
	 * with an error, they alone. */
	(BYTES, ids, IPC_STORE_IDS_MAX));

/* fd: a sandbox's directory, which is its lock, or one to be handed on; before store_answer */
IPC_MESSAGE(store_directory, (U32, reserved));

/* fd: a file of a sandbox, for another program; after store_answer */
IPC_MESSAGE(store_file, (U32, reserved));

/* clang-format on */

#endif
