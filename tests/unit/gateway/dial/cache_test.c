/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of names for a time: what is kept, how long, and what makes room.
 */
#include "gateway/dial/cache.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct resolution found(uint32_t ttl_s, uint8_t last)
{
	return (struct resolution){ .end = RESOLVE_DONE,
				    .ttl_s = ttl_s,
				    .count = 1,
				    .addresses = { { { [15] = last } } } };
}

Test(cache, an_answer_ends_with_its_time)
{
	const struct resolution first = found(30, 1), second = found(30, 2);
	const struct resolution *known;

	cr_expect_null(cache_find("a.example", 1000));
	cache_keep("a.example", &first, 1000);
	known = cache_find("a.example", 30999);
	cr_assert_not_null(known);
	cr_expect_eq(known->addresses[0].bytes[15], 1);
	cr_expect_null(cache_find("b.example", 1001));
	cr_expect_null(cache_find("a.example", 31000));
	cache_keep("a.example", &second, 31000);
	cr_expect_eq(cache_find("a.example", 31001)->addresses[0].bytes[15], 2);
}

Test(cache, times_are_bounded)
{
	const struct resolution none = found(0, 1), eternal = found(UINT32_MAX, 1);

	cache_keep("none.example", &none, 1000);
	cr_expect_null(cache_find("none.example", 1000));
	cache_keep("eternal.example", &eternal, 1000);
	cr_expect_not_null(cache_find("eternal.example", 1000 + CACHE_TTL_MAX_S * 1000ULL - 1));
	cr_expect_null(cache_find("eternal.example", 1000 + CACHE_TTL_MAX_S * 1000ULL));
}

Test(cache, failures_are_not_kept_and_missing_names_briefly)
{
	const struct resolution failed = { .end = RESOLVE_FAILED, .ttl_s = 60 };
	const struct resolution no_name = { .end = RESOLVE_NO_NAME, .ttl_s = 60 };

	cache_keep("failed.example", &failed, 1000);
	cr_expect_null(cache_find("failed.example", 1000));
	cache_keep("missing.example", &no_name, 1000);
	cr_expect_not_null(cache_find("missing.example", 1000 + CACHE_NO_NAME_S * 1000 - 1));
	cr_expect_null(cache_find("missing.example", 1000 + CACHE_NO_NAME_S * 1000));
}

Test(cache, the_name_nearest_to_its_end_makes_room)
{
	const struct resolution shorter = found(10, 1), longer = found(60, 2);
	char name[32];

	cache_keep("short.example", &shorter, 1000);
	for (uint32_t i = 0; i < CACHE_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example", i);
		cache_keep(name, &longer, 1000);
	}
	cr_expect_null(cache_find("short.example", 1001));
	for (uint32_t i = 0; i < CACHE_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example", i);
		cr_expect_not_null(cache_find(name, 1001), "%s", name);
	}
}

Test(cache, a_name_has_one_place)
{
	const struct resolution first = found(60, 1), second = found(60, 2);

	for (uint32_t i = 0; i < 2 * CACHE_NAMES_MAX; i++)
		cache_keep("a.example", i % 2 ? &first : &second, 1000 + i);
	cache_keep("b.example", &first, 1000);
	cr_expect_not_null(cache_find("a.example", 2000));
	cr_expect_not_null(cache_find("b.example", 2000));
	cache_clear();
	cr_expect_null(cache_find("a.example", 2000));
	cr_expect_null(cache_find("b.example", 2000));
}
