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
#include "common/ipc/ipc_init.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
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

TestSuite(standby, .init = prepare, .fini = clean, .timeout = 120);

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

/* The factory's init's first child; 0: it has none. */
static pid_t waiting(void)
{
	return first_child(first_child(first_child(getpid())));
}

/* The process that waits, once it sleeps without a capability. */
static pid_t await_waiting(void)
{
	pid_t pid = 0;

	for (int waited = 0; waited < PATIENCE_US; waited += STEP_US) {
		pid = waiting();
		if (pid > 0 && line_of(pid, "status", "State:\t")[0] == 'S' &&
		    strtoull(line_of(pid, "status", "CapEff:\t"), NULL, 16) == 0)
			return pid;
		(void)usleep(STEP_US);
	}
	cr_assert_fail("no process came to wait (%d)", pid);
	return 0;
}

/* The channel that one waits at. */
static struct channel ask_standby(const struct channel *init)
{
	const struct ipc_spawn_standby message = { .sandbox = SLOT };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	cr_assert_eq(channel_send(init, IPC_TYPE_spawn_standby, &message, &ends[1], 0), 0);
	fd_close(&ends[1]);
	return (struct channel){ ends[0], IPC_SUPERVISOR, IPC_INIT, IPC_SERVE };
}

static struct channel begin(bool lasts)
{
	supervised_begin(LIMITS_FALLBACK);
	return supervised_create(SLOT, lasts);
}

/* Have what waits run a shell's command. */
static struct streams give(const struct channel *standby, uint32_t slot, const char *command)
{
	const struct streams streams = supervised_attach(standby, STANDBY_SLOT);
	char argv[256];
	const int size = snprintf(argv, sizeof(argv), "sh%c-c%c%s", 0, 0, command) + 1;

	supervised_run(standby, slot, argv, (size_t)size);
	return streams;
}

/* One that lasts says when it waits. */
static struct channel begin_waiting(const struct channel *init, bool lasts)
{
	const struct channel channel = ask_standby(init);

	if (lasts)
		cr_assert_eq(
			ipc_body(supervised_take(init, IPC_TYPE_spawn_waits), spawn_waits)->sandbox,
			SLOT);
	(void)await_waiting();
	return channel;
}

static void kill_slot(const struct channel *init, uint32_t slot)
{
	const struct ipc_spawn_kill message = { .slot = slot };

	cr_assert_eq(channel_send(init, IPC_TYPE_spawn_kill, &message, NULL, 0), 0);
}

/* Said, and reaped: the next one is alone. */
static void expect_gone(const struct channel *init)
{
	cr_expect_eq(ipc_body(supervised_take(init, IPC_TYPE_spawn_done), spawn_done)->slot,
		     STANDBY_SLOT);
	for (int waited = 0; waited < PATIENCE_US && waiting() > 0; waited += STEP_US)
		(void)usleep(STEP_US);
}

Test(standby, the_one_that_waits_is_the_workload)
{
	for (int lasts = 0; lasts < 2; lasts++) {
		const struct channel init = begin(lasts != 0);
		const struct channel standby = begin_waiting(&init, lasts != 0);
		struct streams streams = give(&standby, EXECUTION, "echo $$; exit 7");

		cr_assert_eq(WEXITSTATUS(supervised_await(&init, EXECUTION)->status), 7);
		cr_expect_str_eq(supervised_read(&streams.out), "2\n");
		supervised_end();
	}
}

Test(standby, each_is_of_one_execution)
{
	const struct channel init = begin(true);
	char before[64] = "";

	for (uint32_t i = 0; i < 3; i++) {
		const struct channel standby = begin_waiting(&init, true);
		struct streams streams = give(&standby, EXECUTION + i, "echo $$");
		const char *number;

		cr_assert_eq(supervised_await(&init, EXECUTION + i)->status, 0);
		number = supervised_read(&streams.out);
		cr_expect_str_neq(number, before);
		(void)strncpy(before, number, sizeof(before) - 1);
	}
}

Test(standby, it_is_confined_while_it_waits)
{
	for (int lasts = 0; lasts < 2; lasts++) {
		const struct channel init = begin(lasts != 0);
		struct stat is;
		char path[64];
		pid_t pid;

		(void)begin_waiting(&init, lasts != 0);
		pid = await_waiting();
		cr_expect_str_eq(line_of(pid, "status", "CapPrm:\t"), "0000000000000000");
		cr_expect_str_eq(line_of(pid, "status", "CapBnd:\t"), "0000000000000000");
		cr_expect_str_eq(line_of(pid, "status", "NoNewPrivs:\t"), "1");
		(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
		cr_assert_eq(stat(path, &is), 0);
		cr_expect_neq(is.st_uid, geteuid(), "it can be looked into");
		supervised_end();
	}
}

/* Only of a profile whose filter leaves it what it needs. */
Test(standby, its_filter_is_there_while_it_waits_where_that_can_be)
{
	static const char *const modes[] = { "0", "2" };

	for (uint32_t i = 0; i < 2; i++) {
		struct channel init;
		struct channel standby;
		struct streams streams;

		hand_plan.profile.filters_standby = i;
		init = begin(false);
		standby = ask_standby(&init);
		cr_expect_str_eq(line_of(await_waiting(), "status", "Seccomp:\t"), modes[i]);
		streams = give(&standby, EXECUTION, "grep Seccomp: /proc/self/status");
		cr_assert_eq(supervised_await(&init, EXECUTION)->status, 0);
		cr_expect_str_eq(supervised_read(&streams.out), "Seccomp:\t2\n");
		supervised_end();
	}
}

/* Of a request that is lost with it nobody else knows. */
Test(standby, an_ephemeral_sandbox_ends_with_the_one_that_waits)
{
	const struct channel init = begin(false);

	(void)begin_waiting(&init, false);
	cr_assert_eq(kill(await_waiting(), SIGKILL), 0);
	cr_expect(supervised_ends(&init));
}

Test(standby, one_that_lasts_goes_on_without_it)
{
	const struct channel init = begin(true);
	struct streams streams;

	(void)begin_waiting(&init, true);
	cr_assert_eq(kill(await_waiting(), SIGKILL), 0);
	expect_gone(&init);
	(void)begin_waiting(&init, true);
	kill_slot(&init, STANDBY_SLOT);
	expect_gone(&init);
	streams = supervised_spawn(&init, EXECUTION, "echo here");
	cr_assert_eq(supervised_await(&init, EXECUTION)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "here\n");
}

/* Nobody asks it for anything any more. */
Test(standby, it_ends_with_its_channel)
{
	const struct channel init = begin(true);
	struct channel standby = begin_waiting(&init, true);

	fd_close(&standby.fd);
	expect_gone(&init);
}

/* The init may be told to before it knows whose it is. */
Test(standby, what_is_on_its_way_can_be_killed)
{
	const struct channel init = begin(true);
	const struct channel standby = begin_waiting(&init, true);

	(void)supervised_attach(&standby, STANDBY_SLOT);
	kill_slot(&init, EXECUTION);
	expect_gone(&init);
}

/* They are of one user. Of another execution's process, the control, all of it can be read. */
Test(standby, what_is_on_its_way_cannot_be_looked_into)
{
	static const char looks[] =
		"exec 2>/dev/null; sleep 100 & for p in 2 $!; do for f in environ maps mem; do "
		"( : </proc/$p/$f ) && echo $f || echo no; done; ls /proc/$p/fd | wc -l; done; "
		"kill $!";
	const struct channel init = begin(true);
	const struct channel standby = begin_waiting(&init, true);
	struct streams mine = supervised_attach(&standby, STANDBY_SLOT);
	struct streams streams = supervised_spawn(&init, EXECUTION + 1, looks);
	const char *seen;

	(void)supervised_await(&init, EXECUTION + 1);
	seen = supervised_read(&streams.out);
	cr_expect_str_eq(seen, "no\nno\nno\n0\nenviron\nmaps\nmem\n3\n");
	supervised_run(&standby, EXECUTION, "/bin/true", sizeof("/bin/true"));
	cr_expect_eq(supervised_await(&init, EXECUTION)->status, 0, "it was killed with the other");
	cr_expect_str_eq(supervised_read(&mine.out), "");
}

Test(standby, what_fails_in_it_is_told_with_its_stage)
{
	static const char argv[] = "/nowhere";
	const struct channel init = begin(false);
	const struct channel standby = begin_waiting(&init, false);
	struct streams streams = supervised_attach(&standby, STANDBY_SLOT);
	const struct ipc_spawn_done *done;

	supervised_run(&standby, EXECUTION, argv, sizeof(argv));
	done = ipc_body(supervised_take(&init, IPC_TYPE_spawn_done), spawn_done);
	cr_expect_eq(done->stage, STAGE_EXEC);
	cr_expect_eq(done->error, ENOENT);
	cr_expect_str_eq(supervised_read(&streams.out), "");
}

static bool was_killed(const struct ipc_spawn_done *done, int signal)
{
	return WIFSIGNALED((int)done->status) && WTERMSIG((int)done->status) == signal;
}

/* Of its exec nobody is told: these say that the init looks at what runs all the same. */

Test(standby, what_it_is_now_can_be_signalled)
{
	const struct ipc_spawn_signal message = { EXECUTION, SIGTERM };

	for (int lasts = 0; lasts < 2; lasts++) {
		const struct channel init = begin(lasts != 0);
		const struct channel standby = begin_waiting(&init, lasts != 0);
		struct streams streams = give(&standby, EXECUTION, "echo begun; exec sleep 1000");
		char line[6];

		cr_assert_eq(read(streams.out, line, sizeof(line)), (ssize_t)sizeof(line));
		cr_assert_eq(channel_send(&init, IPC_TYPE_spawn_signal, &message, NULL, 0), 0);
		cr_expect(was_killed(supervised_await(&init, EXECUTION), SIGTERM));
		supervised_end();
	}
}

Test(standby, what_it_is_now_has_the_fallbacks_limits)
{
	const struct ipc_spawn_done *done;
	struct channel init;
	struct channel standby;

	hand_plan.profile.memory_bytes = (uint64_t)64 << 20;
	init = begin(true);
	standby = begin_waiting(&init, true);
	(void)give(&standby, EXECUTION, "exec tail /dev/zero");
	done = supervised_await(&init, EXECUTION);
	cr_expect_eq(done->over_memory, 1);
	cr_expect(was_killed(done, SIGKILL));
}

/* Whenever its filter was installed. */
Test(standby, what_it_is_refused_is_answered_and_counted)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct channel init;
		struct channel standby;

		hand_plan_ask_about_sync();
		hand_plan.profile.filters_standby = i;
		init = begin(true);
		standby = begin_waiting(&init, true);
		(void)give(&standby, EXECUTION, "sync; exit 0");
		cr_expect_eq(supervised_denials(supervised_await(&init, EXECUTION)), 1);
		supervised_end();
	}
}

/* There is one way for a workload to come to a terminal or to be probed. */
Test(standby, a_probe_is_refused_in_it)
{
	static struct ipc_spawn spawn = { .slot = EXECUTION, .probe = PROBE_FIRST, .cwd = "/" };
	const struct channel init = begin(false);
	const struct channel standby = begin_waiting(&init, false);
	const struct ipc_spawn_done *done;

	(void)supervised_attach(&standby, STANDBY_SLOT);
	memcpy(spawn.argv, "/bin/true", sizeof("/bin/true"));
	spawn.argv_size = sizeof("/bin/true");
	cr_assert_eq(channel_send(&standby, IPC_TYPE_spawn, &spawn, NULL, 0), 0);
	done = ipc_body(supervised_take(&init, IPC_TYPE_spawn_done), spawn_done);
	cr_expect_eq(done->error, EPROTO);
}

Test(standby, none_waits_beside_an_execution)
{
	struct channel init = begin(false);

	(void)supervised_spawn(&init, EXECUTION, "sleep 100");
	(void)ask_standby(&init);
	cr_expect(supervised_ends(&init));
	supervised_end();
	init = begin(true);
	(void)supervised_spawn(&init, EXECUTION, "sleep 100");
	(void)ask_standby(&init);
	cr_expect_eq(ipc_body(supervised_take(&init, IPC_TYPE_spawn_done), spawn_done)->slot,
		     STANDBY_SLOT);
}
