/* SPDX-License-Identifier: Apache-2.0
 *
 * Turn groups into rules, and rules into a program.
 */
#include "policy/seccomp_groups.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

static const struct seccomp_group groups[] = {
#define GROUP(name, kind, reason, calls) { #name, SECCOMP_##kind, reason, calls },
#include "policy/seccomp_groups.def"
#undef GROUP
};
#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

_Static_assert(GROUP_COUNT <= SECCOMP_GROUPS_MAX, "raise SECCOMP_GROUPS_MAX");

struct rule_list {
	uint32_t count;
	struct filter_rule rules[SECCOMP_CALLS_MAX];
};

uint32_t seccomp_group_count(void)
{
	return GROUP_COUNT;
}

const struct seccomp_group *seccomp_group_at(uint32_t index)
{
	return &groups[index];
}

int seccomp_group_find(const char *name)
{
	for (uint32_t i = 0; i < GROUP_COUNT; i++) {
		if (strcmp(groups[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

bool seccomp_next_call(const char **calls, char name[32])
{
	const char *start = *calls + strspn(*calls, " ");
	const size_t length = strcspn(start, " ");

	if (length == 0 || length > 31)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	*calls = start + length;
	return true;
}

int seccomp_number(const char *name)
{
	const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);

	return number < 0 ? -1 : number;
}

void seccomp_call_name(uint32_t number, char ret[32])
{
	for (uint32_t i = 0; i < GROUP_COUNT; i++) {
		const char *calls = groups[i].calls;

		while (seccomp_next_call(&calls, ret)) {
			if (seccomp_number(ret) == (int)number)
				return;
		}
	}
	ret[0] = '\0';
}

int seccomp_group_of(const char *call)
{
	char name[32];

	for (uint32_t i = 0; i < GROUP_COUNT; i++) {
		const char *calls = groups[i].calls;

		while (seccomp_next_call(&calls, name)) {
			if (strcmp(name, call) == 0)
				return (int)i;
		}
	}
	return -1;
}

bool seccomp_is_refused(const struct seccomp_policy *policy, uint32_t number)
{
	for (uint32_t i = 0; i < policy->refused_count; i++) {
		if (policy->refused[i] == number)
			return true;
	}
	return false;
}

/* Owners of files, and ids of the process. A call that is refused by name is not pretended. */
bool seccomp_is_pretended(const struct seccomp_policy *policy, uint32_t number)
{
	const char *calls = "chown fchown lchown fchownat setuid setgid setreuid setregid "
			    "setresuid setresgid setgroups setfsuid setfsgid";
	char name[32];

	if (!policy->pretends_ownership || seccomp_is_refused(policy, number))
		return false;
	while (seccomp_next_call(&calls, name)) {
		if (seccomp_number(name) == (int)number)
			return true;
	}
	return false;
}

/* A call of the groups, with its number and condition. */
struct call {
	uint32_t number;
	uint32_t group;
	const struct seccomp_condition *condition;
};

/* All calls, for every policy. Built once: finding the numbers is most of the work. */
static struct {
	uint32_t count; /* 0: not built */
	struct call calls[SECCOMP_CALLS_MAX];
} table;

static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Add a group's calls. A name that the library does not know is a fault in the table. */
static int add_group(uint32_t group, uint32_t *count)
{
	const char *calls = groups[group].calls;
	char name[32];

	while (seccomp_next_call(&calls, name)) {
		const int number = seccomp_number(name);

		if (number < 0 || *count == SECCOMP_CALLS_MAX)
			return -EINVAL;
		table.calls[(*count)++] =
			(struct call){ .number = (uint32_t)number,
				       .group = group,
				       .condition = seccomp_condition_find(name) };
	}
	return 0;
}

static int build_table(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < GROUP_COUNT && table.count == 0; i++) {
		const int result = add_group(i, &count);

		if (result != 0)
			return result;
	}
	if (table.count == 0)
		qsort(table.calls, count, sizeof(table.calls[0]), compare_calls);
	table.count = table.count == 0 ? count : table.count;
	return 0;
}

static struct filter_rule rule_of(const struct seccomp_policy *policy, const struct call *call)
{
	const struct seccomp_condition *condition = call->condition;
	struct filter_rule rule = { .number = call->number, .action = FILTER_EPERM };

	if (groups[call->group].kind == SECCOMP_HIDDEN) {
		rule.action = FILTER_ENOSYS;
	} else if (seccomp_is_pretended(policy, call->number)) {
		rule.action = FILTER_PRETEND;
	} else if (policy->is_allowed[call->group] && !seccomp_is_refused(policy, call->number)) {
		const uint32_t skipped = condition == NULL || policy->pretends_ownership
						 ? 0
						 : condition->pretended_count;

		rule.action = condition != NULL ? condition->otherwise : FILTER_ALLOW;
		rule.clauses = condition != NULL ? condition->clauses + skipped : NULL;
		rule.clause_count = condition != NULL ? condition->clause_count - skipped : 0;
	}
	return rule;
}

static int collect_rules(const struct seccomp_policy *policy, struct rule_list *ret)
{
	const int result = build_table();

	ret->count = 0;
	for (uint32_t i = 0; result == 0 && i < table.count; i++)
		ret->rules[ret->count++] = rule_of(policy, &table.calls[i]);
	return result;
}

uint32_t seccomp_allowed_count(const struct seccomp_policy *policy)
{
	struct rule_list list;
	uint32_t allowed = 0;

	if (collect_rules(policy, &list) != 0)
		return 0;
	for (uint32_t i = 0; i < list.count; i++) {
		if (list.rules[i].action == FILTER_ALLOW || list.rules[i].clause_count > 0)
			allowed++;
	}
	return allowed;
}

static bool allows_all(const struct seccomp_policy *policy, const char *const *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!policy->is_allowed[seccomp_group_of(calls[i])] ||
		    seccomp_is_refused(policy, (uint32_t)seccomp_number(calls[i])))
			return false;
	}
	return true;
}

/* Between the filter and the exec the init waits for the exec and answers no notification, so the
 * calls needed there must be allowed without one. `write` names a stage in a build for tests. */
bool seccomp_can_observe(const struct seccomp_policy *policy)
{
	static const char *const needed[] = { "sendmsg", "prlimit64", "execve", "exit_group",
					      "write" };

	return allows_all(policy, needed, sizeof(needed) / sizeof(needed[0]));
}

/* The calls that take the request, its streams and its code, and that the exec needs. A standby
 * process fulfils the conditions on them. */
bool seccomp_can_wait(const struct seccomp_policy *policy)
{
	static const char *const needed[] = {
		"recvmsg",        "fcntl",    "fstat",      "close",       "clock_gettime",
		"setpgid",        "dup2",     "dup3",       "prlimit64",   "mkdir",
		"open",           "sendfile", "chdir",      "close_range", "umask",
		"rt_sigprocmask", "execve",   "exit_group", "write",       "timerfd_settime",
	};

	return allows_all(policy, needed, sizeof(needed) / sizeof(needed[0]));
}

int seccomp_compile(const struct seccomp_policy *policy, bool observes, struct filter_program *ret)
{
	struct rule_list list;
	int result = collect_rules(policy, &list);

	if (result == 0)
		result = filter_compile(list.rules, list.count, FILTER_ENOSYS, ret);
	for (uint32_t i = 0; result == 0 && observes && i < ret->count; i++) {
		struct sock_filter *instruction = &ret->instructions[i];

		if (instruction->code == (BPF_RET | BPF_K) && instruction->k == FILTER_EPERM)
			instruction->k = FILTER_NOTIFY;
	}
	return result;
}

/* Take the last comparison of the first refusing clause, or of the first clause if none refuses. */
uint32_t seccomp_condition_argument(const struct seccomp_condition *condition)
{
	const struct filter_clause *clause;
	uint32_t argument = 0;

	if (condition == NULL)
		return 0;
	clause = &condition->clauses[0];
	for (uint32_t i = condition->clause_count; i > 0; i--) {
		if (condition->clauses[i - 1].action == FILTER_EPERM)
			clause = &condition->clauses[i - 1];
	}
	for (uint32_t i = 0; i < FILTER_COMPARES_MAX && clause->compare[i].mask != 0; i++)
		argument = clause->compare[i].argument;
	return argument;
}
