/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the supervisor to a frontend: a request was carried out, an execution ended.
 */
#ifndef COMMON_IPC_IPC_DONE_H
#define COMMON_IPC_IPC_DONE_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* The request has been carried out. */
IPC_MESSAGE(request_done, (U64, request));

IPC_MESSAGE(execution_done,
	(U64, request),
	(U32, verdict),      /* enum verdict */
	(U32, exit_code),    /* EXITED */
	(U32, signal),       /* SIGNALLED and the verdicts that kill */
	(U32, stage),        /* INTERNAL, or EXEC: where the start failed (enum stage), else NONE */
	(U32, error),        /* errno of that stage */
	(U32, has_refusals), /* the network refused something: network_watch asks what */
	(U32, left_behind),  /* processes that it left and that were killed at its end */
	(U32, is_offline),   /* its sandbox has hosts, and the service that runs it no network */
	(U64, wall_us),
	(U64, cpu_us),     /* this and the next: of all its processes; 0: not known */
	(U64, peak_bytes), /* memory that they had at once */
	(U64, heard_us),   /* monotonic clock: the request was heard; wall_us later this was sent */
	(U64, prepare_us), /* wall_us in parts: until its sandbox was asked for, */
	(U64, sandbox_us), /* until that took it up, */
	(U64, start_us),   /* until the workload executed, */
	/* until its first process ended; the rest until this was sent. All 0: no such report
	 * came */
	(U64, run_us),
	(BYTES, denials, IPC_DENIALS_MAX)); /* struct denial[], common/records/denial.h */

/* clang-format on */

#endif
