/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape of the built-in profiles' filters: a binary tree over ranges of numbers. How deep it
 * may be follows from how many ranges the oracle sees, so a list of comparisons, or a tree that
 * leans to one side, fails here.
 */
#include "oracle.h"
#include "support.h"

#include <criterion/criterion.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Instructions of one profile, as many as the init installs in tens of microseconds. */
#define MOST_INSTRUCTIONS 288U
/* Load and compare the architecture, load the number, test it for x32. */
#define PROLOGUE 4U
/* Single numbers that a range makes an exception of, compared after the tree. */
#define EXCEPTIONS 3U
/* The answer itself, and one jump to where it lies. */
#define EPILOGUE 2U

static struct builtin builtin;

static void open_plan(void)
{
	builtin = builtin_open();
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(shape, .init = open_plan, .fini = close_plan);

static const struct plan_profile *find(size_t index)
{
	const int found = plan_profile_find(&builtin.plan, oracle_profiles[index].name);

	cr_assert_geq(found, 0);
	return plan_profile(&builtin.plan, (uint32_t)found);
}

/* What tells a number's answer from its neighbour's: the action, or the call's own condition. */
static uint32_t kind_of(const struct oracle_profile *profile, uint32_t number)
{
	static const uint64_t zeros[6];
	char *call = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)number);
	const bool is_conditional =
		call != NULL && oracle_is_conditional(call) && oracle_has_group_of(profile, call);

	free(call);
	return is_conditional ? number : oracle_answer_number(profile, number, zeros);
}

static uint32_t count_ranges(const struct oracle_profile *profile)
{
	uint32_t ranges = 1;

	for (uint32_t number = 1; number <= 600; number++)
		ranges += kind_of(profile, number) != kind_of(profile, number - 1);
	return ranges;
}

static uint32_t logarithm(uint32_t value)
{
	uint32_t result = 0;

	while ((1U << result) < value)
		result++;
	return result;
}

static bool is_conditional_number(const struct oracle_profile *profile, uint32_t number)
{
	return kind_of(profile, number) == number && number != 0;
}

Test(shape, the_way_to_an_answer_is_as_long_as_the_tree_is_deep)
{
	for (size_t i = 0; i < oracle_profile_count; i++) {
		const struct oracle_profile *expected = &oracle_profiles[i];
		const struct plan_profile *profile = find(i);
		const uint32_t most =
			PROLOGUE + logarithm(count_ranges(expected)) + EXCEPTIONS + EPILOGUE;

		for (uint32_t number = 0; number <= 600; number++) {
			const struct seccomp_data data = { .nr = (int)number,
							   .arch = AUDIT_ARCH_X86_64 };
			uint32_t steps = 0;

			(void)bpf_trace(plan_filter(&builtin.plan, profile), profile->filter_count,
					&data, &steps);
			if (!is_conditional_number(expected, number))
				cr_assert_leq(steps, most, "%s: %u: %u steps, %u ranges",
					      expected->name, number, steps,
					      count_ranges(expected));
		}
	}
}

Test(shape, no_way_through_the_program_is_long)
{
	for (size_t i = 0; i < oracle_profile_count; i++) {
		const struct plan_profile *profile = find(i);
		const uint32_t deepest =
			bpf_longest(plan_filter(&builtin.plan, profile), profile->filter_count);

		/* The longest condition, ioctl's, has fifteen comparisons; a load and a mask of
		 * their own have six of them. */
		cr_expect_leq(deepest, PROLOGUE + 6 + EXCEPTIONS + 28 + EPILOGUE, "%s: %u",
			      oracle_profiles[i].name, deepest);
		cr_expect_gt(deepest, PROLOGUE + 6);
		cr_expect_leq(profile->filter_count, MOST_INSTRUCTIONS);
	}
}

/* A list would need one comparison for each number that differs from the default answer. */
Test(shape, numbers_share_instructions)
{
	for (size_t i = 0; i < oracle_profile_count; i++) {
		const struct plan_profile *profile = find(i);

		cr_expect_lt(profile->filter_count, 2 * count_ranges(&oracle_profiles[i]) + 40,
			     "%s: %u instructions, %u ranges", oracle_profiles[i].name,
			     profile->filter_count, count_ranges(&oracle_profiles[i]));
	}
}
