/* SPDX-License-Identifier: Apache-2.0
 *
 * Turn groups into rules, and rules into a program.
 */
#include "policy/write/seccomp_rules.h"

#include <errno.h>
#include <string.h>

struct rule_list {
	uint32_t count;
	struct filter_rule rules[SECCOMP_CALLS_MAX];
};

static struct filter_rule rule_of(const struct seccomp_policy *policy,
				  const struct seccomp_call *call,
				  const struct seccomp_condition *condition)
{
	struct filter_rule rule = { .number = call->number, .action = FILTER_EPERM };

	if (seccomp_group_at(call->group)->kind == SECCOMP_HIDDEN) {
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
	static const struct seccomp_condition *conditions[SECCOMP_CALLS_MAX]; /* found once */
	static bool is_found;
	const struct seccomp_call *calls = seccomp_calls(&ret->count);

	if (calls == NULL)
		return -EINVAL;
	for (uint32_t i = 0; i < ret->count; i++) {
		if (!is_found)
			conditions[i] = seccomp_condition_find(calls[i].name);
		ret->rules[i] = rule_of(policy, &calls[i], conditions[i]);
	}
	is_found = true;
	return 0;
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
