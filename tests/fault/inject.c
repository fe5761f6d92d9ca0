/* SPDX-License-Identifier: Apache-2.0
 *
 * inject REPORT ROLE CALL OCCURRENCE ERRNO COMMAND...
 *
 * Runs COMMAND, traces it and everything it starts, and makes one system call fail: the
 * OCCURRENCE-th CALL (0: each) of process number ROLE, in the order in which they come to be. A
 * process that was made by the fifth or a later one, or that has executed something as the fifth,
 * is a workload and left alone. ROLE 0 only counts. ERRNO 0: the process is killed (SIGKILL) before
 * the call does anything.
 *
 * REPORT is a file: "hit STATUS" when the call was made to fail, with how that process ended as
 * wait(2) gives it; or "ROLE CALL COUNT" lines. "allocation" is one of the hooked broker, whatever
 * ROLE is;
 * "real-time" and "monotonic" are looks at a clock, which do not fail: the other clock answers. The
 * exit code is COMMAND's. strace(1) can do the same for a call, but not for one process of a chain.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#define MSP_TEST_HOOKS
#include "common/stage_hook.h"
#include "tracer.h"

#define ROLES 12
#define SERVE_ROLES 9
#define RUN_ROLES 5
#define UNNUMBERED_MAX 64
#define CALLS_END 512

/* Not system calls, but counted and refused like them. */
#define PSEUDO_ALLOCATION 511 /* of the hooked broker */
#define PSEUDO_REAL_TIME 510  /* a look at the clock that can be set */
#define PSEUDO_MONOTONIC 509  /* a look at the one that cannot */

#define NO_CLOCK 0x7fffffff

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}
/* clang-format off */
static const struct {
	const char *name;
	long number;
} names[] = {
	{ "allocation", PSEUDO_ALLOCATION }, { "real-time", PSEUDO_REAL_TIME },
	{ "monotonic", PSEUDO_MONOTONIC },
	CALL(access), CALL(brk), CALL(capset), CALL(chdir), CALL(clone), CALL(clone3), CALL(close), CALL(connect),
	CALL(close_range), CALL(dup), CALL(dup2), CALL(dup3), CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_wait),
	CALL(epoll_pwait), CALL(execve), CALL(execveat), CALL(fchdir), CALL(fcntl), CALL(fork),
	CALL(fsconfig), CALL(fsmount), CALL(fsopen), CALL(fstat), CALL(getdents64),
	CALL(getsockopt), CALL(ioctl), CALL(landlock_add_rule), CALL(landlock_create_ruleset),
	CALL(landlock_restrict_self), CALL(lseek), CALL(memfd_create), CALL(mkdir), CALL(mkdirat),
	CALL(mknodat), CALL(mmap), CALL(mount), CALL(mount_setattr), CALL(move_mount),
	CALL(newfstatat), CALL(open), CALL(open_tree), CALL(openat), CALL(openat2),
	CALL(pidfd_open), CALL(pidfd_send_signal), CALL(pipe2), CALL(pivot_root), CALL(poll),
	CALL(prctl), CALL(prlimit64), CALL(read), CALL(recvmsg), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(seccomp), CALL(sendfile), CALL(sendmsg), CALL(sethostname),
	CALL(setitimer), CALL(setpgid), CALL(setresuid), CALL(setsid), CALL(setsockopt), CALL(signalfd4),
	CALL(socket), CALL(socketpair), CALL(splice), CALL(symlinkat), CALL(umask), CALL(umount2), CALL(utimensat),
	CALL(unshare), CALL(vfork), CALL(wait4), CALL(write), CALL(writev), CALL(eventfd2), CALL(mprotect),
	CALL(mremap), CALL(munmap), CALL(ppoll), CALL(pread64), CALL(readv), CALL(waitid),
	CALL(fsync), CALL(syncfs), CALL(renameat), CALL(renameat2), CALL(unlinkat), CALL(flock), CALL(pwrite64),
	CALL(fchmod), CALL(fsetxattr), CALL(ftruncate), CALL(linkat),
};
/* clang-format on */

static struct wish {
	long role;
	long call;
	long occurrence;
	long error;
} wish;

/* What is known of each process, by its place in the order of their coming. */
static struct process {
	pid_t pid;
	bool is_in_call;
	unsigned long long arguments[2]; /* of the call that is failing or changed */
	bool is_changed;                 /* another clock answers its call */
	bool is_failing;                 /* its call shall return wish.error */
	bool is_over;                    /* not looked at any more */
	unsigned long status;            /* how it ended, as wait(2) gives it */
	uint32_t counts[CALLS_END];
} processes[ROLES];

static bool was_hit;
static struct process *allocating; /* the hooked broker, whose place depends on what runs beside */

/* How many there are, the workload last: a server's start has a sandbox of its own for its probe, a
 * broker and two parts of the launcher that stay; msp run has none of these, and a process of its
 * own. */
static int role_count = RUN_ROLES;

static long call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, name) == 0)
			return names[i].number;
	}
	(void)fprintf(stderr, "inject: no call '%s'\n", name);
	exit(64);
}

/* The process's entry, made when it is new; NULL for those beyond the chain. */
static struct process *find(pid_t pid)
{
	for (int i = 0; i < role_count; i++) {
		if (processes[i].pid == pid)
			return &processes[i];
		if (processes[i].pid == 0) {
			processes[i].pid = pid;
			return &processes[i];
		}
	}
	return NULL;
}

static long role_of(const struct process *process)
{
	return process ? process - processes + 1 : 0;
}

static bool is_watched(const struct process *process)
{
	return process && !process->is_over &&
	       (wish.role == 0 || wish.call == PSEUDO_ALLOCATION || role_of(process) == wish.role);
}

static unsigned long classify(const struct user_regs_struct *registers)
{
	const unsigned long call = registers->orig_rax;

	if (call == SYS_write && (int)registers->rdi == -1 && registers->rdx == STAGE_HOOK_MARK &&
	    registers->rsi >> 16 == STAGE_HOOK_MEMORY)
		return PSEUDO_ALLOCATION;
	if (call == SYS_gettimeofday || call == SYS_time ||
	    (call == SYS_clock_gettime &&
	     (registers->rdi == CLOCK_REALTIME || registers->rdi == CLOCK_REALTIME_COARSE)))
		return PSEUDO_REAL_TIME;
	if (call == SYS_clock_gettime && registers->rdi == CLOCK_MONOTONIC)
		return PSEUDO_MONOTONIC;
	return call;
}

/* The other clock answers: the times of the two are decades apart. */
static void jump(struct process *process, struct user_regs_struct *registers)
{
	if (registers->orig_rax == SYS_gettimeofday) {
		registers->orig_rax = SYS_clock_gettime;
		registers->rsi = registers->rdi;
		registers->rdi = CLOCK_REALTIME;
	}
	if (registers->orig_rax != SYS_clock_gettime)
		return;
	registers->rdi = registers->rdi == CLOCK_MONOTONIC ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	process->is_changed = ptrace(PTRACE_SETREGS, process->pid, NULL, registers) == 0;
	was_hit = was_hit || process->is_changed;
}

static void on_entry(struct process *process, struct user_regs_struct *registers)
{
	const unsigned long call = classify(registers);

	if (call >= CALLS_END)
		return;
	process->counts[call]++;
	if (call == PSEUDO_ALLOCATION)
		allocating = process;
	if (wish.role == 0 || (long)call != wish.call ||
	    (wish.occurrence != 0 && process->counts[call] != wish.occurrence))
		return;
	process->arguments[0] = registers->rdi;
	process->arguments[1] = registers->rsi;
	if (call == PSEUDO_REAL_TIME || call == PSEUDO_MONOTONIC) {
		jump(process, registers);
		return;
	}
	if (wish.error == 0) {
		was_hit = kill(process->pid, SIGKILL) == 0;
		return;
	}
	/* A call that does nothing, and that every filter of ours lets through. */
	registers->orig_rax = SYS_clock_gettime;
	registers->rdi = NO_CLOCK;
	process->is_failing = ptrace(PTRACE_SETREGS, process->pid, NULL, registers) == 0;
	was_hit = was_hit || process->is_failing;
}

static void on_call(struct process *process)
{
	struct user_regs_struct registers;

	process->is_in_call = !process->is_in_call;
	if (ptrace(PTRACE_GETREGS, process->pid, NULL, &registers) != 0)
		return; /* it was killed */
	if (process->is_in_call) {
		on_entry(process, &registers);
	} else if (process->is_failing || process->is_changed) {
		registers.rdi = process->arguments[0];
		registers.rsi = process->arguments[1];
		if (process->is_failing)
			registers.rax = (unsigned long)-wish.error;
		process->is_failing = process->is_changed = false;
		(void)ptrace(PTRACE_SETREGS, process->pid, NULL, &registers); /* or killed */
	}
}

/* How often git's configuration is asked for depends on what had to wait. */
static bool reads_git(pid_t pid)
{
	static const char wanted[] = "/msp-git-config";
	char link[64], path[4096];
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	size = readlink(link, path, sizeof(path));
	return size >= (ssize_t)sizeof(wanted) &&
	       memcmp(path + size - (sizeof(wanted) - 1), wanted, sizeof(wanted) - 1) == 0;
}

static bool handle(pid_t pid, enum tracer_stop stop)
{
	static pid_t unnumbered[UNNUMBERED_MAX];
	static size_t unnumbered_count;
	struct process *process;

	for (size_t i = 0; i < unnumbered_count; i++) {
		if (unnumbered[i] == pid)
			return false;
	}
	process = find(pid);
	if (!process)
		return false;
	if (stop == TRACER_EXEC && reads_git(pid) && unnumbered_count < UNNUMBERED_MAX) {
		unnumbered[unnumbered_count++] = pid;
		*process = (struct process){ 0 }; /* the last one that came */
		return false;
	}
	if (stop == TRACER_CALL)
		on_call(process);
	if (stop == TRACER_EXEC && role_of(process) == role_count)
		process->is_over = true;
	if (stop == TRACER_EXEC)
		tracer_hide_vdso(pid); /* clocks are then asked by a call */
	if (stop == TRACER_EXIT)
		(void)ptrace(PTRACE_GETEVENTMSG, pid, NULL, &process->status); /* or killed */
	return is_watched(process);
}

static void write_report(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return;
	if (wish.role != 0 && was_hit)
		(void)fprintf(file, "hit %lu\n",
			      (allocating ? allocating : &processes[wish.role - 1])->status);
	for (size_t role = 0; wish.role == 0 && role < ROLES; role++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const unsigned int count = processes[role].counts[names[i].number];

			if (count > 0)
				(void)fprintf(file, "%zu %s %u\n", role + 1, names[i].name, count);
		}
	}
	(void)fclose(file);
}

int main(int argc, char **argv)
{
	int code;

	if (argc < 7)
		return 64;
	if (getenv("MSP_TRACE_STEWARDS"))
		role_count = ROLES;
	for (int i = 6; i < argc; i++) {
		if (strcmp(argv[i], "serve") == 0)
			role_count = SERVE_ROLES;
	}
	wish = (struct wish){ .role = strtol(argv[2], NULL, 10),
			      .call = call_number(argv[3]),
			      .occurrence = strtol(argv[4], NULL, 10),
			      .error = strtol(argv[5], NULL, 10) };
	code = tracer_run(argv + 6, handle);
	write_report(argv[1]);
	return code;
}
