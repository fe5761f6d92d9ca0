/* SPDX-License-Identifier: Apache-2.0
 *
 * Deaths, descriptors and limits of processes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* The child's parent-death signal after an exec of an ordinary program. */
static int signal_after_exec(void)
{
	char program[] = "/bin/sh";
	char flag[] = "-c";
	char script[] = "kill -KILL $PPID; while :; do :; done";
	char *arguments[] = { program, flag, script, NULL };
	char *environment[] = { NULL };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return UNPREPARED;
	(void)execve(program, arguments, environment);
	return UNPREPARED;
}

/* A parent whose child kills it, then must die itself long before its sleep ends. */
Test(process, the_parent_death_signal_survives_exec)
{
	int ends[2], status;
	char byte;
	struct pollfd entry;

	cr_assert_eq(pipe(ends), 0);
	const pid_t parent = fork();
	if (parent == 0) {
		if (fork() == 0)
			_exit(signal_after_exec());
		for (;;)
			pause();
	}
	(void)close(ends[1]);
	cr_assert_eq(waitpid(parent, &status, 0), parent);
	cr_assert_eq(exit_code_of(status), 128 + SIGKILL);
	entry = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	cr_assert_eq(poll(&entry, 1, 2000), 1, "no process of ours outlives its parent");
	cr_assert_eq(read(ends[0], &byte, 1), 0);
}

static int signal_in_forked_child(void)
{
	int signal_number = -1;
	int status;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return UNPREPARED;
	const pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_GET_PDEATHSIG, &signal_number) != 0)
			_exit(UNPREPARED);
		_exit(signal_number);
	}
	return waitpid(pid, &status, 0) == pid ? exit_code_of(status) : UNPREPARED;
}

Test(process, the_parent_death_signal_is_not_inherited)
{
	cr_assert_eq(exit_of(0, signal_in_forked_child), 0, "each process of ours sets its own");
}

static int close_everything(void)
{
	for (int i = 0; i < 20; i++)
		(void)open("/dev/null", O_RDONLY); /* without O_CLOEXEC: a leak */
	if (syscall(SYS_close_range, 3, ~0U, 0) != 0)
		return errno;
	for (int i = 3; i < 1024; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			return 1;
	}
	return 0;
}

Test(process, close_range_closes_all)
{
	cr_assert_eq(exit_of(0, close_everything), 0, "a workload has 0, 1, 2 and nothing else");
}

static int gain_after_no_new_privs(void)
{
	int status;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return UNPREPARED;
	if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return 1;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 2);
	return waitpid(pid, &status, 0) == pid ? exit_code_of(status) : UNPREPARED;
}

Test(process, no_new_privs_stays_and_is_inherited)
{
	cr_assert_eq(exit_of(0, gain_after_no_new_privs), 0, "setuid programs give nothing");
}

static int write_beyond_limit(void)
{
	const struct rlimit limit = { 4096, 4096 };
	char name[] = "/tmp/msp-kernel-test-XXXXXX";
	static char block[8192];
	const int fd = mkstemp(name);

	(void)unlink(name);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return UNPREPARED;
	return write(fd, block, sizeof(block)) == 4096 && write(fd, block, 1) < 0 ? errno : 0;
}

Test(process, file_sizes_are_limited)
{
	cr_assert_eq(exit_of(0, write_beyond_limit), EFBIG, "RLIMIT_FSIZE, a profile's file_bytes");
}

static int burn(void)
{
	const struct rlimit limit = { 1, 1 };
	volatile unsigned long counter = 0;

	if (setrlimit(RLIMIT_CPU, &limit) != 0)
		return UNPREPARED;
	for (;;)
		counter++;
}

Test(process, cpu_time_is_limited)
{
	const int code = exit_of(0, burn);

	cr_assert(code == 128 + SIGKILL || code == 128 + SIGXCPU, "RLIMIT_CPU: %d", code);
}

/* The kernel takes an ioctl's number as 32 bits: higher bits do not make it another one. */
Test(process, ioctl_numbers_have_32_bits)
{
	int ends[2], waiting = -1;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(write(ends[1], "abc", 3), 3);
	cr_assert_eq(syscall(SYS_ioctl, ends[0], 0xdead00000000UL | FIONREAD, &waiting), 0,
		     "the filter for TIOCSTI and TIOCLINUX must look at the low 32 bits alone");
	cr_assert_eq(waiting, 3);
}

Test(process, resource_use_of_a_reaped_child_is_told)
{
	struct rusage usage;
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		volatile char *memory = malloc(32 << 20);

		for (size_t i = 0; memory && i < 32 << 20; i += 4096)
			memory[i] = 1;
		_exit(0);
	}
	cr_assert_eq(wait4(pid, &status, 0, &usage), pid);
	cr_assert_geq(usage.ru_maxrss, 32 << 10, "peak memory without a cgroup");
}
