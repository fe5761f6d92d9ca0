/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now); /* cannot fail with these clocks */
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_real_us(void)
{
	return read_clock(CLOCK_REALTIME);
}
