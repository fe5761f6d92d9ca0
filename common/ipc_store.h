/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a supervisor and the msp-store that has the files of its persistent sandboxes.
 */
#ifndef COMMON_IPC_STORE_H
#define COMMON_IPC_STORE_H

#include <stdint.h>

#include "common/history.h"
#include "common/limits.h"

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
struct ipc_store_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
};

/* fd: the directory of the sandbox that the next store_ask is about */
struct ipc_store_sandbox {
	uint32_t reserved;
};

/* An execution for the history of a sandbox. No request waits for it: it has no answer. fd: the
 * sandbox's directory */
struct ipc_store_note {
	struct history_note note;
};

struct ipc_store_ask {
	uint32_t operation; /* enum store_operation */
	uint32_t number;    /* a checkpoint's; LIST: 1 if expired sandboxes are to be destroyed */
	uint64_t bytes, inodes;
	struct store_census census;
	char name[IPC_NAME_MAX]; /* a sandbox's name or id, a checkpoint's */
	char owner[IPC_NAME_MAX];
	uint32_t ids_size;
	uint32_t meta_size;
	uint8_t ids[LAYERS_DEEP_MAX * IPC_STORE_ID_BYTES]; /* layers' ids */
	uint8_t meta[IPC_STORE_META_BYTES];
};

struct ipc_store_answer {
	uint32_t error; /* errno */
	uint32_t value; /* a number; where a descriptor follows: 1 */
	uint32_t is_taken;
	uint64_t used_s;
	struct store_census census; /* FIND: the id is that of the sandbox */
	uint32_t meta_size;
	uint32_t made_size;
	uint32_t ids_size;
	uint8_t meta[IPC_STORE_META_BYTES]; /* as the operation changed or found it */
	uint8_t made[IPC_STORE_META_BYTES]; /* FORK: the new sandbox's */
	/* Texts, a NUL after each. LIST: the destroyed ones first, of which `value` is the number;
	 * with an error, they alone. */
	uint8_t ids[IPC_STORE_IDS_MAX];
};

/* fd: a sandbox's directory, which is its lock, or one to be handed on; before store_answer */
struct ipc_store_directory {
	uint32_t reserved;
};

/* fd: a file of a sandbox, for another program; after store_answer */
struct ipc_store_file {
	uint32_t reserved;
};

#endif
