/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that was made ahead, with the process that waits in it to be its workload, as the
 * supervisor sees them. Of what the sandbox runs, the shell tells its own number: 2 is the first
 * process that the init made.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/names.h"
#include "hand_plan.h"
#include "look.h"
#include "supervised.h"

#define BASE PLAN_PHASE_BASE
#define SANDBOX PLAN_PHASE_SANDBOX
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

#define SLOT 5 /* of the sandbox */
#define EXECUTION 11
#define PATIENCE_US 10000000
#define STEP_US 1000

static void prepare(void)
{
	(void)look_folder_make();
	hand_plan_begin();
	hand_plan_add(PLAN_BIND, BASE, "/usr", "/usr")->attributes = READ_ONLY;
	hand_plan_add(PLAN_SYMLINK, BASE, "/bin", "usr/bin");
	hand_plan_add(PLAN_SYMLINK, BASE, "/lib", "usr/lib");
	hand_plan_add(PLAN_SYMLINK, BASE, "/lib64", "usr/lib64");
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/zero", "/dev/zero")->device = makedev(1, 5);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/proc", NULL);
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc");
	hand_plan_allow("/");
	hand_plan.profile.memory_bytes = (uint64_t)1 << 30;
	hand_plan.profile.pids = 128;
}

static void clean(void)
{
	supervised_end();
	look_folder_remove();
}

TestSuite(ahead, .init = prepare, .fini = clean, .timeout = 120);

/* A line of a file of /proc that begins with `key`; "" without one. Static storage. */
static const char *line_of(pid_t pid, const char *file, const char *key)
{
	static char line[256];
	char path[64];
	FILE *stream;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream)) {
		if (strncmp(line, key, strlen(key)) == 0) {
			(void)fclose(stream);
			line[strcspn(line, "\n")] = '\0';
			return line + strlen(key);
		}
	}
	if (stream)
		(void)fclose(stream);
	return "";
}

static pid_t first_child(pid_t pid)
{
	char file[64];

	(void)snprintf(file, sizeof(file), "task/%d/children", pid);
	return (pid_t)strtol(line_of(pid, file, ""), NULL, 10);
}

/* The process that waits: the factory's init's one child, once it sleeps without a capability. */
static pid_t await_waiting(void)
{
	pid_t pid = 0;

	for (int waited = 0; waited < PATIENCE_US; waited += STEP_US) {
		pid = first_child(first_child(first_child(getpid())));
		if (pid > 0 && line_of(pid, "status", "State:\t")[0] == 'S' &&
		    strtoull(line_of(pid, "status", "CapEff:\t"), NULL, 16) == 0)
			return pid;
		(void)usleep(STEP_US);
	}
	cr_assert_fail("no process came to wait (%d)", pid);
	return 0;
}

static void ask_ahead(const struct channel *init)
{
	const struct ipc_spawn_ahead message = { .sandbox = SLOT };

	cr_assert_eq(channel_send(init, IPC_TYPE_spawn_ahead, &message, NULL, 0), 0);
}

static struct channel begin(bool lasts)
{
	supervised_begin(LIMITS_FALLBACK);
	return supervised_create(SLOT, lasts);
}

Test(ahead, the_one_that_waits_is_the_workload)
{
	const struct channel init = begin(false);
	struct streams streams;

	ask_ahead(&init);
	(void)await_waiting();
	streams = supervised_spawn(&init, EXECUTION, "echo $$; exit 7");
	cr_assert_eq(WEXITSTATUS(supervised_await(&init, EXECUTION)->status), 7);
	cr_expect_str_eq(supervised_read(&streams.out), "2\n");
}

Test(ahead, it_is_confined_while_it_waits)
{
	const struct channel init = begin(false);
	struct stat is;
	char path[64];
	pid_t pid;

	ask_ahead(&init);
	pid = await_waiting();
	cr_expect_str_eq(line_of(pid, "status", "CapPrm:\t"), "0000000000000000");
	cr_expect_str_eq(line_of(pid, "status", "CapBnd:\t"), "0000000000000000");
	cr_expect_str_eq(line_of(pid, "status", "NoNewPrivs:\t"), "1");
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	cr_assert_eq(stat(path, &is), 0);
	cr_expect_neq(is.st_uid, geteuid(), "it can be looked into");
}

/* Only of a profile whose filter leaves it what it needs. */
Test(ahead, its_filter_is_there_while_it_waits_where_that_can_be)
{
	static const char *const modes[] = { "0", "2" };

	for (uint32_t i = 0; i < 2; i++) {
		struct channel init;
		struct streams streams;

		hand_plan.profile.filters_ahead = i;
		init = begin(false);
		ask_ahead(&init);
		cr_expect_str_eq(line_of(await_waiting(), "status", "Seccomp:\t"), modes[i]);
		streams = supervised_spawn(&init, EXECUTION, "grep Seccomp: /proc/self/status");
		cr_assert_eq(supervised_await(&init, EXECUTION)->status, 0);
		cr_expect_str_eq(supervised_read(&streams.out), "Seccomp:\t2\n");
		supervised_end();
	}
}

/* Of a request that is lost with it nobody else knows. */
Test(ahead, the_sandbox_ends_with_the_one_that_waits)
{
	const struct channel init = begin(false);

	ask_ahead(&init);
	cr_assert_eq(kill(await_waiting(), SIGKILL), 0);
	cr_expect(supervised_ends(&init));
}

Test(ahead, what_fails_in_it_is_told_with_its_stage)
{
	static const char argv[] = "/nowhere";
	const struct channel init = begin(false);
	const struct ipc_spawn_done *done;
	struct streams streams;

	ask_ahead(&init);
	(void)await_waiting();
	streams = supervised_attach(&init, EXECUTION);
	supervised_run(&init, EXECUTION, argv, sizeof(argv));
	done = &supervised_take(&init, IPC_TYPE_spawn_done)->body.spawn_done;
	cr_expect_eq(done->stage, STAGE_EXEC);
	cr_expect_eq(done->error, ENOENT);
	cr_expect_str_eq(supervised_read(&streams.out), "");
}

static bool was_killed(const struct ipc_spawn_done *done, int signal)
{
	return WIFSIGNALED((int)done->status) && WTERMSIG((int)done->status) == signal;
}

/* Of its exec nobody is told: these say that the init looks at what runs all the same. */

Test(ahead, what_it_is_now_can_be_signalled)
{
	const struct ipc_spawn_signal message = { EXECUTION, SIGTERM };
	const struct channel init = begin(false);
	struct streams streams;
	char line[6];

	ask_ahead(&init);
	(void)await_waiting();
	streams = supervised_spawn(&init, EXECUTION, "echo begun; exec sleep 1000");
	cr_assert_eq(read(streams.out, line, sizeof(line)), (ssize_t)sizeof(line));
	cr_assert_eq(channel_send(&init, IPC_TYPE_spawn_signal, &message, NULL, 0), 0);
	cr_expect(was_killed(supervised_await(&init, EXECUTION), SIGTERM));
}

Test(ahead, what_it_is_now_has_the_fallbacks_limits)
{
	const struct ipc_spawn_done *done;
	struct channel init;

	hand_plan.profile.memory_bytes = (uint64_t)64 << 20;
	init = begin(false);
	ask_ahead(&init);
	(void)await_waiting();
	(void)supervised_spawn(&init, EXECUTION, "exec tail /dev/zero");
	done = supervised_await(&init, EXECUTION);
	cr_expect_eq(done->over_memory, 1);
	cr_expect(was_killed(done, SIGKILL));
}

/* Whenever its filter was installed. */
Test(ahead, what_it_is_refused_is_answered_and_counted)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct channel init;

		hand_plan_ask_about_sync();
		hand_plan.profile.filters_ahead = i;
		init = begin(false);
		ask_ahead(&init);
		(void)await_waiting();
		(void)supervised_spawn(&init, EXECUTION, "sync; exit 0");
		cr_expect_eq(supervised_denials(supervised_await(&init, EXECUTION)), 1);
		supervised_end();
	}
}

/* There is one way for a workload to come to a terminal or to be probed. */
Test(ahead, a_probe_is_refused_in_it)
{
	static struct ipc_spawn spawn = { .slot = EXECUTION, .probe = PROBE_FIRST, .cwd = "/" };
	const struct channel init = begin(false);
	const struct ipc_spawn_done *done;

	ask_ahead(&init);
	(void)await_waiting();
	(void)supervised_attach(&init, EXECUTION);
	memcpy(spawn.argv, "/bin/true", sizeof("/bin/true"));
	spawn.argv_size = sizeof("/bin/true");
	cr_assert_eq(channel_send(&init, IPC_TYPE_spawn, &spawn, NULL, 0), 0);
	done = &supervised_take(&init, IPC_TYPE_spawn_done)->body.spawn_done;
	cr_expect_eq(done->error, EPROTO);
}

Test(ahead, none_waits_beside_an_execution)
{
	const struct channel init = begin(false);

	(void)supervised_spawn(&init, EXECUTION, "sleep 100");
	ask_ahead(&init);
	cr_expect(supervised_ends(&init));
}
