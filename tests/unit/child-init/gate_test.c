/* SPDX-License-Identifier: Apache-2.0
 *
 * What a traced start may do, call by call. The test is the init: /usr is read-only to it, and /mnt
 * is what a workload can write.
 */
#include "gate.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolated.h"

#define FILE_HERE "/usr/bin/env"
#define MISSING "/mnt/missing"
#define FACT "/proc/sys/vm/overcommit_memory"
#define LEFT "/mnt/left"
#define LINK "/mnt/link" /* to a folder of the host's, which a workload chose */

enum end { PASSES, STAYS, DIES };

static void begin_child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGTRAP) != 0) /* as an exec does */
		_exit(9);
}

/* Let a new process make this one call before it ends. */
static enum end try_call(long number, long a, long b, long c, long d)
{
	const pid_t pid = fork();
	int status;
	enum end end = DIES;

	if (pid == 0) {
		begin_child();
		(void)syscall(number, a, b, c, d);
		syscall(SYS_exit_group, 0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && gate_step(pid, status)) {
		/* One that stays makes no more stops, and cannot be waited for. */
		siginfo_t next = { .si_pid = 0 };

		for (int i = 0; i < 100 && next.si_pid == 0; i++) {
			if (waitid(P_PID, (id_t)pid, &next, WEXITED | WSTOPPED | WNOHANG | WNOWAIT))
				return DIES;
			if (next.si_pid == 0)
				usleep(500);
		}
		if (next.si_pid == 0) {
			end = STAYS;
			break;
		}
	}
	if (end != STAYS && WIFEXITED(status))
		return PASSES;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return end;
}

#define CALL(number, a, b, c, d) try_call(number, (long)(a), (long)(b), (long)(c), (long)(d))

static int prepare(void)
{
	int fd;

	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("/usr", "/usr", NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
	CHECK(mount("tmpfs", "/mnt", "tmpfs", 0, NULL) == 0);
	fd = open(LEFT, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	CHECK(fd >= 0 && close(fd) == 0 && symlink("/usr/bin", LINK) == 0);
	return ACT_PASSED;
}

static int act_names(void *unused)
{
	struct stat found;
	char text[64];

	CHECK(prepare() == ACT_PASSED);
	CHECK(CALL(SYS_stat, FILE_HERE, &found, 0, 0) == PASSES);
	CHECK(CALL(SYS_stat, MISSING, &found, 0, 0) == PASSES);
	CHECK(CALL(SYS_stat, LEFT, &found, 0, 0) == STAYS);
	CHECK(CALL(SYS_stat, LINK "/env", &found, 0, 0) == STAYS);
	CHECK(CALL(SYS_stat, LINK "/missing", &found, 0, 0) == PASSES);
	CHECK(CALL(SYS_readlink, LINK, text, sizeof(text), 0) == STAYS);
	CHECK(CALL(SYS_stat, "usr/bin/env", &found, 0, 0) == STAYS);
	CHECK(CALL(SYS_stat, "/usr/../mnt/left", &found, 0, 0) == STAYS);
	CHECK(CALL(SYS_newfstatat, AT_FDCWD, FILE_HERE, &found, 0) == PASSES);
	CHECK(CALL(SYS_newfstatat, 0, "", &found, AT_EMPTY_PATH) == PASSES);
	CHECK(CALL(SYS_newfstatat, AT_FDCWD, "", &found, AT_EMPTY_PATH) == STAYS);
	CHECK(CALL(SYS_access, 8, F_OK, 0, 0) == STAYS); /* no name can be read there */
	return ACT_PASSED;
}

static int act_opens(void *unused)
{
	CHECK(prepare() == ACT_PASSED);
	CHECK(CALL(SYS_openat, AT_FDCWD, FILE_HERE, O_RDONLY, 0) == PASSES);
	CHECK(CALL(SYS_openat, AT_FDCWD, "/usr/bin", O_RDONLY | O_DIRECTORY, 0) == PASSES);
	CHECK(CALL(SYS_openat, AT_FDCWD, MISSING, O_RDONLY, 0) == PASSES);
	CHECK(CALL(SYS_openat, AT_FDCWD, LEFT, O_RDONLY, 0) == STAYS);
	CHECK(CALL(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0) == STAYS);
	CHECK(CALL(SYS_open, FACT, O_RDONLY, 0, 0) == PASSES);
	CHECK(CALL(SYS_open, FACT, O_WRONLY, 0, 0) == STAYS);
	CHECK(CALL(SYS_open, "/proc/sys/vm/swappiness", O_RDONLY, 0, 0) == STAYS);
	CHECK(mount(LEFT, FACT, NULL, MS_BIND, NULL) == 0);
	CHECK(CALL(SYS_open, FACT, O_RDONLY, 0, 0) == STAYS);
	CHECK(CALL(SYS_openat, AT_FDCWD, MISSING, O_WRONLY, 0) == STAYS);
	CHECK(CALL(SYS_openat, AT_FDCWD, MISSING, O_RDONLY | O_CREAT, 0600) == STAYS);
	CHECK(CALL(SYS_openat, AT_FDCWD, "/usr", O_TMPFILE | O_RDWR, 0600) == STAYS);
	CHECK(CALL(SYS_open, MISSING, O_RDWR | O_CREAT, 0600, 0) == STAYS);
	CHECK(CALL(SYS_creat, MISSING, 0600, 0, 0) == STAYS);
	CHECK(access(MISSING, F_OK) != 0);
	return ACT_PASSED;
}

static int act_others(void *unused)
{
	static const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit now;

	CHECK(prepare() == ACT_PASSED);
	CHECK(CALL(SYS_getpid, 0, 0, 0, 0) == PASSES);
	CHECK(CALL(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &now) == PASSES);
	CHECK(CALL(SYS_prlimit64, 0, RLIMIT_CPU, &most, NULL) == STAYS);
	CHECK(CALL(SYS_write, 1, "", 0, 0) == STAYS);
	CHECK(CALL(SYS_fork, 0, 0, 0, 0) == STAYS);
	CHECK(CALL(SYS_clone, SIGCHLD, 0, 0, 0) == STAYS);
	CHECK(CALL(SYS_execve, FILE_HERE, NULL, NULL, 0) == STAYS);
	CHECK(CALL(SYS_socket, 1, 1, 0, 0) == STAYS);
	CHECK(CALL(SYS_kill, 0, 0, 0, 0) == STAYS);
	CHECK(CALL(SYS_chdir, "/usr", 0, 0, 0) == STAYS);
	CHECK(CALL(SYS_memfd_create, "", 0, 0, 0) == STAYS);
	CHECK(CALL(999, 0, 0, 0, 0) == STAYS); /* a later kernel's */
	return ACT_PASSED;
}

static int act_program(void *unused)
{
	char fixed[] = FILE_HERE;
	char left[] = LEFT;
	char chosen[] = LINK "/env";
	char relative[] = "env";
	int status;

	CHECK(prepare() == ACT_PASSED);
	CHECK(gate_enter(left) == -EACCES);
	CHECK(gate_enter(chosen) == -EACCES);
	CHECK(gate_enter(relative) == -EACCES);
	const pid_t pid = fork();

	if (pid == 0)
		_exit(gate_enter(fixed) == 0 ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return ACT_PASSED;
}

TestSuite(gate, .timeout = 60);

Test(gate, a_name_that_a_workload_could_have_left)
{
	isolated_test(CLONE_NEWUSER | CLONE_NEWNS, act_names, NULL);
}

Test(gate, opening_is_for_reading)
{
	isolated_test(CLONE_NEWUSER | CLONE_NEWNS, act_opens, NULL);
}

Test(gate, no_call_changes_anything)
{
	isolated_test(CLONE_NEWUSER | CLONE_NEWNS, act_others, NULL);
}

Test(gate, a_program_that_a_workload_could_have_changed)
{
	isolated_test(CLONE_NEWUSER | CLONE_NEWNS, act_program, NULL);
}

/* The limit of a start is one. */
Test(gate, a_signal_ends_it)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		begin_child();
		for (;;)
			(void)getppid();
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(gate_step(pid, status));
	cr_assert_eq(kill(pid, SIGXCPU), 0);
	do
		cr_assert_eq(waitpid(pid, &status, 0), pid);
	while (WSTOPSIG(status) != SIGXCPU && gate_step(pid, status));
	cr_assert_not(gate_step(pid, status));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
}
