/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: of a client of the service, and of a frontend
 * that begins and ends.
 */
#ifndef COMMON_IPC_IPC_CLIENT_H
#define COMMON_IPC_IPC_CLIENT_H

#include "common/ipc/ipc_message.h"
#include "common/ipc/ipc_posture.h"

/* clang-format off */

/* fd: O_PATH of a directory that the client's requests may name, or lie in. Before client_start, at
 * most CLIENT_WORKSPACES_MAX. */
IPC_MESSAGE(client_workspace,
	(U32, is_start)); /* 1: only the one that msp was started in; nobody named it */

/* fds: the client's stdin, stdout, stderr. Nothing of them is used before client_started. */
IPC_MESSAGE(client_start,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, limits)); /* enum limits_mode that the client's operator accepts */

IPC_MESSAGE(client_started, (U32, limits)); /* enum limits_mode in force */

IPC_MESSAGE(client_end, (U32, reason)); /* enum client_end_reason */

IPC_MESSAGE(status_ask, (RAW, schema, IPC_SCHEMA_BYTES));

IPC_MESSAGE(status,
	(U32, pid), /* the supervisor's */
	(U32, landlock_abi),
	(U32, limits), /* enum limits_mode in force */
	(U32, clients), (U32, clients_max),
	(U32, executions), /* alive now */
	(U32, executions_max),
	(U64, executions_started), /* since the start */
	(U64, executions_refused), /* for want of room, since the start */
	(U64, memory_bytes),       /* used by all sandboxes now; 0 where it cannot be told */
	(U64, memory_max_bytes),   /* 0: no limit for all together */
	(U32, generation),         /* the policy's, counted from 1 */
	(U32, reload_failed),      /* 1: the operator's file has changed, and cannot be used */
	(U32, is_offline),         /* 1: the gateway began where no network was */
	(U64, uptime_us),
	(STRUCT, posture, ipc_posture_full)); /* the default profile's */

IPC_MESSAGE(hello,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, limits)); /* enum limits_mode that is accepted; else client_end is the answer */

/* fd: the sealed plan; what it says of helpers' profiles is not for clients. With it the posture,
 * as measured. */
IPC_MESSAGE(welcome,
	(RAW, schema, IPC_SCHEMA_BYTES), (U32, landlock_abi),
	(U32, limits),         /* enum limits_mode in force */
	(U32, executions_max), /* alive at once, of all frontends */
	(U32, is_service),     /* the user's service: commands of a person reach it */
	(STR, default_profile, IPC_NAME_MAX),
	(BYTES, languages, IPC_LIST_MAX),     /* installed ones: names, NUL after each */
	(OPT, posture_profile, IPC_NAME_MAX), /* the default one; empty: not measured yet */
	(STRUCT, posture, ipc_posture_full));

/* A broker's last word: its end is none of a crash. */
IPC_MESSAGE(goodbye, (U32, exit_code));

/* fd: the sealed plan that holds for what is asked from now on; the rest as in the welcome. */
IPC_MESSAGE(policy_changed,
	(U32, generation), /* counted from 1 */
	(STR, default_profile, IPC_NAME_MAX),
	(BYTES, languages, IPC_LIST_MAX));

/* clang-format on */

#endif
