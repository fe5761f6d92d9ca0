/* SPDX-License-Identifier: Apache-2.0
 *
 * A program is generated from its last instruction to its first: a jump's targets exist before the
 * jump does, equal instructions with equal targets are made once, and a target that is too far for
 * the 8-bit offsets of a conditional jump gets an unconditional jump in between.
 */
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>

#define X32_BIT 0x40000000U
#define OFFSET_NUMBER ((uint32_t)offsetof(struct seccomp_data, nr))
#define OFFSET_ARCH ((uint32_t)offsetof(struct seccomp_data, arch))

/* An instruction with absolute targets. Node 0 is the program's last instruction. */
struct node {
	uint16_t code;
	uint32_t k;
	uint32_t on_true;
	uint32_t on_false;
};

struct builder {
	uint32_t count;
	bool is_full;
	struct node nodes[FILTER_PROGRAM_MAX];
};

/* Two comparisons would cut a single number out of a range; one is enough for an exception. */
#define EXCEPTIONS_MAX 3U

/* Numbers from `first` to the next range's first have this rule's answer, except the exceptions. */
struct range {
	uint32_t first;
	struct filter_rule rule;
	uint32_t exception_count;
	const struct range *exceptions[EXCEPTIONS_MAX];
};

static uint32_t append_node(struct builder *builder, struct node node)
{
	if (builder->count == FILTER_PROGRAM_MAX) {
		builder->is_full = true;
		return 0;
	}
	builder->nodes[builder->count] = node;
	return builder->count++;
}

static bool is_near(const struct builder *builder, uint32_t target)
{
	return builder->count - target <= 256;
}

static bool is_same(const struct node *a, const struct node *b)
{
	return a->code == b->code && a->k == b->k && a->on_true == b->on_true &&
	       a->on_false == b->on_false;
}

/* Return an equal existing instruction, or append a new one. */
static uint32_t share_node(struct builder *builder, struct node node)
{
	for (uint32_t i = builder->count; i > 0 && is_near(builder, i - 1); i--) {
		if (is_same(&builder->nodes[i - 1], &node))
			return i - 1;
	}
	return append_node(builder, node);
}

static uint32_t emit_return(struct builder *builder, uint32_t action)
{
	return share_node(builder, (struct node){ .code = BPF_RET | BPF_K, .k = action });
}

static uint32_t emit_long_jump(struct builder *builder, uint32_t target)
{
	return append_node(builder, (struct node){ .code = BPF_JMP | BPF_JA, .on_true = target });
}

/* Emit a jump to `on_true` if (A `code` k), else to `on_false`. */
static uint32_t emit_jump(struct builder *builder, uint16_t code, uint32_t k, uint32_t on_true,
			  uint32_t on_false)
{
	if (on_true == on_false)
		return on_true;
	while (!builder->is_full && (!is_near(builder, on_true) || !is_near(builder, on_false))) {
		if (!is_near(builder, on_true))
			on_true = emit_long_jump(builder, on_true);
		if (!is_near(builder, on_false))
			on_false = emit_long_jump(builder, on_false);
	}
	return share_node(builder, (struct node){ .code = (uint16_t)(BPF_JMP | BPF_K | code),
						  .k = k,
						  .on_true = on_true,
						  .on_false = on_false });
}

/* Emit an instruction that falls through to `next`, which must be the newest one. */
static uint32_t emit_before(struct builder *builder, uint16_t code, uint32_t k, uint32_t next)
{
	const struct node node = { .code = code, .k = k, .on_true = next };

	if (next + 1 < builder->count && is_same(&builder->nodes[next + 1], &node))
		return next + 1;
	if (next != builder->count - 1)
		next = emit_long_jump(builder, next);
	return append_node(builder, (struct node){ .code = code, .k = k, .on_true = next });
}

/* Return `target`, or its successor if `target` only loads the word that A has already. */
static uint32_t skip_load(const struct builder *builder, uint32_t target, uint32_t offset)
{
	const struct node *node = &builder->nodes[target];

	if (node->code == (BPF_LD | BPF_W | BPF_ABS) && node->k == offset)
		return node->on_true;
	return target;
}

/* Emit the test of one 32-bit half: load, mask, compare. */
static uint32_t emit_half(struct builder *builder, uint32_t offset, uint32_t mask, uint32_t value,
			  const uint32_t targets[2])
{
	const uint32_t equal = skip_load(builder, targets[0], offset);
	const uint32_t differs = skip_load(builder, targets[1], offset);
	uint32_t entry;

	if (mask == UINT32_MAX) {
		entry = emit_jump(builder, BPF_JEQ, value, equal, differs);
	} else if (value == 0) {
		entry = emit_jump(builder, BPF_JSET, mask, differs, equal);
	} else if (value == mask && (mask & (mask - 1)) == 0) {
		entry = emit_jump(builder, BPF_JSET, mask, equal, differs);
	} else {
		/* The mask destroys A: the targets must load again. */
		entry = emit_jump(builder, BPF_JEQ, value, targets[0], targets[1]);
		entry = emit_before(builder, BPF_ALU | BPF_AND | BPF_K, mask, entry);
	}
	return emit_before(builder, BPF_LD | BPF_W | BPF_ABS, offset, entry);
}

/* Emit a jump to `holds` if the comparison holds, else to `fails`. */
static uint32_t emit_compare(struct builder *builder, const struct filter_compare *compare,
			     uint32_t holds, uint32_t fails)
{
	const uint32_t low = (uint32_t)offsetof(struct seccomp_data, args) + 8U * compare->argument;
	const uint32_t low_mask = (uint32_t)compare->mask;
	const uint32_t high_mask = (uint32_t)(compare->mask >> 32);
	const bool is_equal = compare->relation == FILTER_EQUAL;
	uint32_t targets[2] = { is_equal ? holds : fails, is_equal ? fails : holds };

	if (high_mask != 0)
		targets[0] = emit_half(builder, low + 4, high_mask,
				       (uint32_t)(compare->value >> 32), targets);
	if (low_mask != 0)
		targets[0] = emit_half(builder, low, low_mask, (uint32_t)compare->value, targets);
	return targets[0];
}

static uint32_t emit_rule(struct builder *builder, const struct filter_rule *rule)
{
	uint32_t entry = emit_return(builder, rule->action);

	for (uint32_t i = rule->clause_count; i > 0; i--) {
		const struct filter_clause *clause = &rule->clauses[i - 1];
		const uint32_t fails = entry;

		entry = emit_return(builder, clause->action);
		for (uint32_t j = FILTER_COMPARES_MAX; j > 0; j--) {
			if (clause->compare[j - 1].mask != 0)
				entry = emit_compare(builder, &clause->compare[j - 1], entry,
						     fails);
		}
	}
	return entry;
}

static uint32_t emit_range(struct builder *builder, const struct range *range)
{
	uint32_t entry = emit_rule(builder, &range->rule);

	for (uint32_t i = 0; i < range->exception_count; i++) {
		const uint32_t differs = entry;
		const uint32_t equal = emit_rule(builder, &range->exceptions[i]->rule);

		entry = emit_jump(builder, BPF_JEQ, range->exceptions[i]->first, equal, differs);
	}
	return entry;
}

static uint32_t emit_tree(struct builder *builder, const struct range *ranges, uint32_t count)
{
	const uint32_t middle = count / 2;
	uint32_t above, below;

	if (count == 1)
		return emit_range(builder, &ranges[0]);
	above = emit_tree(builder, ranges + middle, count - middle);
	below = emit_tree(builder, ranges, middle);
	return emit_jump(builder, BPF_JGE, ranges[middle].first, above, below);
}

static bool is_same_clause(const struct filter_clause *a, const struct filter_clause *b)
{
	for (uint32_t i = 0; i < FILTER_COMPARES_MAX; i++) {
		const struct filter_compare *left = &a->compare[i], *right = &b->compare[i];

		if (left->argument != right->argument || left->relation != right->relation ||
		    left->mask != right->mask || left->value != right->value)
			return false;
	}
	return a->action == b->action;
}

static bool is_same_answer(const struct filter_rule *a, const struct filter_rule *b)
{
	if (a->action != b->action || a->clause_count != b->clause_count)
		return false;
	for (uint32_t i = 0; i < a->clause_count; i++) {
		if (!is_same_clause(&a->clauses[i], &b->clauses[i]))
			return false;
	}
	return true;
}

static void add_range(struct range *ranges, uint32_t *count, uint32_t first,
		      const struct filter_rule *rule)
{
	if (*count > 0 && is_same_answer(&ranges[*count - 1].rule, rule))
		return;
	ranges[*count] = (struct range){ .first = first, .rule = *rule };
	(*count)++;
}

static uint32_t merge_ranges(const struct filter_rule *rules, uint32_t count, uint32_t otherwise,
			     struct range *ranges)
{
	const struct filter_rule gap = { .action = otherwise };
	uint32_t next = 0, used = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (rules[i].number > next)
			add_range(ranges, &used, next, &gap);
		add_range(ranges, &used, rules[i].number, &rules[i]);
		next = rules[i].number + 1;
	}
	add_range(ranges, &used, next, &gap);
	return used;
}

/* Return whether ranges[1] is a single number between two ranges of the same answer. */
static bool is_exception(const struct range *ranges, const struct range *outer)
{
	return outer->exception_count < EXCEPTIONS_MAX && ranges[2].first == ranges[1].first + 1 &&
	       is_same_answer(&ranges[2].rule, &outer->rule);
}

static uint32_t fold_exceptions(const struct range *ranges, uint32_t count, struct range *ret)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct range range = ranges[i];

		for (; i + 2 < count && is_exception(&ranges[i], &range); i += 2)
			range.exceptions[range.exception_count++] = &ranges[i + 1];
		ret[used++] = range;
	}
	return used;
}

/* Check a rule. A value with bits outside its mask would never match: a mistake in a table. */
static bool is_sound(const struct filter_rule *rule)
{
	if (rule->number >= X32_BIT || rule->clause_count > FILTER_CLAUSES_MAX)
		return false;
	for (uint32_t i = 0; i < rule->clause_count; i++) {
		for (uint32_t j = 0; j < FILTER_COMPARES_MAX; j++) {
			const struct filter_compare *compare = &rule->clauses[i].compare[j];

			if (compare->argument > 5 || (compare->value & ~compare->mask) != 0)
				return false;
		}
	}
	return true;
}

/* Drop the unreachable loads that skip_load() leaves. Targets are always older than jumps. */
static void drop_unreachable(struct builder *builder)
{
	uint32_t renumbered[FILTER_PROGRAM_MAX] = { 0 };
	bool is_reached[FILTER_PROGRAM_MAX] = { false };
	uint32_t used = 0;

	is_reached[builder->count - 1] = true;
	for (uint32_t i = builder->count; i > 0; i--) {
		const struct node *node = &builder->nodes[i - 1];

		if (!is_reached[i - 1] || BPF_CLASS(node->code) == BPF_RET)
			continue;
		is_reached[node->on_true] = true;
		if (BPF_CLASS(node->code) == BPF_JMP && node->code != (BPF_JMP | BPF_JA))
			is_reached[node->on_false] = true;
	}
	for (uint32_t i = 0; i < builder->count; i++) {
		struct node node = builder->nodes[i];

		if (!is_reached[i])
			continue;
		node.on_true = renumbered[node.on_true];
		node.on_false = renumbered[node.on_false];
		builder->nodes[used] = node;
		renumbered[i] = used++;
	}
	builder->count = used;
}

static void write_program(const struct builder *builder, struct filter_program *ret)
{
	ret->count = builder->count;
	for (uint32_t i = 0; i < builder->count; i++) {
		const struct node *node = &builder->nodes[i];
		struct sock_filter *out = &ret->instructions[builder->count - 1 - i];

		*out = (struct sock_filter){ .code = node->code, .k = node->k };
		if (node->code == (BPF_JMP | BPF_JA)) {
			out->k = i - node->on_true - 1;
		} else if (BPF_CLASS(node->code) == BPF_JMP) {
			out->jt = (uint8_t)(i - node->on_true - 1);
			out->jf = (uint8_t)(i - node->on_false - 1);
		}
	}
}

int filter_compile(const struct filter_rule *rules, uint32_t count, uint32_t otherwise,
		   struct filter_program *ret)
{
	struct builder builder = { .count = 0 };
	struct range ranges[2 * FILTER_RULES_MAX + 1], folded[2 * FILTER_RULES_MAX + 1];
	uint32_t entry, used;

	if (count > FILTER_RULES_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < count; i++) {
		if (!is_sound(&rules[i]) || (i > 0 && rules[i].number <= rules[i - 1].number))
			return -EINVAL;
	}
	used = merge_ranges(rules, count, otherwise, ranges);
	used = fold_exceptions(ranges, used, folded);
	entry = emit_tree(&builder, folded, used);
	entry = emit_jump(&builder, BPF_JSET, X32_BIT, emit_return(&builder, FILTER_KILL), entry);
	entry = emit_before(&builder, BPF_LD | BPF_W | BPF_ABS, OFFSET_NUMBER, entry);
	entry = emit_jump(&builder, BPF_JEQ, AUDIT_ARCH_X86_64, entry,
			  emit_return(&builder, FILTER_KILL));
	(void)emit_before(&builder, BPF_LD | BPF_W | BPF_ABS, OFFSET_ARCH, entry);
	if (builder.is_full)
		return -E2BIG;
	drop_unreachable(&builder);
	write_program(&builder, ret);
	return 0;
}
