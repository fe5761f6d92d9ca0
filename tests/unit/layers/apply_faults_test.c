/* SPDX-License-Identifier: Apache-2.0
 *
 * An apply, an undo and a recovery, each with every one of its system calls as the last one before
 * a kill, or as one that fails: what is left is the old or the new, in one piece, and nothing is
 * lost. The job runs in a process of its own, under ptrace(2).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/changes.h"
#include "common/fd.h"
#include "layers/base.h"
#include "layers/beneath.h"
#include "layers/journal.h"
#include "rig.h"

#define KILLED (-1)
#define CONFLICTS 255
#define CALLS_MAX 20000

static struct rig rig;
static char old_host[RIG_TEXT_MAX], new_host[RIG_TEXT_MAX];

/* What happens at the calls from number `at` on, counted from 1. */
struct fault {
	unsigned int at;
	int error;     /* of the call; 0: the process is killed before it */
	bool is_once;  /* else it stays so, for all calls that fit */
	bool is_space; /* only calls that need room on a disk */
	void (*look)(pid_t pid, const struct user_regs_struct *registers);
};

struct outcome {
	bool was_reached;
	int code; /* what the job returned, positive; CONFLICTS; KILLED */
};

typedef int job_function(struct job *job);

static bool needs_space(const struct user_regs_struct *registers)
{
	switch (registers->orig_rax) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_mkdirat:
	case SYS_symlinkat:
		return true;
	case SYS_openat:
		return (registers->rdx & O_CREAT) != 0;
	default:
		return false;
	}
}

static void run_child(job_function *job)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
	const int error = rig_do(&rig, job, NULL);

	_exit(error ? -error & 0xff : rig.job.done.conflicts ? CONFLICTS : 0);
}

/* Before a call. True: it shall fail. */
static bool on_entry(pid_t pid, const struct fault *fault, unsigned int number,
		     struct outcome *outcome)
{
	struct user_regs_struct registers;

	cr_assert_eq(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
	if (fault->look)
		fault->look(pid, &registers);
	if (fault->at == 0 || number < fault->at || (fault->is_once && number > fault->at))
		return false;
	if (registers.orig_rax == SYS_exit_group || (fault->is_space && !needs_space(&registers)))
		return false;
	outcome->was_reached = true;
	if (fault->error == 0) {
		cr_assert_eq(kill(pid, SIGKILL), 0);
		return false;
	}
	registers.orig_rax = (unsigned long long)-1;
	cr_assert_eq(ptrace(PTRACE_SETREGS, pid, NULL, &registers), 0);
	return true;
}

static struct outcome run(job_function *job, const struct fault *fault)
{
	struct outcome outcome = { false, 0 };
	const pid_t pid = fork();
	bool is_in_call = false, is_failing = false;
	unsigned int number = 0;
	int status;

	if (pid == 0)
		run_child(job);
	cr_assert(pid > 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(
		ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	for (;;) {
		(void)ptrace(PTRACE_SYSCALL, pid, NULL, NULL); /* it may be killed */
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		is_in_call = !is_in_call;
		if (is_in_call) {
			is_failing = on_entry(pid, fault, ++number, &outcome);
		} else if (is_failing) {
			struct user_regs_struct registers;

			cr_assert_eq(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
			registers.rax = (unsigned long long)-fault->error;
			cr_assert_eq(ptrace(PTRACE_SETREGS, pid, NULL, &registers), 0);
		}
		cr_assert(number < CALLS_MAX);
	}
	outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
	return outcome;
}

static void begin(void)
{
	rig_begin(&rig, 1);
	rig_fill(&rig);
	cr_assert_eq(base_note(&rig.scene.directories, UINT64_MAX), 0);
}

static bool is_host(const char *text)
{
	return strcmp(rig_show(&rig, HOST), text) == 0;
}

/* What the two are, from runs without a fault. */
static void learn(void)
{
	begin();
	(void)stpcpy(old_host, rig_show(&rig, HOST));
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	(void)stpcpy(new_host, rig_show(&rig, HOST));
	cr_assert_str_neq(old_host, new_host);
	rig_end(&rig);
}

static bool is_state(const char *name)
{
	return faccessat(JOURNAL, name, F_OK, 0) == 0;
}

/* After a recovery: all old or all new, nothing left beside; and the way on and back is free. */
static bool check_either(unsigned int at)
{
	const bool is_new = is_host(new_host);

	cr_assert(is_new || is_host(old_host), "call %u: %s", at, rig.shown);
	cr_assert(!is_state(JOURNAL_NEW) && !is_state(JOURNAL_STAGING) &&
			  !is_state(JOURNAL_SWAPPING) && !is_state(JOURNAL_COMMITTED),
		  "call %u: %s", at, rig_show(&rig, JOURNAL));
	return is_new;
}

static void check_both_ways(unsigned int at, bool is_new)
{
	rig.ask.conflict = CONFLICT_OURS; /* the bases may not have been written */
	if (!is_new) {
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0, "call %u: %s", at,
			     strerror((int)rig.job.done.error));
		cr_assert(is_host(new_host), "call %u: %s", at, rig.shown);
	}
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0, "call %u: %s", at,
		     strerror((int)rig.job.done.error));
	cr_assert(is_host(old_host), "call %u: %s", at, rig.shown);
}

static void recover(unsigned int at)
{
	cr_assert_eq(rig_do(&rig, job_recover, NULL), 0, "call %u: %s", at,
		     strerror((int)rig.job.done.error));
	cr_assert_eq(rig.job.done.conflicts, 0, "call %u", at);
}

Test(apply_faults, an_apply_is_killed_before_each_call)
{
	unsigned int news = 0, olds = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;
		bool is_committed;

		begin();
		outcome = run(job_apply, &(struct fault){ .at = at });
		if (!outcome.was_reached)
			break;
		cr_assert_eq(outcome.code, KILLED);
		is_committed = is_state(JOURNAL_COMMITTED) || is_state(JOURNAL_DONE);
		recover(at);
		cr_assert_eq(check_either(at), is_committed, "call %u", at);
		news += is_committed;
		olds += !is_committed;
		check_both_ways(at, is_committed);
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert(news > 10 && olds > 100, "%u %u", news, olds);
}

static void fail_each(job_function *job, struct fault fault, bool is_undo)
{
	for (fault.at = 1;; fault.at++) {
		struct outcome outcome;
		bool is_new;

		begin();
		if (is_undo)
			cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
		outcome = run(job, &fault);
		if (outcome.was_reached) {
			recover(fault.at);
			is_new = check_either(fault.at);
			/* Success is what it says. */
			cr_assert(outcome.code != 0 || is_new != is_undo ||
					  (fault.is_space && is_undo),
				  "call %u", fault.at);
			check_both_ways(fault.at, is_new);
		}
		rig_end(&rig);
		if (!outcome.was_reached)
			break;
	}
	cr_assert_gt(fault.at, 100);
}

Test(apply_faults, each_call_of_an_apply_fails_once)
{
	static const int errors[] = { EIO, ENOSPC, EMFILE };

	learn();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		fail_each(job_apply, (struct fault){ .error = errors[i], .is_once = true }, false);
}

Test(apply_faults, all_calls_of_an_apply_fail_from_each_on)
{
	learn();
	fail_each(job_apply, (struct fault){ .error = EIO }, false);
}

Test(apply_faults, each_call_of_an_undo_fails_once)
{
	learn();
	fail_each(job_undo, (struct fault){ .error = EIO, .is_once = true }, true);
}

/* The way back needs no room: the host's files are what they were before anybody recovers. */
Test(apply_faults, a_full_disk_leaves_the_old_at_once)
{
	unsigned int fulls = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;

		begin();
		outcome = run(job_apply,
			      &(struct fault){ .at = at, .error = ENOSPC, .is_space = true });
		if (!outcome.was_reached)
			break;
		if (outcome.code != 0) {
			cr_assert_eq(outcome.code, ENOSPC, "call %u: %d", at, outcome.code);
			cr_assert(is_host(old_host), "call %u: %s", at, rig.shown);
			cr_assert(!is_state(JOURNAL_SWAPPING));
			fulls++;
		} else {
			cr_assert(is_host(new_host), "call %u: %s", at, rig.shown);
		}
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert_gt(fulls, 100);
}

Test(apply_faults, an_undo_is_killed_before_each_call)
{
	unsigned int news = 0, olds = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;
		bool is_new;

		begin();
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
		outcome = run(job_undo, &(struct fault){ .at = at });
		if (!outcome.was_reached)
			break;
		is_new = is_state(JOURNAL_DONE) && !is_state(JOURNAL_COMMITTED);
		recover(at);
		cr_assert_eq(check_either(at), is_new, "call %u", at);
		news += is_new;
		olds += !is_new;
		if (is_new)
			check_both_ways(at, is_new);
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert(news > 100 && olds > 10, "%u %u", news, olds);
}

/* Kills an apply at `first`; false: it has no so many calls. */
static bool interrupt(unsigned int first)
{
	begin();
	return run(job_apply, &(struct fault){ .at = first }).was_reached;
}

/* Recoveries that are killed themselves, from states all over an apply. */
Test(apply_faults, a_recovery_is_killed_before_each_call)
{
	unsigned int states = 0;

	learn();
	for (unsigned int first = 7; interrupt(first); first += 61) {
		states++;
		for (unsigned int at = 1;; at++) {
			struct outcome outcome = run(job_recover, &(struct fault){ .at = at });

			if (!outcome.was_reached)
				break;
			recover(first);
			check_both_ways(first, check_either(first));
			rig_end(&rig);
			cr_assert(interrupt(first));
		}
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert_gt(states, 5);
}
