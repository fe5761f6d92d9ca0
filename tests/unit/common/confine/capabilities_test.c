/* SPDX-License-Identifier: Apache-2.0
 *
 * Capabilities given up in a user namespace of the test's own, where it has all of them.
 */
#include "common/confine/capabilities.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define UNPREPARED 200
#define KEPT (1U << CAP_KILL)

struct sets {
	uint64_t effective, permitted, inheritable;
};

static struct sets read_sets(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		_exit(UNPREPARED);
	return (struct sets){
		.effective = data[0].effective | (uint64_t)data[1].effective << 32,
		.permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
		.inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32,
	};
}

static int has_bounding(void)
{
	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
			return 1;
	}
	return 0;
}

static void be_capable(void)
{
	if (unshare(CLONE_NEWUSER) != 0 || read_sets().effective == 0 || !has_bounding())
		_exit(UNPREPARED);
}

static int drop_all(void *unused)
{
	(void)unused;
	be_capable();
	if (capabilities_drop(0) != 0)
		return 1;
	const struct sets sets = read_sets();

	if (sets.effective || sets.permitted || sets.inheritable)
		return 2;
	return has_bounding() ? 3 : 0;
}

static int keep_one(void *unused)
{
	(void)unused;
	be_capable();
	if (capabilities_drop(KEPT) != 0)
		return 1;
	const struct sets sets = read_sets();

	if (sets.effective != KEPT || sets.permitted != KEPT || sets.inheritable)
		return 2;
	if (has_bounding())
		return 3;
	return capabilities_set(1U << CAP_SYS_CHROOT) == -EPERM ? 0 : 4;
}

static int loosen_securebits(void *unused)
{
	(void)unused;
	be_capable();
	if (capabilities_drop(1U << CAP_SETPCAP) != 0)
		return 1;
	return prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 ? 2 : 0;
}

static int drop_without_the_right(void *unused)
{
	(void)unused;
	be_capable();
	if (capabilities_set(0) != 0)
		return 1;
	return capabilities_drop(0) == -EPERM ? 0 : 2;
}

static int result(int (*child)(void *))
{
	const int status = run_forked(child, NULL);

	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(capabilities, every_set_becomes_empty)
{
	cr_assert_eq(result(drop_all), 0);
}

Test(capabilities, what_is_kept_is_kept_alone)
{
	cr_assert_eq(result(keep_one), 0);
}

Test(capabilities, securebits_are_locked)
{
	cr_assert_eq(result(loosen_securebits), 0);
}

Test(capabilities, failing_is_told)
{
	cr_assert_eq(result(drop_without_the_right), 0);
}
