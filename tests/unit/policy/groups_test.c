/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of system calls: complete, without repetition, and within the budget.
 */
#include "bpf.h"
#include "policy/write/seccomp_rules.h"
#include "support.h"

#include <criterion/criterion.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Linux 5.16, the newest whose calls every libseccomp of this project's machines knows. */
#define NEWEST_LISTED 450

static uint32_t count_uses(const char *call)
{
	uint32_t uses = 0;
	char name[32];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const char *calls = seccomp_group_at(i)->calls;

		while (seccomp_next_call(&calls, name))
			uses += strcmp(name, call) == 0;
	}
	return uses;
}

Test(groups, every_call_of_x86_64_is_in_exactly_one)
{
	uint32_t known = 0;

	for (int number = 0; number <= NEWEST_LISTED; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number);

		if (name == NULL)
			continue;
		known++;
		cr_expect_eq(count_uses(name), 1, "%s", name);
		free(name);
	}
	cr_expect_gt(known, 350);
}

Test(groups, every_name_is_a_call_of_x86_64)
{
	char name[32];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const char *calls = seccomp_group_at(i)->calls;

		while (seccomp_next_call(&calls, name))
			cr_expect_geq(seccomp_number(name), 0, "%s", name);
		cr_expect_eq(*(calls + strspn(calls, " ")), '\0', "%s: a name is too long",
			     seccomp_group_at(i)->name);
		cr_expect_gt(strlen(seccomp_group_at(i)->reason), 10);
	}
}

Test(groups, a_condition_belongs_to_a_call_that_can_be_allowed)
{
	static const char *const needed[] = {
		"clone",          "ioctl",         "socket",
		"socketpair",     "open",          "openat",
		"creat",          "chmod",         "fchmod",
		"fchmodat",       "mknod",         "mknodat",
		"prctl",          "personality",   "setsockopt",
		"sendto",         "sendmsg",       "sendmmsg",
		"seccomp",        "prlimit64",     "sched_setaffinity",
		"mmap",           "memfd_create",  "renameat2",
		"fcntl",          "madvise",       "shmget",
		"setpriority",    "ioprio_set",    "sched_setscheduler",
		"sched_setparam", "sched_setattr", "mlock",
		"mlock2",         "mlockall",      "setuid",
		"setgid",         "setreuid",      "setregid",
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const int group = seccomp_group_of(needed[i]);

		cr_assert_not_null(seccomp_condition_find(needed[i]), "%s", needed[i]);
		cr_assert_geq(group, 0, "%s", needed[i]);
		cr_expect_eq(seccomp_group_at((uint32_t)group)->kind, SECCOMP_ALLOWABLE);
	}
}

Test(groups, budget)
{
	struct builtin builtin = builtin_open();
	const struct profile *normal = policy_find(builtin.policy, "default");
	const struct profile *strict = policy_find(builtin.policy, "strict");

	cr_expect_leq(seccomp_allowed_count(&normal->seccomp), 253);
	cr_expect_lt(seccomp_allowed_count(&strict->seccomp),
		     seccomp_allowed_count(&normal->seccomp));
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++)
		cr_expect_leq(plan_profile(&builtin.plan, i)->filter_count, 288);
	builtin_close(&builtin);
}

/* Is a profile observed that allows every group but for `refused`? */
static bool can_observe_without(const char *refused)
{
	struct seccomp_policy policy = { .refused_count = 0 };

	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		policy.is_allowed[i] = seccomp_group_at(i)->kind == SECCOMP_ALLOWABLE;
	if (refused)
		policy.refused[policy.refused_count++] = (uint32_t)seccomp_number(refused);
	return seccomp_can_observe(&policy);
}

Test(groups, who_cannot_be_observed_is_not)
{
	struct seccomp_policy nothing = { .refused_count = 0 };

	cr_expect(can_observe_without(NULL));
	cr_expect(can_observe_without("mount"));
	cr_expect_not(can_observe_without("sendmsg"));
	cr_expect_not(can_observe_without("execve"));
	cr_expect_not(can_observe_without("exit_group"));
	cr_expect_not(seccomp_can_observe(&nothing));
}

Test(groups, an_observed_filter_asks_where_another_says_eperm)
{
	static struct filter_program silent, observed;
	struct seccomp_policy policy = { .refused_count = 0 };
	uint32_t asked = 0;

	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		policy.is_allowed[i] = seccomp_group_at(i)->kind == SECCOMP_ALLOWABLE;
	cr_assert_eq(seccomp_compile(&policy, false, &silent), 0);
	cr_assert_eq(seccomp_compile(&policy, true, &observed), 0);
	cr_assert_eq(silent.count, observed.count);
	for (uint32_t i = 0; i < silent.count; i++) {
		const struct sock_filter *a = &silent.instructions[i];
		const struct sock_filter *b = &observed.instructions[i];
		const bool is_refusal = a->code == (BPF_RET | BPF_K) && a->k == FILTER_EPERM;

		asked += is_refusal;
		cr_expect_eq(b->k, is_refusal ? FILTER_NOTIFY : a->k);
		cr_expect(a->code == b->code && a->jt == b->jt && a->jf == b->jf);
	}
	cr_expect_gt(asked, 0);
}

/* Of calls that no shipped profile allows: what a profile of the operator's would. */
Test(groups, conditions_hold_where_every_group_is_allowed)
{
	static const struct {
		const char *call;
		uint32_t arguments[3];
		uint32_t answer;
	} cases[] = {
		{ "sched_setscheduler", { 0, 3 }, FILTER_ALLOW },
		{ "sched_setscheduler", { 0, 0x40000005 }, FILTER_ALLOW },
		{ "sched_setscheduler", { 0, 1 }, FILTER_EPERM },
		{ "sched_setscheduler", { 0, 2 }, FILTER_EPERM },
		{ "sched_setscheduler", { 0, 6 }, FILTER_EPERM },
		{ "sched_setscheduler", { 0, 7 }, FILTER_EPERM },
		{ "sched_setscheduler", { 1, 5 }, FILTER_EPERM },
		{ "sched_setparam", { 0 }, FILTER_ALLOW },
		{ "sched_setparam", { 1 }, FILTER_EPERM },
		{ "sched_setattr", { 2 }, FILTER_ALLOW },
		{ "sched_setattr", { 1 }, FILTER_EPERM },
		{ "ioprio_set", { 1, 0, 3 << 13 }, FILTER_ALLOW },
		{ "ioprio_set", { 1, 0, 0 }, FILTER_ALLOW },
		{ "ioprio_set", { 1, 0, 2 << 13 | 4 }, FILTER_ALLOW },
		{ "ioprio_set", { 1, 0, 2 << 13 | 7 }, FILTER_ALLOW },
		{ "ioprio_set", { 1, 0, 2 << 13 | 3 }, FILTER_EPERM },
		{ "ioprio_set", { 1, 0, 1 << 13 | 4 }, FILTER_EPERM },
		{ "ioprio_set", { 1, 0, 2 << 13 | 1 << 3 | 4 }, FILTER_EPERM },
		{ "ioprio_set", { 1, 1, 3 << 13 }, FILTER_EPERM },
		{ "ioprio_set", { 3, 0, 3 << 13 }, FILTER_EPERM },
		{ "prctl", { 8, 0 }, FILTER_PRETEND },
		{ "prctl", { 8, 1 }, FILTER_ALLOW },
		{ "mlock", { 0, 32768 }, FILTER_ALLOW },
		{ "mlock2", { 0, 65536 }, FILTER_EPERM },
		{ "mlockall", { 3 }, FILTER_EPERM },
		{ "setuid", { 1000 }, FILTER_ALLOW },
		{ "setuid", { 0 }, FILTER_EPERM },
		{ "setregid", { 1000, 1000 }, FILTER_ALLOW },
		{ "setregid", { UINT32_MAX, 0 }, FILTER_EPERM },
		{ "unshare", { 0x400 }, FILTER_EPERM },
		{ "shmget", { 0, 4096, 01600 }, FILTER_ALLOW },
		{ "shmget", { 0, 2 << 20, 05600 }, FILTER_EPERM },
	};
	static struct filter_program program;
	struct seccomp_policy policy = { .refused_count = 0 };

	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		policy.is_allowed[i] = seccomp_group_at(i)->kind == SECCOMP_ALLOWABLE;
	cr_assert_eq(seccomp_compile(&policy, false, &program), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seccomp_data data = { .nr = seccomp_number(cases[i].call),
					     .arch = AUDIT_ARCH_X86_64 };

		for (int j = 0; j < 3; j++)
			data.args[j] = cases[i].arguments[j];
		cr_expect_eq(bpf_run(program.instructions, program.count, &data), cases[i].answer,
			     "%s(%u, %u)", cases[i].call, cases[i].arguments[0],
			     cases[i].arguments[1]);
	}
}

Test(groups, a_condition_has_one_argument_that_says_most)
{
	static const struct {
		const char *call;
		uint32_t argument;
	} expected[] = {
		{ "clone", 0 },
		{ "open", 2 },
		{ "openat", 3 },
		{ "mknod", 1 },
		{ "renameat2", 4 },
		{ "ioctl", 1 },
		{ "prctl", 0 },
		{ "socket", 0 },
		{ "socketpair", 1 },
		{ "sendto", 3 },
		{ "setsockopt", 2 },
		{ "mmap", 3 },
		{ "prlimit64", 0 },
		{ "personality", 0 },
		{ "seccomp", 1 },
		{ "ioprio_set", 2 },
		{ "sched_setscheduler", 1 },
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		cr_expect_eq(seccomp_condition_argument(seccomp_condition_find(expected[i].call)),
			     expected[i].argument, "%s", expected[i].call);
}
