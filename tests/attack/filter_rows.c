/* SPDX-License-Identifier: Apache-2.0
 *
 * Try one program's system call filter, as the program installs it and beside its other barriers:
 * no capability, a Landlock domain that allows nothing. Compiled once for each list; FILTER_LIST is
 * the list, FILTER_HEADER what the build has made of it, FILTER_PROGRAM the program's name.
 *
 * Each row of filter_rows.def has to end the process, but those of the program's MAY lines. The
 * control is the same row under the same filter, but for the one call. From the list itself come
 * the neighbours of each line with conditions: arguments that differ from the allowed ones in a
 * single bit that a condition looks at.
 */
#include "policy/write/filter_conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/confine/steps.h"
#include "common/kernel.h"
#include FILTER_HEADER

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define REFUSED 251 /* an errno that no call has: the answer in place of the end */
#define ROOT "/"
#define SYS_RULES_MAX 256

struct line {
	const char *name;
	long number;
	bool has_condition;
	struct filter_compare compare[FILTER_COMPARES_MAX];
};

static const struct line lines[] = {
#define ALLOW(name, reason) { #name, SYS_##name, false, { { .mask = 0 } } },
#define ALLOW_IF(name, argument, bits, value, reason)                                              \
	{ #name, SYS_##name, true, { FILTER_CONDITION(argument, bits, value) } },
#define ALLOW_WHEN(name, reason, ...) { #name, SYS_##name, true, { __VA_ARGS__ } },
#include FILTER_LIST
#undef ALLOW
#undef ALLOW_IF
#undef ALLOW_WHEN
};

static struct kernel_open_how {
	uint64_t flags, mode, resolve;
} how = { .flags = O_PATH };
static struct timespec times[2];
static struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = 0x5000 };
static struct msghdr message = { .msg_name = &address, .msg_namelen = sizeof(address) };
static int one = 1, pair[2];

struct row {
	const char *name;
	long number;
	long arguments[6];
};

static struct row rows[512];
static size_t row_count;

static void add_row(const char *name, long number, const long arguments[6])
{
	rows[row_count].name = name;
	rows[row_count].number = number;
	memcpy(rows[row_count++].arguments, arguments, sizeof(rows[0].arguments));
}

static void add_rows(void)
{
#define ROW(name, call, ...) add_row(#name, SYS_##call, (const long[6]){ __VA_ARGS__ });
#define MAY(program, name, reason)
#include "filter_rows.def"
#undef ROW
#undef MAY
}

static const char *const exceptions[][2] = {
#define ROW(name, call, ...)
#define MAY(program, name, reason) { #program, #name },
#include "filter_rows.def"
#undef ROW
#undef MAY
};

static bool is_exception(const char *name)
{
	for (size_t i = 0; i < COUNT(exceptions); i++) {
		if (strcmp(exceptions[i][0], FILTER_PROGRAM) == 0 &&
		    strcmp(exceptions[i][1], name) == 0)
			return true;
	}
	return false;
}

static int failures;

static void report_failure(const char *what, const char *problem)
{
	(void)printf("%s: %s: %s\n", FILTER_PROGRAM, what, problem);
	failures++;
}

/* As the program does. */
static void confine_child(const struct sock_filter *filter, uint32_t count)
{
	struct kernel_landlock_ruleset attr;

	confine_privileges();
	confine_require(capabilities_set(0), "dropping capabilities");
	confine_enter(confine_ruleset(LANDLOCK_NET_ALL, &attr));
	confine_require(seccomp_install(filter, count), "installing the filter");
}

static long call_row(const struct row *row)
{
	const long *a = row->arguments;

	return syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Return whether the filter ends a process that makes the call. */
static bool is_ended(const struct row *row, const struct sock_filter *filter, uint32_t count)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		confine_child(filter, count);
		(void)call_row(row);
		/* A new process of fork(2) or clone(2) comes here too. */
		(void)syscall(SYS_exit_group, 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(2);
	}
	if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
		report_failure(row->name, "the confinement has failed");
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

/* --- the control ------------------------------------------------------------------------------ */

static struct filter_rule rules[SYS_RULES_MAX];
static struct filter_clause clauses[SYS_RULES_MAX][FILTER_CLAUSES_MAX];

static struct filter_rule *find_rule(uint32_t *count, long number)
{
	uint32_t at = 0;

	while (at < *count && rules[at].number != (uint32_t)number)
		at++;
	if (at == *count) {
		rules[at] = (struct filter_rule){ .number = (uint32_t)number,
						  .action = FILTER_KILL,
						  .clauses = clauses[at] };
		(*count)++;
	}
	return &rules[at];
}

static int compare_rules(const void *left, const void *right)
{
	const struct filter_rule *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Compile the list, with the call `lifted` allowed in whatever arguments (-1: none). */
static void compile_list(long lifted, struct filter_program *ret)
{
	uint32_t count = 0;

	memset(clauses, 0, sizeof(clauses));
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct filter_rule *rule = find_rule(&count, lines[i].number);
		struct filter_clause *clause;

		if (!lines[i].has_condition) {
			rule->action = FILTER_ALLOW;
			continue;
		}
		/* The rule keeps its clauses when it is sorted. */
		clause = &clauses[rule - rules][rule->clause_count++];
		clause->action = FILTER_ALLOW;
		memcpy(clause->compare, lines[i].compare, sizeof(clause->compare));
	}
	if (lifted >= 0)
		*find_rule(&count, lifted) =
			(struct filter_rule){ .number = (uint32_t)lifted, .action = FILTER_ALLOW };
	qsort(rules, count, sizeof(rules[0]), compare_rules);
	if (filter_compile(rules, count, FILTER_KILL, ret) != 0)
		report_failure("the list", "cannot be compiled");
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_generated(void)
{
	static struct filter_program program;

	compile_list(-1, &program);
	if (program.count != COUNT(seccomp_filter) ||
	    memcmp(program.instructions, seccomp_filter, sizeof(seccomp_filter)) != 0)
		report_failure("the header", "is not of this list");
}

static void test_rows(void)
{
	static struct filter_program lifted;

	for (size_t i = 0; i < row_count; i++) {
		const bool is_refused = is_ended(&rows[i], seccomp_filter, COUNT(seccomp_filter));

		if (is_refused == is_exception(rows[i].name))
			report_failure(rows[i].name,
				       is_refused ? "is refused, and a MAY line says otherwise"
						  : "is allowed");
		compile_list(rows[i].number, &lifted);
		if (is_refused && is_ended(&rows[i], lifted.instructions, lifted.count))
			report_failure(rows[i].name, "the control is refused too");
	}
}

static bool holds(const struct line *line, const struct row *row)
{
	for (size_t i = 0; i < FILTER_COMPARES_MAX; i++) {
		const struct filter_compare *one_of = &line->compare[i];

		if (((uint64_t)row->arguments[one_of->argument] & one_of->mask) != one_of->value)
			return false;
	}
	return true;
}

static bool is_allowed(const struct row *row)
{
	for (size_t i = 0; i < COUNT(lines); i++) {
		if (lines[i].number == row->number && holds(&lines[i], row))
			return true;
	}
	return false;
}

/* Make the arguments that a line allows; a descriptor is none. */
static struct row exact_row(const struct line *line)
{
	struct row row = { line->name, line->number, { -1 } };
	bool is_first_bound = false;

	for (size_t i = 0; i < FILTER_COMPARES_MAX; i++)
		is_first_bound |= line->compare[i].mask != 0 && line->compare[i].argument == 0;
	if (is_first_bound)
		row.arguments[0] = 0;
	for (size_t i = 0; i < FILTER_COMPARES_MAX; i++)
		row.arguments[line->compare[i].argument] |= (long)line->compare[i].value;
	return row;
}

/* Flip each bit that a condition looks at. Return how many of these calls no line allows, or -1:
 * one of them got through. */
static int flip_bits(const struct line *line)
{
	int refused = 0;

	for (size_t i = 0; i < FILTER_COMPARES_MAX; i++) {
		for (uint64_t mask = line->compare[i].mask; mask != 0; mask &= mask - 1) {
			struct row row = exact_row(line);

			row.arguments[line->compare[i].argument] ^= (long)(mask & -mask);
			if (is_allowed(&row))
				continue;
			if (call_row(&row) != -1 || errno != REFUSED)
				return -1;
			refused++;
		}
	}
	return refused;
}

/* The program's own filter, but with an answer in place of the end of the process. */
static void soften_filter(struct sock_filter ret[COUNT(seccomp_filter)])
{
	memcpy(ret, seccomp_filter, sizeof(seccomp_filter));
	for (size_t i = 0; i < COUNT(seccomp_filter); i++) {
		if (ret[i].code == (BPF_RET | BPF_K) && ret[i].k == SECCOMP_RET_KILL_PROCESS)
			ret[i].k = SECCOMP_RET_ERRNO | REFUSED;
	}
}

static void test_neighbours_of(const struct line *line)
{
	const struct row exact = exact_row(line);
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct sock_filter soft[COUNT(seccomp_filter)];
		int refused;

		soften_filter(soft);
		confine_child(soft, COUNT(soft));
		refused = flip_bits(line);
		(void)syscall(SYS_exit_group, refused < 0 ? 1 : refused == 0 ? 2 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		report_failure(line->name, "cannot be tried");
	else if (WEXITSTATUS(status) != 0)
		report_failure(line->name, WEXITSTATUS(status) == 2
						   ? "the condition refuses nothing"
						   : "a neighbour got through");
	if (is_ended(&exact, seccomp_filter, COUNT(seccomp_filter)))
		report_failure(line->name, "what the line allows is refused");
}

int main(void)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	add_rows();
	test_generated();
	test_rows();
	for (size_t i = 0; i < COUNT(lines); i++) {
		if (lines[i].has_condition)
			test_neighbours_of(&lines[i]);
	}
	for (size_t i = 0; i < COUNT(exceptions); i++) {
		bool is_known = false;

		for (size_t j = 0; j < row_count; j++)
			is_known |= strcmp(exceptions[i][1], rows[j].name) == 0;
		if (!is_known)
			report_failure(exceptions[i][1], "a MAY line without a row");
	}
	(void)printf("%s: %zu rows, %zu lines, %d failures\n", FILTER_PROGRAM, row_count,
		     COUNT(lines), failures);
	return failures == 0 ? 0 : 1;
}
