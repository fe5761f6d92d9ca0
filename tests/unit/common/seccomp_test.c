/* SPDX-License-Identifier: Apache-2.0
 *
 * Installing a filter, in forked children: what it refuses is refused, the same call works without
 * it, and a program that the kernel would not take is an error.
 */
#include "common/confine/seccomp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
