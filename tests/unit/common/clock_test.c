/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock that every process shares: it goes forward, in microseconds.
 */
#include "common/clock.h"

#include <criterion/criterion.h>
#include <time.h>

Test(clock, goes_forward_in_microseconds)
{
	const struct timespec wait = { .tv_nsec = 3000000 };
	const uint64_t before = clock_now_us();

	cr_expect_leq(before, clock_now_us());
	cr_assert_eq(nanosleep(&wait, NULL), 0);
	cr_expect_geq(clock_now_us() - before, 3000UL);
	cr_expect_lt(clock_now_us() - before, 3000000UL, "not nanoseconds");
}
