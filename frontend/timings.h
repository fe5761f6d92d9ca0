/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of an execution in parts that follow each other without a gap, from the request to the
 * moment when its end was known. All processes read the same clock, CLOCK_MONOTONIC.
 */
#ifndef FRONTEND_TIMINGS_H
#define FRONTEND_TIMINGS_H

#include <stdbool.h>
#include <stdint.h>

struct ipc_execution_done;

enum timing {
	TIMING_LAUNCH,  /* msp itself: until it asked; a broker has none */
	TIMING_QUEUE,   /* until the supervisor began with it */
	TIMING_PREPARE, /* until its sandbox was asked for, or to run it */
	TIMING_SANDBOX, /* until that took it up: it was made, or woke up */
	TIMING_START,   /* until the workload executed */
	TIMING_RUN,     /* until its first process ended */
	TIMING_REPORT,  /* until the supervisor told that */
	TIMING_ANSWER,  /* until that and all of its output was there */
	TIMING_COUNT
};

struct timings {
	bool is_known; /* it ran, and its init told how */
	bool has_launch;
	uint64_t us[TIMING_COUNT];
};

/* Set the parts. The caller reads its own clock: `launched_us` when msp began, 0 for a broker; then
 * the time of the request, and the time when the end was known. */
void timings_set(struct timings *ret, const struct ipc_execution_done *done, uint64_t launched_us,
		 uint64_t asked_us, uint64_t known_us);

/* "queue" */
const char *timing_name(enum timing timing);

/* Has it this one? */
bool timings_have(const struct timings *timings, enum timing timing);

#endif
