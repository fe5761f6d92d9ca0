/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter compiler against a plain reading of the same rules.
 */
#include "support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define RULES 400U

static uint32_t random_state;

/* The same sequence in every run. */
static uint32_t next_random(void)
{
	random_state = random_state * 1664525U + 1013904223U;
	return random_state >> 8;
}

static bool holds(const struct filter_compare *compare, const uint64_t arguments[6])
{
	const bool is_equal = (arguments[compare->argument] & compare->mask) == compare->value;

	return compare->mask == 0 || is_equal == (compare->relation == FILTER_EQUAL);
}

static uint32_t answer_of_rule(const struct filter_rule *rule, const uint64_t arguments[6])
{
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		bool all = true;

		for (uint32_t j = 0; j < FILTER_COMPARES_MAX; j++)
			all = all && holds(&rule->clauses[i].compare[j], arguments);
		if (all)
			return rule->clauses[i].action;
	}
	return rule->action;
}

static uint32_t answer_of_rules(const struct filter_rule *rules, uint32_t count, uint32_t number,
				const uint64_t arguments[6])
{
	if ((number & 0x40000000U) != 0)
		return FILTER_KILL;
	for (uint32_t i = 0; i < count; i++) {
		if (rules[i].number == number)
			return answer_of_rule(&rules[i], arguments);
	}
	return FILTER_ENOSYS;
}

static void expect_same(const struct filter_program *program, const struct filter_rule *rules,
			uint32_t count, uint32_t number, const uint64_t arguments[6])
{
	struct seccomp_data data = { .nr = (int)number, .arch = AUDIT_ARCH_X86_64 };

	memcpy(data.args, arguments, sizeof(data.args));
	cr_assert_eq(bpf_run(program->instructions, program->count, &data),
		     answer_of_rules(rules, count, number, arguments), "number %u", number);
}

Test(filter, foreign_architectures_and_x32_are_killed_whatever_the_rules_say)
{
	static const uint32_t architectures[] = { 0, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64,
						  AUDIT_ARCH_X86_64 ^ 1U, 0xffffffffU };
	static const struct filter_rule rules[] = { { .number = 0, .action = FILTER_ALLOW } };
	struct filter_program program;

	cr_assert_eq(filter_compile(rules, 1, FILTER_ALLOW, &program), 0);
	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
		const struct seccomp_data data = { .nr = 0, .arch = architectures[i] };

		cr_expect_eq(bpf_run(program.instructions, program.count, &data), FILTER_KILL);
	}
	for (uint32_t number = 0x40000000U; number < 0x40000300U; number++) {
		const struct seccomp_data data = { .nr = (int)number, .arch = AUDIT_ARCH_X86_64 };

		cr_expect_eq(bpf_run(program.instructions, program.count, &data), FILTER_KILL);
	}
}

Test(filter, no_rules_leave_only_the_other_answer)
{
	const uint64_t arguments[6] = { 0 };
	struct filter_program program;

	cr_assert_eq(filter_compile(NULL, 0, FILTER_ENOSYS, &program), 0);
	for (uint32_t number = 0; number < 1000; number++)
		expect_same(&program, NULL, 0, number, arguments);
}

Test(filter, rules_out_of_order_or_malformed_are_refused)
{
	static const struct filter_clause stray = { FILTER_ALLOW, { { 0, 0, 0xff, 0x100 } } };
	static const struct filter_clause far = { FILTER_ALLOW, { { 6, 0, 0xff, 0 } } };
	const struct filter_rule order[] = { { .number = 2 }, { .number = 1 } };
	const struct filter_rule twice[] = { { .number = 2 }, { .number = 2 } };
	const struct filter_rule x32[] = { { .number = 0x40000000U } };
	const struct filter_rule value[] = { { .clauses = &stray, .clause_count = 1 } };
	const struct filter_rule index[] = { { .clauses = &far, .clause_count = 1 } };
	struct filter_program program;

	cr_expect_eq(filter_compile(order, 2, FILTER_KILL, &program), -EINVAL);
	cr_expect_eq(filter_compile(twice, 2, FILTER_KILL, &program), -EINVAL);
	cr_expect_eq(filter_compile(x32, 1, FILTER_KILL, &program), -EINVAL);
	cr_expect_eq(filter_compile(value, 1, FILTER_KILL, &program), -EINVAL);
	cr_expect_eq(filter_compile(index, 1, FILTER_KILL, &program), -EINVAL);
	cr_expect_eq(filter_compile(order, FILTER_RULES_MAX + 1, FILTER_KILL, &program), -E2BIG);
}

Test(filter, both_halves_of_an_argument_count_when_the_mask_says_so)
{
	static const struct filter_clause clause = {
		FILTER_EPERM, { { 2, FILTER_EQUAL, FILTER_LONG, 0x1234567800000001ULL } }
	};
	const struct filter_rule rule = { 7, FILTER_ALLOW, 1, &clause };
	static const uint64_t values[] = { 0x1234567800000001ULL, 1,
					   0x1234567800000000ULL, 0x1234567800000003ULL,
					   0x0234567800000001ULL, 0 };
	struct filter_program program;

	cr_assert_eq(filter_compile(&rule, 1, FILTER_ENOSYS, &program), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const uint64_t arguments[6] = { 0, 0, values[i] };

		expect_same(&program, &rule, 1, 7, arguments);
	}
}

static void make_clause(struct filter_clause *clause)
{
	static const uint64_t masks[] = { FILTER_INT,   FILTER_LONG,          0xf000, 0x06000, 8,
					  0xff00000000, 0x8000000000000000ULL };
	const uint32_t compares = 1 + next_random() % FILTER_COMPARES_MAX;

	memset(clause, 0, sizeof(*clause));
	clause->action = next_random() % 2 == 0 ? FILTER_EPERM : FILTER_ALLOW;
	for (uint32_t i = 0; i < compares; i++) {
		struct filter_compare *compare = &clause->compare[i];

		compare->argument = (uint8_t)(next_random() % 6);
		compare->relation = (uint8_t)(next_random() % 2);
		compare->mask = masks[next_random() % 7];
		compare->value =
			(next_random() % 4 * 0x200000001000ULL + next_random() % 3) & compare->mask;
	}
}

static uint32_t make_rules(struct filter_rule *rules, struct filter_clause *clauses)
{
	static const uint32_t actions[] = { FILTER_ALLOW, FILTER_EPERM, FILTER_ENOSYS };
	const uint32_t count = next_random() % RULES;
	uint32_t number = next_random() % 3;
	uint32_t clause = 0;

	for (uint32_t i = 0; i < count; i++) {
		rules[i] = (struct filter_rule){ number, actions[next_random() % 3], 0, NULL };
		number += 1 + (next_random() % 5 == 0 ? next_random() % 40 : 0);
		if (next_random() % 16 != 0 || clause > RULES - 4)
			continue;
		rules[i].clauses = &clauses[clause];
		rules[i].clause_count = 1 + next_random() % 3;
		for (uint32_t j = 0; j < rules[i].clause_count; j++)
			make_clause(&clauses[clause++]);
	}
	return count;
}

/* Values near those of the clauses, in either half. */
static void make_arguments(uint64_t arguments[6])
{
	for (int i = 0; i < 6; i++) {
		arguments[i] = next_random() % 4 * 0x200000001000ULL + next_random() % 3;
		if (next_random() % 4 == 0)
			arguments[i] |= (uint64_t)next_random() << (next_random() % 40);
	}
}

Test(filter, random_rules_mean_what_they_say)
{
	static struct filter_rule rules[RULES];
	static struct filter_clause clauses[RULES];
	struct filter_program program;
	uint32_t compiled = 0;

	random_state = 20240229;
	for (uint32_t round = 0; round < 300; round++) {
		const uint32_t count = make_rules(rules, clauses);

		/* Some sets are too large; the real ones are not. */
		if (filter_compile(rules, count, FILTER_ENOSYS, &program) != 0)
			continue;
		compiled++;
		for (uint32_t number = 0; number < 1500; number++) {
			uint64_t arguments[6];

			make_arguments(arguments);
			expect_same(&program, rules, count, number, arguments);
		}
	}
	cr_expect_gt(compiled, 250, "%u", compiled);
}

Test(filter, targets_beyond_255_instructions_are_reached)
{
	static struct filter_rule rules[256];
	static struct filter_clause clauses[256];
	const uint64_t arguments[6] = { 5 };
	struct filter_program program;

	/* Every rule differs from every other, so that nothing can be shared. */
	for (uint32_t i = 0; i < 256; i++) {
		clauses[i] = (struct filter_clause){ FILTER_ALLOW,
						     { { 0, FILTER_EQUAL, FILTER_INT, i } } };
		rules[i] = (struct filter_rule){ i, FILTER_EPERM, 1, &clauses[i] };
	}
	cr_assert_eq(filter_compile(rules, 256, FILTER_ENOSYS, &program), 0);
	cr_assert_gt(program.count, 700);
	for (uint32_t number = 0; number < 300; number++)
		expect_same(&program, rules, 256, number, arguments);
}

Test(filter, a_program_that_would_be_too_long_is_refused)
{
	static struct filter_rule rules[FILTER_RULES_MAX];
	static struct filter_clause clauses[FILTER_RULES_MAX];
	struct filter_program program;

	for (uint32_t i = 0; i < FILTER_RULES_MAX; i++) {
		clauses[i] = (struct filter_clause){ FILTER_ALLOW,
						     { { 0, FILTER_EQUAL, FILTER_LONG, i } } };
		rules[i] = (struct filter_rule){ i, FILTER_EPERM, 1, &clauses[i] };
	}
	cr_assert_eq(filter_compile(rules, FILTER_RULES_MAX, FILTER_ENOSYS, &program), -E2BIG);
}
