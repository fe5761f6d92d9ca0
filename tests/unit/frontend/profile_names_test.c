/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/profile_names.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "plan_blob.h"

#define MANY 3

/* The blob's profile, under several names. */
static _Alignas(8) struct {
	struct blob blob;
	struct plan_profile profiles[MANY];
	char names[64];
} wide;

static struct plan plan;

static void make_plan(const char *const names[MANY])
{
	size_t used = 0;

	memset(&wide, 0, sizeof(wide));
	(void)blob_make(&wide.blob);
	for (size_t i = 0; i < MANY; i++) {
		wide.profiles[i] = wide.blob.profile;
		wide.profiles[i].name = (uint32_t)(offsetof(__typeof__(wide), names) + used);
		memcpy(wide.names + used, names[i], strlen(names[i]) + 1);
		used += strlen(names[i]) + 1;
	}
	wide.blob.header.size = sizeof(wide);
	wide.blob.header.profile_count = MANY;
	wide.blob.header.profiles = offsetof(__typeof__(wide), profiles);
	cr_assert_eq(plan_open(&wide, sizeof(wide), &plan), 0);
}

Test(profile_names, those_of_helpers_are_left_out)
{
	char text[64];

	make_plan((const char *const[MANY]){ "default", "_helper", "strict" });
	profile_names(&plan, text, sizeof(text));
	cr_expect_str_eq(text, "default, strict");
	make_plan((const char *const[MANY]){ "_a", "_b", "_c" });
	profile_names(&plan, text, sizeof(text));
	cr_expect_str_eq(text, "");
}

static bool is_any(const struct plan_profile *profile)
{
	return true;
}

/* The suffix of a kept set is secret: clients could name the profile. */
Test(profile_names, those_of_kept_sets_are_told_to_nobody)
{
	char text[64];

	make_plan((const char *const[MANY]){ "agent.a+0123", "_helper", "strict" });
	profile_names(&plan, text, sizeof(text));
	cr_expect_str_eq(text, "strict");
	cr_expect_eq(profile_first(&plan, is_any), plan_profile(&plan, 2));
	make_plan((const char *const[MANY]){ "agent.a+0123", "_helper", "_other" });
	cr_expect_null(profile_first(&plan, is_any));
	cr_expect_not_null(profile_named(&plan, "agent.a+0123"), "for whoever knows it");
}

Test(profile_names, one_is_found_unless_it_is_a_helpers)
{
	make_plan((const char *const[MANY]){ "default", "_helper", "strict" });
	cr_expect_eq(profile_named(&plan, "strict"), plan_profile(&plan, 2));
	cr_expect_null(profile_named(&plan, "_helper"));
	cr_expect_null(profile_named(&plan, "none"));
}

Test(profile_names, an_image_is_that_of_the_named_profile)
{
	make_plan((const char *const[MANY]){ "default", "_helper", "strict" });
	wide.profiles[2].image = 1;
	cr_expect(profile_has_image(&plan, "strict"));
	cr_expect_not(profile_has_image(&plan, "default"));
	cr_expect_not(profile_has_image(&plan, ""), "the default one");
	cr_expect_not(profile_has_image(&plan, "none"));
	cr_expect_not(profile_has_image(NULL, "strict"));
	cr_expect_not(profile_has_image(&(struct plan){ .bytes = NULL }, "strict"));
}

Test(profile_names, what_does_not_fit_is_left_out_whole)
{
	static const struct {
		size_t room;
		const char *text;
	} rows[] = {
		{ sizeof("one, two, three"), "one, two, three" },
		{ sizeof("one, two, three") - 1, "one, two" },
		{ sizeof("one, two"), "one, two" },
		{ sizeof("one, two") - 1, "one" },
		{ sizeof("one"), "one" },
		{ sizeof("one") - 1, "" },
		{ 1, "" },
	};
	char text[64];

	make_plan((const char *const[MANY]){ "one", "two", "three" });
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(text, 'x', sizeof(text));
		profile_names(&plan, text, rows[i].room);
		cr_expect_str_eq(text, rows[i].text);
		cr_expect_eq(text[rows[i].room], 'x', "%zu", rows[i].room);
	}
}
