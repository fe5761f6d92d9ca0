/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

uint64_t clock_read_us(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now); /* cannot fail with these clocks */
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
