/* SPDX-License-Identifier: Apache-2.0
 *
 * Who was cloned waits for its base, which the factory builds meanwhile.
 */
#include "factory.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/identity.h"
#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/limits_mode.h"
#include "hand_plan.h"
#include "init.h"
#include "isolated.h"
#include "look.h"
#include "mounts.h"
#include "supervised.h"

#define BASE PLAN_PHASE_BASE
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

#define SLOT 5

static void prepare(void)
{
	(void)look_folder_make();
	hand_plan_begin();
	hand_plan_add(PLAN_BIND, BASE, "/usr", "/usr")->attributes = READ_ONLY;
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	hand_plan_add(PLAN_SYMLINK, BASE, "/bin", "usr/bin");
	hand_plan_add(PLAN_SYMLINK, BASE, "/lib", "usr/lib");
	hand_plan_add(PLAN_SYMLINK, BASE, "/lib64", "usr/lib64");
	hand_plan_add(PLAN_BIND, BASE, "/later", look_folder("later"))->attributes = READ_ONLY;
	hand_plan_allow("/");
	hand_plan.profile.pids = 16;
}

static void clean(void)
{
	supervised_end();
	(void)rmdir(look_folder("later"));
	look_folder_remove();
}

TestSuite(factory, .init = prepare, .fini = clean, .timeout = 60);

/* What cannot be built is told in place of the sandbox, which says nothing of itself and ends; the
 * next one has it tried anew. */
Test(factory, a_base_that_cannot_be_built_ends_who_waits_for_it)
{
	const struct channel_message *message;
	struct channel init;

	supervised_begin(LIMITS_CGROUP);
	init = supervised_ask(SLOT, false);
	message = supervised_take(supervised_factory(), IPC_TYPE_sandbox_failed);
	cr_expect_eq(ipc_body(message, sandbox_failed)->slot, SLOT);
	cr_expect_eq(ipc_body(message, sandbox_failed)->stage, STAGE_BASE);
	cr_expect_eq(ipc_body(message, sandbox_failed)->error, ENOENT);
	cr_expect(supervised_ends(&init));

	cr_assert_eq(mkdir(look_folder("later"), 0700), 0);
	init = supervised_create(SLOT, false);
	(void)supervised_spawn(&init, SLOT, "test -d /later");
	cr_expect_eq(supervised_await(&init, SLOT)->status, 0);
}

/* A pipe with this to be read, and nobody who could write more. */
static int told(const char *bytes, size_t size)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0 || write(ends[1], bytes, size) != (ssize_t)size)
		return -1;
	fd_close(&ends[1]);
	return ends[0];
}

/* Become a helper: expect this result, and mounts of its own only with `leaves_mounts`. */
static int become_helper(const char *bytes, size_t size, int expected, bool leaves_mounts)
{
	static struct factory factory;
	struct stat before;
	struct stat after;

	hand_plan_open(&factory.plan);
	CHECK(stat("/" STAGING_HOST "/proc/self/ns/mnt", &before) == 0);
	CHECK(unshare(CLONE_NEWUSER) == 0);
	CHECK(init_become_helper(&factory, 0, told(bytes, size)) == expected);
	CHECK(stat("/" STAGING_HOST "/proc/self/ns/mnt", &after) == 0);
	CHECK((before.st_ino != after.st_ino) == leaves_mounts);
	return ACT_PASSED;
}

static int become_helper_as(const char *bytes, size_t size, int expected, bool leaves_mounts)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(become_helper(bytes, size, expected, leaves_mounts));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* In namespaces as the factory has them, where no base was built. */
static int become_helpers(void *unused)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int host;

	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	CHECK(identity_map("/proc", true, WORKLOAD_ID, uid, gid) == 0);
	host = mounts_stage();
	CHECK(host >= 0);
	CHECK(become_helper_as("", 0, -EPIPE, false) == ACT_PASSED);
	/* Control: it is that byte. */
	CHECK(become_helper_as("", 1, -ENOENT, true) == ACT_PASSED);
	return ACT_PASSED;
}
Test(factory, who_waits_ends_with_the_factory)
{
	isolated_test(CLONE_NEWNS, become_helpers, NULL);
}
