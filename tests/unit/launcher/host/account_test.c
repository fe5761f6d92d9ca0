/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/account.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Test(account, find)
{
	struct account account;

	cr_assert_eq(account_find("root", &account), 0);
	cr_expect_eq(account.uid, 0U);
	cr_expect_str_eq(account.home, "/root");
	cr_expect_eq(account_find("no-such-account-here", &account), -ENOENT);
}

Test(account, useradd_names_the_account)
{
	char text[256];

	account_format_useradd("agent", text, sizeof(text));
	cr_expect_eq(strncmp(text, "useradd --system ", 17), 0);
	cr_expect(strstr(text, " agent"));
}

Test(account, not_setuid)
{
	cr_expect_not(account_is_setuid());
}

Test(account, root_is_never_a_target)
{
	cr_expect_eq(account_drop(0, 1000, NULL), -EPERM);
	cr_expect_eq(account_drop(1000, 0, NULL), -EPERM);
}

/* In a child, since there is no way back. */
static int drop_in_child(int (*check)(void))
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(check());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int drop_for_good(void)
{
	gid_t groups[4];

	if (account_drop(12345, 23456, NULL) != 0)
		return 1;
	if (getuid() != 12345 || geteuid() != 12345 || getgid() != 23456 || getegid() != 23456)
		return 2;
	if (getgroups(4, groups) != 0)
		return 3;
	return setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 ? 4 : 0;
}

Test(account, drop)
{
	if (geteuid() != 0)
		cr_skip("needs root");
	cr_expect_eq(drop_in_child(drop_for_good), 0);
}

/* One that a shell left open, ours, and a key of root's session. */
static int drop_what_was_inherited(void)
{
	static const char name[] = "msp-account-test";
	const int inherited = open("/", O_RDONLY);
	const int ours = open("/", O_RDONLY | O_CLOEXEC);

	if (inherited < 0 || ours < 0 ||
	    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
	    syscall(SYS_add_key, "user", name, "secret", (size_t)6, KEY_SPEC_SESSION_KEYRING) < 0)
		return 1;
	if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0) < 0)
		return 2;
	if (account_drop(12345, 23456, NULL) != 0)
		return 3;
	if (fcntl(inherited, F_GETFD) >= 0 || fcntl(ours, F_GETFD) < 0)
		return 4;
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0) < 0
		       ? 0
		       : 5;
}

Test(account, what_was_inherited_stays_behind)
{
	if (geteuid() != 0)
		cr_skip("needs root");
	cr_expect_eq(drop_in_child(drop_what_was_inherited), 0);
}

static int is_setuid_now(void)
{
	return setresuid(12345, 0, 0) == 0 && account_is_setuid() ? 0 : 1;
}

Test(account, a_setuid_start_is_noticed)
{
	if (geteuid() != 0)
		cr_skip("needs root");
	cr_expect_eq(drop_in_child(is_setuid_now), 0);
}

static int become(const char *name, int expected)
{
	char text[ACCOUNT_TEXT_MAX] = "";
	int code = 0;

	return account_become(name, &code, text) == -1 && code == expected && text[0] ? 0 : 1;
}

static int become_nobody_known(void)
{
	return become("no-such-account-here", 78);
}

static int become_root(void)
{
	return become("root", 78);
}

Test(account, become_refuses)
{
	cr_expect_eq(drop_in_child(become_nobody_known), 0);
	cr_expect_eq(drop_in_child(become_root), 0);
}

Test(account, the_database_is_asked_for_homes)
{
	for (int i = 0; i < 2; i++) { /* the second answer is the kept one */
		cr_expect_null(account_listed_home("nobody-has-this-name"));
		cr_expect_str_eq(account_listed_home("root"), "/root");
	}
	if (geteuid() != 0)
		cr_expect(!account_listed_home(NULL) || strcmp(account_listed_home(NULL), "/root"));
}
