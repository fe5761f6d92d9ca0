/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/timings.h"

#include "common/ipc/ipc_done.h"

static const char *const names[TIMING_COUNT] = {
	[TIMING_LAUNCH] = "launch",   [TIMING_QUEUE] = "queue",   [TIMING_PREPARE] = "prepare",
	[TIMING_SANDBOX] = "sandbox", [TIMING_START] = "start",   [TIMING_RUN] = "run",
	[TIMING_REPORT] = "report",   [TIMING_ANSWER] = "answer",
};

const char *timing_name(enum timing timing)
{
	return names[timing];
}

bool timings_have(const struct timings *timings, enum timing timing)
{
	return timings->is_known && (timing != TIMING_LAUNCH || timings->has_launch);
}

/* A service in another time namespace has another clock: then it is nothing rather than nonsense.
 */
static uint64_t time_between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

void timings_set(struct timings *ret, const struct ipc_execution_done *done, uint64_t launched_us,
		 uint64_t asked_us, uint64_t known_us)
{
	const uint64_t parts_us =
		done->prepare_us + done->sandbox_us + done->start_us + done->run_us;

	*ret = (struct timings){
		.is_known = parts_us > 0,
		.has_launch = launched_us > 0,
		.us = { [TIMING_LAUNCH] = time_between(launched_us, asked_us),
			[TIMING_QUEUE] = time_between(asked_us, done->heard_us),
			[TIMING_PREPARE] = done->prepare_us,
			[TIMING_SANDBOX] = done->sandbox_us,
			[TIMING_START] = done->start_us,
			[TIMING_RUN] = done->run_us,
			[TIMING_REPORT] = parts_us > 0 ? time_between(parts_us, done->wall_us) : 0,
			[TIMING_ANSWER] = time_between(done->heard_us + done->wall_us, known_us) },
	};
}
