/* SPDX-License-Identifier: Apache-2.0
 *
 * The outcome of an execution as JSON: one dialect for `msp run --json` and results of MCP. A
 * member that does not apply is absent.
 */
#ifndef FRONTEND_OUTCOME_JSON_H
#define FRONTEND_OUTCOME_JSON_H

#include "frontend/json_write.h"
#include "frontend/timings.h"

struct denial_views;
struct ipc_execution_done;
struct ipc_posture_full;

struct outcome_facts {
	const struct ipc_execution_done
		*done; /* NULL: it still runs, and the next two are not read */
	const struct timings *timings;
	const struct denial_views *denials;
	uint64_t wall_us; /* a running execution's */
	uint64_t stdout_bytes, stderr_bytes;
	bool is_truncated; /* the reader is not shown all of the output */
	uint32_t limits;   /* enum limits_mode */
	uint32_t landlock_abi;
	const char *profile;
	const struct ipc_posture_full *posture; /* NULL: not known */
};

/* Write the members of an open object. */
void outcome_put(struct json_writer *writer, const struct outcome_facts *facts);

#endif
