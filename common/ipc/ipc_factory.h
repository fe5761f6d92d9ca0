/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the supervisor and the factory, which clones for it.
 */
#ifndef COMMON_IPC_IPC_FACTORY_H
#define COMMON_IPC_IPC_FACTORY_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* fd: sealed policy blob */
IPC_MESSAGE(factory_start,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, limits)); /* enum limits_mode */

/* fd: our cgroup directory, so that the factory can empty it if the supervisor dies */
IPC_MESSAGE(factory_cgroup, (U32, slots)); /* how many sandbox cgroups s0, s1, ... there may be */

/* fd: as in supervisor_pin */
IPC_MESSAGE(factory_pin,
	(U32, generation), /* slot of the blob */
	(U32, profile), (U32, mount));

/* The supervisor said everything. */
IPC_MESSAGE(factory_serve, (U32, reserved));

/* fd: sealed policy blob, which sandboxes and helpers come from unless they say another */
IPC_MESSAGE(factory_policy,
	(U32, slot)); /* under which it is kept, below GENERATIONS_MAX; not in use */

/* No more sandboxes will come from it. */
IPC_MESSAGE(factory_forget, (U32, slot));

IPC_MESSAGE(factory_ready,
	(U32, stage), /* NONE: ready; else where the set-up failed */
	(U32, error));

/* fd: the cgroup that the next sandbox_create shall start its init in */
IPC_MESSAGE(sandbox_cgroup, (U32, slot));

/* fd: O_PATH of the workspace of the next sandbox_create, as the path opener opened it, or of git's
 * data for it */
IPC_MESSAGE(sandbox_workspace, (U32, is_git));

/* A directory from which a persistent mount of the next sandbox_create is made. A layer has a name
 * in place of a descriptor: the init opens it beneath the state directory, which the launcher gave
 * the factory. */
IPC_MESSAGE(sandbox_layer,
	(U32, number), /* how many came before it; 0: forget those of a sandbox that never came */
	(U32, mount), /* index of the profile's record, which has a place */
	(U32, role), /* enum layer_role: LOWER, UPPER, WORK; of the workspace LOWER, READ, WRITE */
	(OPT, id, IPC_ID_MAX)); /* empty: the workspace */

/* fd: the init's end of its channel */
IPC_MESSAGE(sandbox_create,
	(U32, slot),
	(U32, profile),    /* index in the blob */
	(U32, generation), /* under which the blob is kept; the first one is 0 */
	(U32, probe),      /* enum probe_mode of the spawn to come */
	(U32, layers),     /* how many sandbox_layer are for it */
	/* 0: it ends with the first process of its one execution; 1: it has SANDBOX_EXECUTIONS_MAX
	 * at once, and goes on without any; 2: likewise, and it is at its disk limit */
	(U32, lasts),
	(U32, is_last)); /* 1: the factory is asked for no other, and for no helper */

/* fd: pidfd of the init */
IPC_MESSAGE(sandbox_created, (U32, slot));

IPC_MESSAGE(sandbox_failed, (U32, slot), (U32, stage), (U32, error));

enum helper_kind { HELPER_BROKER = 0, HELPER_LAYERS, HELPER_KIND_COUNT };

/* fds: stdin, stdout, stderr, the helper's channel. Its image is what the launcher gave the
 * factory. */
IPC_MESSAGE(helper_start,
	(U32, slot),
	(U32, kind)); /* enum helper_kind */

/* fd: pidfd of the helper */
IPC_MESSAGE(helper_started, (U32, slot));

/* clang-format on */

#endif
