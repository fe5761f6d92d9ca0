/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 20000

/* Nothing in here may fail a test: only its parent can. */
static void run_child(struct rig *rig, job_function *job)
{
	int error;

	rig_start(rig, NULL);
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
	error = job(&rig->job);
	if (error && rig->job.done.step != CHANGES_STEP_OUTPUT)
		_exit(-error & 0xff);
	if (rig->job.done.conflicts || rig->job.done.held)
		_exit(rig->job.done.conflicts ? CONFLICTS : HELD);
	_exit(error ? UNTOLD : 0);
}

/* Before a call. True: it shall fail. */
static bool on_entry(pid_t pid, const struct fault *fault, unsigned int *number,
		     struct outcome *outcome)
{
	struct user_regs_struct registers;

	cr_assert_eq(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
	if (registers.orig_rax == SYS_clock_nanosleep)
		return false; /* how often it waits for a clock's tick is by chance */
	if (fault->look)
		fault->look(pid, &registers);
	if (registers.orig_rax == SYS_exit_group || (fault->fits && !fault->fits(&registers)))
		return false;
	++*number;
	if (*number == fault->at && fault->act) {
		outcome->was_reached = true;
		fault->act();
		return false;
	}
	if (fault->at == 0 || fault->act || *number < fault->at ||
	    (fault->is_once && *number > fault->at))
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

struct outcome fault_run(struct rig *rig, job_function *job, const struct fault *fault)
{
	struct outcome outcome = { false, 0 };
	const pid_t pid = fork();
	bool is_in_call = false, is_failing = false;
	unsigned int number = 0;
	int status;

	if (pid == 0)
		run_child(rig, job);
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
			is_failing = on_entry(pid, fault, &number, &outcome);
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
