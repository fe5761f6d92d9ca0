/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool: turn a process's own system call list into a C header with its seccomp program, so
 * that the process links no library for it. Compiled once per list; FILTER_LIST names the file,
 * which consists of
 *
 *   ALLOW(name, "reason")
 *   ALLOW_IF(name, argument, mask, value, "reason")    allowed when (argument & mask) == value
 *   ALLOW_WHEN(name, "reason", condition, ...)         allowed when each of up to four holds
 *
 * policy/write/filter_conditions.h has the conditions of ALLOW_WHEN. A name may have several lines
 * with conditions: one match is enough. Every other call kills the process. The only argument is
 * the path of the header to write.
 */
#include "policy/write/filter.h"
#include "policy/write/filter_conditions.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 512

struct line {
	const char *name;
	bool has_condition;
	struct filter_compare compare[FILTER_COMPARES_MAX];
};

static const struct line lines[] = {
#define ALLOW(name, reason) { #name, false, { { .mask = 0 } } },
#define ALLOW_IF(name, argument, bits, value, reason)                                              \
	{ #name, true, { FILTER_CONDITION(argument, bits, value) } },
#define ALLOW_WHEN(name, reason, ...) { #name, true, { __VA_ARGS__ } },
#include FILTER_LIST
#undef ALLOW
#undef ALLOW_IF
#undef ALLOW_WHEN
};
#define LINE_COUNT (sizeof(lines) / sizeof(lines[0]))

static struct filter_rule rules[LINES_MAX];
static struct filter_clause clauses[LINES_MAX][FILTER_CLAUSES_MAX];

static _Noreturn void fail_list(const char *name, const char *problem)
{
	(void)fprintf(stderr, "%s: %s: %s\n", FILTER_LIST, name, problem);
	exit(1);
}

static uint32_t number_of(const char *name)
{
	const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);

	if (number < 0)
		fail_list(name, "not a system call of x86_64");
	return (uint32_t)number;
}

static uint32_t find_rule(uint32_t number, uint32_t *count)
{
	for (uint32_t i = 0; i < *count; i++) {
		if (rules[i].number == number)
			return i;
	}
	rules[*count] = (struct filter_rule){ .number = number,
					      .clauses = clauses[*count],
					      .action = FILTER_KILL };
	return (*count)++;
}

static void add_line(const struct line *line, uint32_t *count)
{
	const uint32_t before = *count;
	const uint32_t index = find_rule(number_of(line->name), count);
	struct filter_rule *rule = &rules[index];

	if (index < before && (!line->has_condition || rule->action == FILTER_ALLOW))
		fail_list(line->name, "listed twice");
	if (!line->has_condition) {
		rule->action = FILTER_ALLOW;
		return;
	}
	if (rule->clause_count == FILTER_CLAUSES_MAX)
		fail_list(line->name, "too many lines with conditions");
	clauses[index][rule->clause_count].action = FILTER_ALLOW;
	memcpy(clauses[index][rule->clause_count++].compare, line->compare, sizeof(line->compare));
}

static int compare_rules(const void *left, const void *right)
{
	const struct filter_rule *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static int write_header(const char *path, const struct filter_program *program)
{
	FILE *out = fopen(path, "we");
	bool is_written;

	if (out == NULL) {
		perror(path);
		return 1;
	}
	(void)fprintf(out, "/* Generated from a list of system calls: do not edit. */\n"
			   "#ifndef SECCOMP_FILTER_H\n#define SECCOMP_FILTER_H\n\n"
			   "#include <linux/filter.h>\n\n"
			   "static const struct sock_filter seccomp_filter[] = {\n");
	for (uint32_t i = 0; i < program->count; i++) {
		const struct sock_filter *instruction = &program->instructions[i];

		(void)fprintf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", instruction->code,
			      instruction->jt, instruction->jf, instruction->k);
	}
	(void)fprintf(out, "};\n\n#endif\n");
	is_written = ferror(out) == 0;
	if (fclose(out) != 0 || !is_written) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct filter_program program;
	uint32_t count = 0;

	_Static_assert(LINE_COUNT <= LINES_MAX, "raise LINES_MAX");
	if (argc != 2) {
		(void)fprintf(stderr, "usage: filtergen HEADER\n");
		return 64;
	}
	for (size_t i = 0; i < LINE_COUNT; i++)
		add_line(&lines[i], &count);
	qsort(rules, count, sizeof(rules[0]), compare_rules);
	if (filter_compile(rules, count, FILTER_KILL, &program) != 0)
		fail_list("list", "a value has bits outside its mask, or the list is too long");
	return write_header(argv[1], &program);
}
