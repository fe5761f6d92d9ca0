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

/* CLOCK_BOOTTIME, which a suspension moves on, is another clock where the machine was suspended. */
Test(clock, does_not_count_a_suspension)
{
	struct timespec now;
	uint64_t before, after = clock_now_us();

	do {
		before = after;
		cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
		after = clock_now_us();
	} while (after - before > 1000);
	cr_expect_leq(before, clock_ns_of(&now) / 1000);
	cr_expect_leq(clock_ns_of(&now) / 1000, after);
}
