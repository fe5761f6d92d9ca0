/* SPDX-License-Identifier: Apache-2.0
 *
 * Names below wildcards, each sandbox's by itself: how many at once, each second and in all.
 */
#include "gateway/dial/below.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Take new names until one is refused. Return how many were taken, of which the first is `from`. */
static uint32_t take_names(uint32_t slot, uint32_t from, uint64_t now_ms)
{
	char name[64];

	for (uint32_t i = 0; i < 2 * BELOW_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x%u.wild.example", from + i);
		if (!below_take(slot, name, now_ms))
			return i;
		cr_assert(below_take(slot, name, now_ms), "it is known");
	}
	return UINT32_MAX;
}

Test(below, at_once_and_each_second)
{
	cr_expect_eq(take_names(3, 0, 5000), BELOW_BURST);
	cr_expect_eq(take_names(3, 1000, 5999), 0);
	cr_expect_eq(take_names(3, 1000, 6000), 1);
	cr_expect_eq(take_names(3, 2000, 8500), 2);
	cr_expect_eq(take_names(3, 3000, 9000), 1);
	cr_expect_eq(take_names(4, 0, 9000), BELOW_BURST, "another sandbox has its own");
	cr_expect_eq(take_names(3, 4000, 1000000), BELOW_BURST, "no more come together");
	cr_expect(below_take(3, "x0.wild.example", 1000000), "a name from before");
}

Test(below, in_all)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < 100; i++)
		taken += take_names(3, 1000 * i, 1000000ULL * i);
	cr_expect_eq(taken, BELOW_NAMES_MAX);
	cr_expect(below_take(3, "x0.wild.example", 1000000000), "a name from before");
	below_forget(3);
	below_forget(4);
	cr_expect_eq(take_names(3, 0, 1000000000), BELOW_BURST, "another sandbox in its place");
}
