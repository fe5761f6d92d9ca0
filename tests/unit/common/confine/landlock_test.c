/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock for real, in forked children: what a rule allows works, what none allows does not, and
 * the same act works without the ruleset. Needs a kernel with Landlock.
 */
#include "common/confine/landlock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Newest first: a ruleset with everything we know, reduced to what this kernel has. */
static struct kernel_landlock_ruleset all_rights(void)
{
	const struct kernel_landlock_ruleset attr = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_IOCTL_DEV << 1) - 1,
		.handled_access_net =
			LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP,
		.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL,
	};

	return landlock_fit(attr, landlock_abi());
}

/* Enter a domain that allows `rights` beneath `path` (NULL: nothing); 0 or an errno. */
static int enter(const char *path, uint64_t rights)
{
	const struct kernel_landlock_ruleset attr = all_rights();
	const int ruleset = landlock_create(&attr);
	int error = ruleset < 0 ? ruleset : 0;

	if (!error && path) {
		const int fd = open(path, O_PATH | O_CLOEXEC);

		error = fd < 0 ? -errno : landlock_allow(ruleset, &attr, fd, rights);
	}
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		error = -errno;
	return error ? error : landlock_enter(ruleset);
}

/* errno of opening, 0 when it opens. */
static int open_error(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

struct act {
	const char *path; /* allowed beneath */
	uint64_t rights;
	int (*act)(void);
	bool is_confined;
};

/* Runs an act; its exit status is the act's errno, 200 when the domain could not be entered. */
static int run_act(void *argument)
{
	const struct act *act = argument;

	if (act->is_confined && enter(act->path, act->rights) != 0)
		return 200;
	return act->act();
}

static int status_of(const char *path, uint64_t rights, int (*act)(void), bool is_confined)
{
	struct act argument = { path, rights, act, is_confined };
	const int status = run_forked(run_act, &argument);

	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_usr(void)
{
	return open_error("/usr", O_RDONLY);
}

static int read_etc(void)
{
	return open_error("/etc/passwd", O_RDONLY);
}

static int write_tmp(void)
{
	char name[] = "/tmp/msp-landlock-test-XXXXXX";
	const int fd = mkstemp(name);

	if (fd < 0)
		return errno;
	(void)unlink(name);
	return 0;
}

static int connect_tcp(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(1),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 201;
	return connect(fd, (const void *)&address, sizeof(address)) == 0 ? 0 : errno;
}

static int signal_parent(void)
{
	return kill(getppid(), 0) == 0 ? 0 : errno;
}

Test(landlock, the_kernel_has_it)
{
	cr_assert_gt(landlock_abi(), 0);
}

Test(landlock, allowed_reads_work)
{
	cr_assert_eq(status_of("/usr", READ_RIGHTS, read_usr, true), 0);
	cr_assert_eq(status_of("/etc/passwd", READ_RIGHTS, read_etc, true), 0, "a rule on a file");
}

Test(landlock, other_reads_are_refused)
{
	cr_assert_eq(status_of("/usr", READ_RIGHTS, read_etc, false), 0, "control: no domain");
	cr_assert_eq(status_of("/usr", READ_RIGHTS, read_etc, true), EACCES);
	cr_assert_eq(status_of(NULL, 0, read_usr, true), EACCES, "no rule allows nothing");
}

Test(landlock, writes_need_their_own_right)
{
	cr_assert_eq(status_of("/tmp", READ_RIGHTS, write_tmp, false), 0, "control: no domain");
	cr_assert_eq(status_of("/tmp", READ_RIGHTS, write_tmp, true), EACCES);
	cr_assert_eq(status_of("/tmp", UINT64_MAX, write_tmp, true), 0, "all handled rights");
}

Test(landlock, tcp_is_refused)
{
	if (landlock_abi() < 4)
		cr_skip("TCP rights need Landlock ABI 4, here %d", landlock_abi());
	cr_assert_eq(status_of(NULL, 0, connect_tcp, false), ECONNREFUSED, "control: no domain");
	cr_assert_eq(status_of(NULL, 0, connect_tcp, true), EACCES);
}

Test(landlock, signals_out_of_the_domain_are_refused)
{
	if (landlock_abi() < 6)
		cr_skip("scopes need Landlock ABI 6, here %d", landlock_abi());
	cr_assert_eq(status_of(NULL, 0, signal_parent, false), 0, "control: no domain");
	cr_assert_eq(status_of(NULL, 0, signal_parent, true), EPERM);
}

static int enter_without_no_new_privs(void)
{
	const struct kernel_landlock_ruleset attr = all_rights();

	return -landlock_enter(landlock_create(&attr));
}

static int enter_nothing(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? -landlock_enter(-1) : 200;
}

Test(landlock, entering_fails_loudly)
{
	if (geteuid() == 0)
		cr_skip("root may enter without no_new_privs");
	cr_assert_eq(status_of(NULL, 0, enter_without_no_new_privs, false), EPERM);
	cr_assert_eq(status_of(NULL, 0, enter_nothing, false), EBADF);
}

Test(landlock, a_ruleset_of_nothing_is_an_error)
{
	const struct kernel_landlock_ruleset nothing = { 0 };
	const struct kernel_landlock_ruleset unknown = { .handled_access_fs = 1ULL << 62 };

	cr_assert_lt(landlock_create(&nothing), 0, "handles nothing: the kernel refuses");
	cr_assert_lt(landlock_create(&unknown), 0, "a right that no kernel has");
}

Test(landlock, allowing_on_no_descriptor_is_an_error)
{
	const struct kernel_landlock_ruleset attr = all_rights();

	cr_assert_eq(landlock_allow(landlock_create(&attr), &attr, -1, READ_RIGHTS), -EBADF);
}

Test(landlock, fit_leaves_out_exactly_what_an_abi_lacks)
{
	const struct kernel_landlock_ruleset full = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_IOCTL_DEV << 1) - 1,
		.handled_access_net = 3,
		.scoped = 3,
	};
	/* linux/landlock.h: the last file system right of each ABI */
	const uint64_t fs[] = {
		[1] = (1ULL << 13) - 1, [2] = (1ULL << 14) - 1, [3] = (1ULL << 15) - 1,
		[4] = (1ULL << 15) - 1, [5] = (1ULL << 16) - 1, [6] = (1ULL << 16) - 1,
		[7] = (1ULL << 16) - 1
	};

	for (int abi = 1; abi <= 7; abi++) {
		const struct kernel_landlock_ruleset fit = landlock_fit(full, abi);

		cr_assert_eq(fit.handled_access_fs, fs[abi], "ABI %d", abi);
		cr_assert_eq(fit.handled_access_net, abi >= 4 ? 3 : 0, "ABI %d", abi);
		cr_assert_eq(fit.scoped, abi >= 6 ? 3 : 0, "ABI %d", abi);
	}
}

/* The first of what an ABI does not have, and how much it is. */
static void expect_lost(int abi, const char *first, size_t count)
{
	size_t found = 0;

	while (landlock_lost(abi, found))
		found++;
	cr_assert_eq(found, count, "ABI %d: %zu", abi, found);
	if (count > 0)
		cr_assert_str_eq(landlock_lost(abi, 0), first);
}

Test(landlock, what_older_kernels_lack_has_names)
{
	expect_lost(0, "execute", 20);
	expect_lost(1, "refer", 7);
	expect_lost(2, "truncate", 6);
	expect_lost(3, "bind_tcp", 5);
	expect_lost(4, "ioctl_dev", 3);
	expect_lost(5, "abstract_unix_socket", 2);
	expect_lost(6, NULL, 0);
	expect_lost(7, NULL, 0);
}

Test(landlock, fitting_leaves_what_the_abi_has)
{
	const struct kernel_landlock_ruleset all = { LANDLOCK_FS_ALL, LANDLOCK_NET_ALL,
						     LANDLOCK_SCOPE_ALL };
	const uint64_t second = LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV;
	struct kernel_landlock_ruleset now = landlock_fit(all, 6);

	cr_assert_eq(memcmp(&now, &all, sizeof(all)), 0, "every bit is in the table, and no other");
	now = landlock_fit(all, 0);
	cr_assert_eq(now.handled_access_fs | now.handled_access_net | now.scoped, 0);
	now = landlock_fit(all, 2);
	cr_assert_eq(now.handled_access_fs, LANDLOCK_FS_ALL & ~second);
	cr_assert_eq(now.handled_access_net | now.scoped, 0);
	now = landlock_fit(all, 5);
	cr_assert_eq(now.handled_access_fs, LANDLOCK_FS_ALL);
	cr_assert_eq(now.handled_access_net, LANDLOCK_NET_ALL);
	cr_assert_eq(now.scoped, 0);
}
