/* SPDX-License-Identifier: Apache-2.0
 *
 * How a total is shared out: nobody takes all of it, and who comes late finds something.
 */
#include <criterion/criterion.h>

#include "executions/share.h"

#define PRINCIPALS 300U

/* Let the principals take one after the other, each as long as it may. */
static size_t fill(size_t total, uint32_t principals, size_t own[PRINCIPALS])
{
	size_t used = 0;

	for (uint32_t p = 0; p < principals; p++) {
		own[p] = 0;
		while (share_allows(p + 1, own[p], used, total, 1)) {
			own[p]++;
			used++;
		}
	}
	return used;
}

Test(share, one_gets_three_quarters)
{
	static const struct {
		size_t total, most;
	} cases[] = { { 8, 6 }, { 64, 48 }, { 128, 96 }, { 256, 192 }, { 400, 300 }, { 1, 1 } };
	size_t own[PRINCIPALS];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(fill(cases[i].total, 1, own), cases[i].most);
}

Test(share, a_second_one_gets_most_of_the_rest)
{
	size_t own[PRINCIPALS];

	(void)fill(128, 3, own);
	cr_assert_eq(own[0], 96);
	cr_assert_eq(own[1], 24);
	cr_assert_eq(own[2], 6);
	(void)fill(8, 2, own);
	cr_assert_eq(own[1], 2);
}

Test(share, those_who_take_turns_get_the_same)
{
	size_t own[3] = { 0 };
	size_t used = 0;

	for (size_t i = 0; i < 300; i++) {
		if (!share_allows((uint32_t)(i % 3) + 1, own[i % 3], used, 128, 1))
			continue;
		own[i % 3]++;
		used++;
	}
	for (size_t i = 0; i < 3; i++)
		cr_assert(own[i] >= 38 && own[i] <= 39, "%zu", own[i]);
}

Test(share, who_has_less_takes_what_another_gives_back)
{
	cr_assert_not(share_allows(1, 90, 114, 128, 1));
	cr_assert(share_allows(2, 24, 114, 128, 1));
}

Test(share, bytes)
{
	cr_assert(share_allows(1, 0, 0, 1000, 750));
	cr_assert_not(share_allows(1, 0, 0, 1000, 760));
	cr_assert(share_allows(2, 0, 750, 1000, 180));
	cr_assert_not(share_allows(1, 800, 800, 1000, 0), "it has too much since others came");
	cr_assert(share_allows(1, 740, 740, 1000, 0));
	cr_assert_not(share_allows(1, 0, 0, 1000, SIZE_MAX));
	cr_assert_not(share_allows(1, 0, 1001, 1000, 0));
}

Test(share, nobody_to_share_with)
{
	cr_assert(share_allows(0, 0, 0, 1000, 1000));
	cr_assert(share_allows(0, 999, 999, 1000, 1));
	cr_assert_not(share_allows(0, 1000, 1000, 1000, 1));
}

Test(share, plenty_is_never_too_much)
{
	for (size_t used = 0; used <= 1000; used++) {
		if (share_is_plenty(used, 1000))
			cr_assert(share_allows(1, used, used, 1000, 0));
	}
	cr_assert(share_is_plenty(250, 1000));
	cr_assert_not(share_is_plenty(251, 1000));
}
