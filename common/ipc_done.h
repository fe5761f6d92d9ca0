/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the supervisor to a frontend: a request was carried out, an execution ended.
 */
#ifndef COMMON_IPC_DONE_H
#define COMMON_IPC_DONE_H

#include <stdint.h>

#include "common/limits.h"

/* The request has been carried out. */
struct ipc_request_done {
	uint64_t request;
};

struct ipc_execution_done {
	uint64_t request;
	uint32_t verdict;   /* enum verdict */
	uint32_t exit_code; /* EXITED */
	uint32_t signal;    /* SIGNALLED and the verdicts that kill */
	uint32_t stage;     /* INTERNAL, or EXEC: where the start failed (enum stage), else NONE */
	uint32_t error;     /* errno of that stage */
	uint32_t has_refusals; /* the network refused something: network_watch asks what */
	uint64_t wall_us;
	uint64_t cpu_us;     /* this and the next: of all its processes; 0: not known */
	uint64_t peak_bytes; /* memory that they had at once */
	uint64_t heard_us; /* monotonic clock: the request was heard; wall_us later this was sent */
	uint64_t prepare_us; /* wall_us in parts: until its sandbox was asked for, */
	uint64_t sandbox_us; /* until that took it up, */
	uint64_t start_us;   /* until the workload executed, */
	uint64_t run_us;     /* until its first process ended; the rest until this was sent.
			      * All 0: no such report came */
	uint32_t denials_size;
	uint8_t denials[IPC_DENIALS_MAX]; /* struct denial[], common/denial.h */
};

#endif
