/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-store and msp-supervisor, taken over: Landlock and the filters, as those programs have them,
 * leave no way to a directory outside of the own one. Landlock does not govern O_PATH, and such a
 * descriptor could be handed on: the filters refuse it. Each act is tried by a process of its own.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"

#define seccomp_filter store_filter
#include "store_filter.h"
#undef seccomp_filter
#undef SECCOMP_FILTER_H
#define seccomp_filter supervisor_filter
#include "supervisor_filter.h"

#define COUNT_OF(filter) (sizeof(filter) / sizeof((filter)[0]))

static const struct list {
	const char *name;
	const struct sock_filter *filter;
	uint32_t count;
} lists[] = { { "store", store_filter, COUNT_OF(store_filter) },
	      { "supervisor", supervisor_filter, COUNT_OF(supervisor_filter) } };

static char own[] = "/tmp/msp-test-XXXXXX"; /* the directory that Landlock allows */
static char outside[] = "/tmp/msp-test-XXXXXX";
static int own_fd;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(own));
	cr_assert_not_null(mkdtemp(outside));
	own_fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(own_fd, 0);
}

static void end(void)
{
	fd_close(&own_fd);
	(void)rmdir(own);
	(void)rmdir(outside);
}

TestSuite(confine, .init = begin, .fini = end, .timeout = 60);

struct act {
	const char *name;
	long number; /* open or openat */
	long directory;
	const char *path;
	long flags;
	int expected; /* the errno beneath Landlock alone */
};

static long call(const struct act *act)
{
	return act->number == SYS_open
		       ? syscall(SYS_open, act->path, act->flags, 0)
		       : syscall(act->number, act->directory, act->path, act->flags, 0);
}

static int enter_landlock(void)
{
	const struct kernel_landlock_ruleset all = { .handled_access_fs = LANDLOCK_FS_ALL };
	const struct kernel_landlock_ruleset attr = landlock_fit(all, landlock_abi());
	const int ruleset = landlock_create(&attr);

	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    landlock_allow(ruleset, &attr, own_fd, LANDLOCK_FS_ALL) != 0)
		return -1;
	return landlock_enter(ruleset);
}

/* The signal that the act ends the process with, negative; else its errno. */
static int try_act(const struct act *act, const struct list *list)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		long result;

		if (enter_landlock() != 0 ||
		    (list && seccomp_install(list->filter, list->count) != 0))
			(void)syscall(SYS_exit_group, 255);
		result = call(act);
		(void)syscall(SYS_exit_group, result < 0 ? errno : 0);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

Test(confine, no_directory_outside)
{
	const struct act rows[] = {
		{ "open", SYS_open, 0, outside, O_PATH | O_CLOEXEC, 0 },
		{ "open a directory", SYS_open, 0, outside, O_PATH | O_DIRECTORY, 0 },
		{ "open the root", SYS_open, 0, "/", O_PATH, 0 },
		{ "openat", SYS_openat, AT_FDCWD, outside, O_PATH | O_CLOEXEC, 0 },
		{ "openat beneath", SYS_openat, own_fd, "..", O_PATH, 0 },
		{ "openat absolute", SYS_openat, own_fd, outside, O_PATH | O_NOFOLLOW, 0 },
		{ "openat the own", SYS_openat, own_fd, ".", O_PATH, 0 },
		{ "openat more bits", SYS_openat, AT_FDCWD, outside,
		  O_PATH | O_RDWR | O_CREAT | O_NONBLOCK, 0 },
		{ "openat high bits", SYS_openat, AT_FDCWD, outside,
		  O_PATH | (long)0x7fffffff00000000, 0 },
		{ "open to read", SYS_open, 0, outside, O_RDONLY | O_DIRECTORY, EACCES },
		{ "openat to read", SYS_openat, AT_FDCWD, outside, O_RDONLY | O_DIRECTORY, EACCES },
		{ "openat above", SYS_openat, own_fd, "..", O_RDONLY | O_DIRECTORY, EACCES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(try_act(&rows[i], NULL), rows[i].expected, "%s without a filter",
			     rows[i].name);
		for (size_t at = 0; at < COUNT_OF(lists); at++) {
			/* msp-store has no open(2). */
			const bool is_killed =
				rows[i].flags & O_PATH || (at == 0 && rows[i].number == SYS_open);

			cr_expect_eq(try_act(&rows[i], &lists[at]),
				     is_killed ? -SIGSYS : rows[i].expected, "%s: %s",
				     lists[at].name, rows[i].name);
		}
	}
}

Test(confine, the_own_directory)
{
	const struct act row = {
		"openat", SYS_openat, own_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		0
	};

	for (size_t at = 0; at < COUNT_OF(lists); at++)
		cr_expect_eq(try_act(&row, &lists[at]), 0, "%s", lists[at].name);
}

/* The other ways to a descriptor that could be handed on. */
Test(confine, no_other_call)
{
	static const struct act rows[] = {
		{ "openat2", SYS_openat2, AT_FDCWD, "/", 0, 0 },
		{ "open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, "/", O_PATH, 0 },
		{ "name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, "/", 0, 0 },
		{ "open_tree", SYS_open_tree, AT_FDCWD, "/", 0, 0 },
		{ "chdir", SYS_chdir, (long)"/", "/", 0, 0 },
		{ "fchdir", SYS_fchdir, 0, "/", 0, 0 },
		{ "chroot", SYS_chroot, (long)"/", "/", 0, 0 },
		{ "creat", SYS_creat, (long)"/", "/", 0, 0 },
		{ "pidfd_getfd", SYS_pidfd_getfd, 0, "/", 0, 0 },
		{ "inotify_init1", SYS_inotify_init1, 0, "/", 0, 0 },
		{ "fanotify_init", SYS_fanotify_init, 0, "/", 0, 0 },
		{ "io_uring_setup", SYS_io_uring_setup, 1, "/", 0, 0 },
		{ "linkat", SYS_linkat, AT_FDCWD, "/", 0, 0 },
		{ "symlinkat", SYS_symlinkat, (long)"/", "/", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t at = 0; at < COUNT_OF(lists); at++)
			cr_expect_eq(try_act(&rows[i], &lists[at]), -SIGSYS, "%s: %s",
				     lists[at].name, rows[i].name);
	}
}
