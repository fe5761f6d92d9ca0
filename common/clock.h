/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock by which our processes wait, and tell one another when something was.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Microseconds since some time before, which is the same in every process, without the time that
 * the machine was suspended. */
uint64_t clock_now_us(void);

/* Return microseconds since 1970, by the clock that an administrator can set. */
static inline uint64_t clock_real_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Return a time as nanoseconds: to compare times of files. */
static inline uint64_t clock_ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

#endif
