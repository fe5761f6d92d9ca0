/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of an execution went, from three clocks that are one.
 */
#include "frontend/timings.h"

#include <criterion/criterion.h>

#include "common/ipc/ipc_done.h"

static const struct ipc_execution_done done = { .wall_us = 1500,
						.heard_us = 1000300,
						.prepare_us = 100,
						.sandbox_us = 200,
						.start_us = 300,
						.run_us = 400 };

static uint64_t sum_of(const struct timings *timings)
{
	uint64_t sum = 0;

	for (enum timing timing = 0; timing < TIMING_COUNT; timing++)
		sum += timings_have(timings, timing) ? timings->us[timing] : 0;
	return sum;
}

Test(timings, the_parts_are_the_whole)
{
	struct timings timings;

	timings_set(&timings, &done, 1000100, 1000150, 1001900);
	cr_expect_eq(timings.us[TIMING_LAUNCH], 50);
	cr_expect_eq(timings.us[TIMING_QUEUE], 150);
	cr_expect_eq(timings.us[TIMING_PREPARE], 100);
	cr_expect_eq(timings.us[TIMING_REPORT], 500);
	cr_expect_eq(timings.us[TIMING_ANSWER], 100);
	cr_expect_eq(sum_of(&timings), 1001900 - 1000100);
}

Test(timings, a_broker_launches_nothing)
{
	struct timings timings;

	timings_set(&timings, &done, 0, 1000150, 1001900);
	cr_expect_not(timings_have(&timings, TIMING_LAUNCH));
	cr_expect(timings_have(&timings, TIMING_QUEUE));
	cr_expect_eq(sum_of(&timings), 1001900 - 1000150);
}

Test(timings, of_what_did_not_run_there_are_none)
{
	const struct ipc_execution_done failed = { .wall_us = 1500, .heard_us = 1000300 };
	struct timings timings;

	timings_set(&timings, &failed, 1000100, 1000150, 1001900);
	for (enum timing timing = 0; timing < TIMING_COUNT; timing++)
		cr_expect_not(timings_have(&timings, timing), "%s", timing_name(timing));
}

Test(timings, another_clock_makes_no_huge_numbers)
{
	struct timings timings;

	timings_set(&timings, &done, 5000100, 5000150, 5001900);
	cr_expect_eq(timings.us[TIMING_QUEUE], 0);
	cr_expect_eq(timings.us[TIMING_RUN], 400);
	timings_set(&timings, &done, 0, 50, 60);
	cr_expect_eq(timings.us[TIMING_ANSWER], 0);
}

Test(timings, each_has_a_name)
{
	for (enum timing timing = 0; timing < TIMING_COUNT; timing++)
		cr_expect_not_null(timing_name(timing));
}
