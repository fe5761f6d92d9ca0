/* SPDX-License-Identifier: Apache-2.0
 *
 * Installing a filter, in forked children: what it refuses is refused, the same call works without
 * it, and a program that the kernel would not take is an error.
 */
#include "common/confine/seccomp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "support.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* getppid() fails with EDOM, everything else is allowed. */
static const struct sock_filter refuse_getppid[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* Ends without a return. */
static const struct sock_filter endless[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
};

static int ask_parent(void *unused)
{
	(void)unused;
	errno = 0;
	return syscall(SYS_getppid) < 0 ? errno : 0;
}

static int ask_parent_filtered(void *unused)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    seccomp_install(refuse_getppid, LENGTH(refuse_getppid)) != 0)
		return 200;
	return ask_parent(unused);
}

static int install_endless(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* its failure shows below */
	return -seccomp_install(endless, LENGTH(endless));
}

static int install_without_no_new_privs(void *unused)
{
	(void)unused;
	return -seccomp_install(refuse_getppid, LENGTH(refuse_getppid));
}

/* getppid() is asked about. */
static const struct sock_filter notify_getppid[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int install_observed(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -200;
	return seccomp_install_observed(notify_getppid, LENGTH(notify_getppid));
}

static int refuse_all(const struct seccomp_notif *call)
{
	(void)call;
	return -EPERM;
}

/* 0: the child's getppid() failed with `error` after `answers` answers. */
static int observe_child(int listener, int answers, int error)
{
	struct pollfd entry = { .fd = listener, .events = POLLIN };
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		fd_close(&listener);
		_exit(ask_parent(NULL));
	}
	for (int i = 0; i < answers; i++) {
		struct seccomp_notif call;

		if (poll(&entry, 1, 10000) != 1 || seccomp_answer(listener, refuse_all, &call) != 1)
			return 201;
		if (call.data.nr != SYS_getppid || (pid_t)call.pid != child)
			return 202;
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			       WEXITSTATUS(status) == error
		       ? 0
		       : 203;
}

static int answer_a_child(void *unused)
{
	int listener = install_observed();

	(void)unused;
	if (listener < 0 || fcntl(listener, F_GETFD) != FD_CLOEXEC)
		return 204;
	seccomp_hasten(listener);
	return observe_child(listener, 1, EPERM);
}

static int ask_without_a_listener(void *unused)
{
	int listener = install_observed();

	(void)unused;
	fd_close(&listener);
	return ask_parent(NULL);
}

static int install_a_second(void *unused)
{
	(void)unused;
	return install_observed() < 0 ? 204 : -install_observed();
}

/* The child is killed while its call waits. */
static int refuse_a_dead(void *unused)
{
	const int listener = install_observed();
	struct pollfd entry = { .fd = listener, .events = POLLIN };
	struct seccomp_notif call;
	const pid_t child = fork();

	(void)unused;
	if (child == 0)
		_exit(ask_parent(NULL));
	if (poll(&entry, 1, 10000) != 1 || kill(child, SIGKILL) != 0 ||
	    waitpid(child, NULL, 0) != child)
		return 205;
	if (seccomp_answer(listener, refuse_all, &call) != 0)
		return 206;
	return observe_child(listener, 1, EPERM);
}

static int exit_code(int (*child)(void *))
{
	const int status = run_forked(child, NULL);

	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(seccomp, a_filter_takes_effect)
{
	cr_assert_eq(exit_code(ask_parent), 0, "control: no filter");
	cr_assert_eq(exit_code(ask_parent_filtered), EDOM);
}

Test(seccomp, an_observed_call_is_refused_by_its_answer)
{
	cr_assert_eq(exit_code(answer_a_child), 0);
}

Test(seccomp, without_anybody_to_answer_it_is_refused_too)
{
	cr_assert_eq(exit_code(ask_without_a_listener), ENOSYS);
}

Test(seccomp, there_is_one_listener)
{
	cr_assert_eq(exit_code(install_a_second), EBUSY);
}

Test(seccomp, whoever_died_waiting_is_not_waited_for)
{
	cr_assert_eq(exit_code(refuse_a_dead), 0);
}

Test(seccomp, a_filter_that_the_kernel_refuses_is_an_error)
{
	cr_assert_eq(exit_code(install_endless), EINVAL);
}

Test(seccomp, without_no_new_privs_it_fails)
{
	if (geteuid() == 0)
		cr_skip("root may install without no_new_privs");
	cr_assert_eq(exit_code(install_without_no_new_privs), EACCES);
}

Test(seccomp, sizes_beyond_the_kernels_are_refused)
{
	cr_assert_eq(seccomp_install(refuse_getppid, 0), -EINVAL, "an empty program");
	cr_assert_eq(seccomp_install(refuse_getppid, BPF_MAXINSNS + 1), -EINVAL);
	cr_assert_eq(seccomp_install(refuse_getppid, 65536 + 4), -EINVAL, "cut to 16 bits it is 4");
}
