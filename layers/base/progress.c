/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/progress.h"

#include <poll.h>

#include "common/clock.h"
#include "common/fd.h"

/* Microseconds between two records. */
#define INTERVAL_US 250000U

static int output = -1;
static uint64_t due_us;

void progress_begin(int pipe)
{
	output = pipe;
	due_us = clock_now_us() + INTERVAL_US;
}

void progress_note(enum change_stage stage, uint64_t done, uint64_t total)
{
	const struct change_record record = { .flags = stage, .old_size = done, .new_size = total };
	struct pollfd entry = { .fd = output, .events = POLLOUT };
	const uint64_t now_us = clock_now_us();

	if (output < 0 || now_us < due_us || poll(&entry, 1, 0) != 1 || entry.revents != POLLOUT)
		return;
	due_us = now_us + INTERVAL_US;
	(void)fd_write_all(output, &record, sizeof(record)); /* the work goes on without it */
}
