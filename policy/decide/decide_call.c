/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls, answered from the plan's table, which describes the filter in words.
 */
#include "policy/decide/decide_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* asm/unistd.h: __X32_SYSCALL_BIT. */
#define X32_BIT 0x40000000U

static bool is_number(const char *name)
{
	return name[0] >= '0' && name[0] <= '9';
}

/* Find the call of a name or number; NULL: it is not in the plan. */
static const struct plan_call *find_call(const struct plan *plan, const char *name)
{
	const struct plan_call *calls = plan_calls(plan);

	if (is_number(name))
		return plan_call_find(plan, (uint32_t)strtoul(name, NULL, 10));
	for (uint32_t i = 0; i < plan_header(plan)->call_count; i++) {
		if (strcmp(plan_string(plan, calls[i].name), name) == 0)
			return &calls[i];
	}
	return NULL;
}

static void refuse_unknown(const struct question *question, const char *name)
{
	struct decision *ret = question->ret;
	const bool is_x32 = is_number(name) && (strtoul(name, NULL, 10) & X32_BIT) != 0;

	DECISION_SAY(ret->rule, "%s",
		     is_x32 ? "seccomp: a call of another architecture kills its process"
			    : "seccomp: it is in no group; what is in none is as if the "
			      "kernel did not have it");
	DECISION_SAY(ret->remedy, "none: no profile can allow it");
	decision_refuse(ret, "seccomp", is_x32 ? 0 : ENOSYS);
}

static void refuse_group(const struct question *question, const struct plan_group *group,
			 const struct plan_origin *origin)
{
	struct decision *ret = question->ret;
	const char *name = plan_string(question->plan, group->name);
	const char *reason = plan_string(question->plan, group->reason);

	if (group->kind == PLAN_GROUP_ALLOWABLE) {
		ret->origin = *origin;
		DECISION_SAY(ret->rule, "seccomp: group %s is not allowed", name);
		if (strcmp(name, "identity") == 0)
			DECISION_SAY(ret->remedy,
				     "none: the kernel lets no workload have other ids");
		else
			DECISION_SAY(ret->remedy, OPERATORS "seccomp: {add: [%s]} (%s)", name,
				     reason);
	} else {
		DECISION_SAY(ret->rule, "seccomp: group %s: %s", name, reason);
		DECISION_SAY(ret->remedy, "none: no profile can allow it");
	}
	decision_refuse(ret, "seccomp", group->kind == PLAN_GROUP_HIDDEN ? ENOSYS : EPERM);
}

static void answer_call(const struct question *question, const struct plan_call *call)
{
	const struct plan *plan = question->plan;
	const enum plan_answer said = plan_answer_to(plan, question->profile, call);
	const struct plan_group *group = &plan_groups(plan)[call->group];
	const struct plan_origin *origin =
		&plan_group_origins(plan, question->profile)[call->group];
	struct decision *ret = question->ret;

	if (said == PLAN_REFUSED || said == PLAN_HIDDEN) {
		refuse_group(question, group, origin);
		return;
	}
	if (said == PLAN_TAKEN_OUT) {
		ret->origin = question->profile->refuse_origin;
		DECISION_SAY(ret->rule, "seccomp: `refuse` takes it out of group %s",
			     plan_string(plan, group->name));
		DECISION_SAY(ret->remedy, OPERATORS "`refuse` without %s",
			     plan_string(plan, call->name));
		decision_refuse(ret, "seccomp", EPERM);
		return;
	}
	if (said == PLAN_PRETENDED) {
		ret->origin = question->profile->origin;
		DECISION_SAY(ret->rule, "seccomp: `pretend` answers 0, and nothing is done");
		decision_allow(ret, "seccomp");
		return;
	}
	ret->origin = *origin;
	DECISION_SAY(ret->rule, "seccomp: group %s is allowed", plan_string(plan, group->name));
	if (said == PLAN_CONDITIONAL && call->condition != 0)
		DECISION_SAY(ret->condition, "if its arguments keep to this: %s",
			     plan_string(plan, call->condition));
	decision_allow(ret, "seccomp");
}

/* Answer a call that may be in no group. */
static void answer_name(const struct question *question, const struct plan_call *call,
			const char *name)
{
	if (call != NULL)
		answer_call(question, call);
	else
		refuse_unknown(question, name);
}

void decide_call(const struct question *question)
{
	const char *name = question->operation->target;

	answer_name(question, find_call(question->plan, name), name);
}

bool decide_refused_call(const struct question *question, const char *name)
{
	const struct plan_call *call = find_call(question->plan, name);

	if (call != NULL &&
	    plan_answer_to(question->plan, question->profile, call) <= PLAN_CONDITIONAL)
		return false;
	answer_name(question, call, name);
	return true;
}
