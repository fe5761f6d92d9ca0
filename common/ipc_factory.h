/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the supervisor and the factory, which clones for it.
 */
#ifndef COMMON_IPC_FACTORY_H
#define COMMON_IPC_FACTORY_H

#include <stdint.h>

#include "common/limits.h"

/* fd: sealed policy blob */
struct ipc_factory_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t limits; /* enum limits_mode */
};

/* fd: our cgroup directory, so that the factory can empty it if the supervisor dies */
struct ipc_factory_cgroup {
	uint32_t slots; /* how many sandbox cgroups s0, s1, ... there may be */
};

/* fd: as in supervisor_pin */
struct ipc_factory_pin {
	uint32_t generation; /* slot of the blob */
	uint32_t profile;
	uint32_t mount;
};

/* The supervisor said everything. */
struct ipc_factory_serve {
	uint32_t reserved;
};

/* fd: sealed policy blob, which sandboxes and helpers come from unless they say another */
struct ipc_factory_policy {
	uint32_t slot; /* under which it is kept, below GENERATIONS_MAX; not in use */
};

/* No more sandboxes will come from it. */
struct ipc_factory_forget {
	uint32_t slot;
};

struct ipc_factory_ready {
	uint32_t stage; /* NONE: ready; else where the set-up failed */
	uint32_t error;
};

/* fd: the cgroup that the next sandbox_create shall start its init in */
struct ipc_sandbox_cgroup {
	uint32_t slot;
};

/* fd: O_PATH of the workspace of the next sandbox_create, as the path opener opened it */
struct ipc_sandbox_workspace {
	uint32_t reserved;
};

/* A directory from which a persistent mount of the next sandbox_create is made. A layer has a name
 * in place of a descriptor: the init opens it beneath the state directory, which the launcher gave
 * the factory. */
struct ipc_sandbox_layer {
	uint32_t number; /* how many came before it; 0: forget those of a sandbox that never came */
	uint32_t mount;  /* index of the profile's record, which has a place */
	uint32_t
		role; /* enum layer_role: LOWER, UPPER, WORK; of the workspace LOWER, READ, WRITE */
	char id[IPC_ID_MAX]; /* empty: the workspace */
};

/* fd: the init's end of its channel */
struct ipc_sandbox_create {
	uint32_t slot;
	uint32_t profile;    /* index in the blob */
	uint32_t generation; /* under which the blob is kept; the first one is 0 */
	uint32_t probe;      /* enum probe_mode of the spawn to come */
	uint32_t layers;     /* how many sandbox_layer are for it */
	uint32_t lasts;      /* 0: it ends with the first process of its one execution; 1: it has
			      * SANDBOX_EXECUTIONS_MAX at once, and goes on without any */
	uint32_t is_last;    /* 1: the factory is asked for no other, and for no helper */
};

/* fd: pidfd of the init */
struct ipc_sandbox_created {
	uint32_t slot;
};

struct ipc_sandbox_failed {
	uint32_t slot;
	uint32_t stage;
	uint32_t error;
};

enum helper_kind { HELPER_BROKER = 0, HELPER_LAYERS, HELPER_KIND_COUNT };

/* fds: stdin, stdout, stderr, the helper's channel. Its image is what the launcher gave the
 * factory. */
struct ipc_helper_start {
	uint32_t slot;
	uint32_t kind; /* enum helper_kind */
};

/* fd: pidfd of the helper */
struct ipc_helper_started {
	uint32_t slot;
};

#endif
