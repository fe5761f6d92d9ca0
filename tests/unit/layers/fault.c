/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/ipc_changes.h"

#define CALLS_MAX 20000
#define ROWS_MAX 64

/* How often it waits for a clock's tick is by chance; the end has no fault. */
static const uint32_t uncounted[] = { SYS_clock_nanosleep, SYS_exit_group };

/* What changes no file. Of openat2(2) that is so because nothing here creates with it. */
static const uint32_t readers[] = { SYS_openat2,    SYS_read,       SYS_pread64,    SYS_close,
				    SYS_lseek,      SYS_getdents64, SYS_fstat,      SYS_newfstatat,
				    SYS_readlinkat, SYS_fgetxattr,  SYS_flistxattr, SYS_getrandom,
				    SYS_fcntl,      SYS_flock,      SYS_brk,        SYS_mmap,
				    SYS_mprotect,   SYS_mremap,     SYS_munmap };

static void add_unseen(struct sock_fprog *filter, const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		filter->filter[filter->len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
		filter->filter[filter->len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
}

/* One stop before each call that counts: half of what PTRACE_SYSCALL makes, and none for others. */
static struct sock_fprog make_filter(const struct fault *fault)
{
	static struct sock_filter rows[ROWS_MAX];
	struct sock_fprog filter = { .len = 0, .filter = rows };

	rows[filter.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							  offsetof(struct seccomp_data, nr));
	add_unseen(&filter, uncounted, sizeof(uncounted) / sizeof(uncounted[0]));
	if (fault->changes_only)
		add_unseen(&filter, readers, sizeof(readers) / sizeof(readers[0]));
	rows[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	return filter;
}

/* Nothing in here may fail a test: only its parent can. */
static void run_child(struct rig *rig, job_function *job, const struct sock_fprog *filter)
{
	int error;

	rig_start(rig, NULL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) != 0)
		_exit(UNTRACED);
	error = job(&rig->job);
	if (error && rig->job.done.step != CHANGES_STEP_OUTPUT)
		_exit(-error & 0xff);
	if (rig->job.done.conflicts || rig->job.done.held)
		_exit(rig->job.done.conflicts ? CONFLICTS : HELD);
	_exit(error ? UNTOLD : 0);
}

/* Before a call that may fit. */
static void on_call(pid_t pid, const struct fault *fault, unsigned int *number,
		    struct outcome *outcome)
{
	const bool is_counted_only = !fault->fits && !fault->look && *number + 1 < fault->at;
	struct user_regs_struct registers;
	bool does_fit;

	*number += is_counted_only;
	if (is_counted_only || ptrace(PTRACE_GETREGS, pid, NULL, &registers) != 0)
		return; /* or it was killed meanwhile */
	does_fit = !fault->fits || fault->fits(&registers);
	if (fault->look)
		fault->look(pid, &registers, does_fit);
	if (!does_fit)
		return;
	++*number;
	if (fault->at == 0 || *number < fault->at ||
	    ((fault->is_once || fault->act) && *number > fault->at))
		return;
	outcome->was_reached = true;
	if (fault->act) {
		fault->act();
	} else if (fault->error == 0) {
		cr_assert_eq(kill(pid, SIGKILL), 0);
	} else { /* no call has this number, and this is what it says then */
		registers.orig_rax = (unsigned long long)-1;
		registers.rax = (unsigned long long)-fault->error;
		cr_assert_eq(ptrace(PTRACE_SETREGS, pid, NULL, &registers), 0);
	}
}

struct outcome fault_run(struct rig *rig, job_function *job, const struct fault *fault)
{
	const struct sock_fprog filter = make_filter(fault);
	struct outcome outcome = { false, 0 };
	const pid_t pid = fork();
	unsigned int number = 0;
	int status;

	if (pid == 0)
		run_child(rig, job, &filter);
	cr_assert(pid > 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(
		ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL), 0);
	for (;;) {
		(void)ptrace(PTRACE_CONT, pid, NULL, NULL); /* it may be killed */
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		cr_assert_eq(status >> 8, SIGTRAP | PTRACE_EVENT_SECCOMP << 8,
			     "a signal at call %u, %x", fault->at, (unsigned int)status);
		on_call(pid, fault, &number, &outcome);
		cr_assert(number < CALLS_MAX);
	}
	outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
	cr_assert_neq(outcome.code, UNTRACED);
	return outcome;
}

static struct {
	unsigned int count;
	uint64_t latest; /* three calls, this one last */
	uint64_t kinds[CALLS_MAX + 1];
} calls;

static void note_call(pid_t pid, const struct user_regs_struct *registers, bool does_fit)
{
	(void)pid;
	calls.latest = (calls.latest << 16 | registers->orig_rax) & 0xffffffffffff;
	if (does_fit && calls.count < CALLS_MAX)
		calls.kinds[++calls.count] = calls.latest;
}

unsigned int fault_choose(struct rig *rig, job_function *job,
			  bool (*fits)(const struct user_regs_struct *registers))
{
	memset(&calls, 0, sizeof(calls));
	cr_assert_eq(fault_run(rig, job, &(struct fault){ .fits = fits, .look = note_call }).code,
		     0);
	return calls.count;
}

bool fault_is_chosen(unsigned int at)
{
	const char *which = getenv("MSP_FAULTS");
	unsigned int before = 0, behind = 0;

	for (unsigned int i = 1; i <= calls.count; i++) {
		before += i < at && calls.kinds[i] == calls.kinds[at];
		behind += i > at && calls.kinds[i] == calls.kinds[at];
	}
	return before == 0 || behind == 0 || before == behind || before == behind + 1 ||
	       (which && strcmp(which, "all") == 0);
}
