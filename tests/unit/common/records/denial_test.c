/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting what was refused: kinds are told apart, their number and their counts are bounded.
 */
#include "common/records/denial.h"

#include <criterion/criterion.h>
#include <string.h>

static struct denials denials;

static void reset(void)
{
	memset(&denials, 0, sizeof(denials));
}

TestSuite(denial, .init = reset);

static uint32_t count_kinds(void)
{
	return denials.size / (uint32_t)sizeof(denials.records[0]);
}

static void add_call(uint32_t number, uint64_t argument, uint32_t count)
{
	denials_add(&denials, (struct denial){ .layer = DENIAL_SECCOMP,
					       .number = number,
					       .argument = argument,
					       .count = count,
					       .pid = 7 + number });
}

Test(denial, kinds_are_told_apart)
{
	add_call(165, 0, 1);
	add_call(165, 0, 1);
	add_call(41, 40, 1);
	add_call(41, 38, 1);
	denials_add(&denials, (struct denial){ .layer = DENIAL_MEMORY, .number = 165, .count = 3 });
	cr_assert_eq(count_kinds(), 4);
	cr_expect_eq(denials.records[0].count, 2);
	cr_expect_eq(denials.records[0].pid, 7 + 165, "of the first that tried");
	cr_expect_eq(denials.records[1].argument, 40);
	cr_expect_eq(denials.records[2].argument, 38);
	cr_expect_eq(denials.records[3].count, 3);
}

Test(denial, a_count_stays_at_its_largest)
{
	add_call(1, 0, UINT32_MAX - 1);
	add_call(1, 0, 1);
	cr_expect_eq(denials.records[0].count, UINT32_MAX);
	add_call(1, 0, 1);
	cr_expect_eq(denials.records[0].count, UINT32_MAX);
	add_call(1, 0, UINT32_MAX);
	cr_expect_eq(denials.records[0].count, UINT32_MAX);
}

Test(denial, what_is_beyond_the_kinds_is_counted_together)
{
	for (uint32_t number = 0; number < 100000; number++)
		add_call(number, number, 1);
	cr_assert_eq(count_kinds(), DENIAL_KINDS_MAX + 1);
	for (uint32_t i = 0; i < DENIAL_KINDS_MAX; i++)
		cr_expect_eq(denials.records[i].number, i);
	cr_expect_eq(denials.records[DENIAL_KINDS_MAX].layer, DENIAL_OTHER);
	cr_expect_eq(denials.records[DENIAL_KINDS_MAX].number, 0);
	cr_expect_eq(denials.records[DENIAL_KINDS_MAX].count, 100000 - DENIAL_KINDS_MAX);
	add_call(0, 0, 1);
	cr_expect_eq(denials.records[0].count, 2, "a known one is still counted as itself");
}

Test(denial, the_limits_have_room_behind_all_calls)
{
	for (uint32_t number = 0; number < 100; number++)
		add_call(number, 0, 1);
	for (uint32_t layer = DENIAL_MEMORY; layer <= DENIAL_DISK; layer++)
		denials_add(&denials, (struct denial){ .layer = layer, .count = 1 });
	cr_assert_eq(count_kinds(), DENIALS_MAX);
	cr_expect_eq(denials.records[DENIALS_MAX - 1].layer, DENIAL_DISK);
	denials_add(&denials, (struct denial){ .layer = DENIAL_FILES, .count = 1 });
	cr_expect_eq(count_kinds(), DENIALS_MAX, "and no more");
}

static bool take(struct denial denial, uint32_t size)
{
	uint8_t bytes[IPC_DENIALS_MAX + sizeof(denial)] = { 0 };

	for (size_t at = 0; at + sizeof(denial) <= sizeof(bytes); at += sizeof(denial))
		memcpy(bytes + at, &denial, sizeof(denial));
	return denials_take(&denials, bytes, size);
}

Test(denial, what_comes_in_a_message_is_checked)
{
	const struct denial good = { .layer = DENIAL_SECCOMP, .number = 1, .count = 1 };
	struct denial wrong = good;

	cr_assert(take(good, 0));
	cr_assert(take(good, IPC_DENIALS_MAX));
	cr_expect_eq(count_kinds(), DENIALS_MAX);
	cr_expect_not(take(good, sizeof(good) - 1));
	cr_expect_not(take(good, sizeof(good) + 1));
	cr_expect_eq(denials.size, 0, "nothing is taken of it");
	cr_expect_not(take(good, IPC_DENIALS_MAX + sizeof(good)));
	wrong.layer = DENIAL_COUNT;
	cr_expect_not(take(wrong, sizeof(wrong)));
	wrong.layer = UINT32_MAX;
	cr_expect_not(take(wrong, sizeof(wrong)));
	wrong = good;
	wrong.count = 0;
	cr_expect_not(take(wrong, sizeof(wrong)));
	cr_expect_eq(denials.size, 0);
}
