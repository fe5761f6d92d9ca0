/* SPDX-License-Identifier: Apache-2.0
 *
 * A factory and its inits as the supervisor sees them: persistent sandboxes, with several
 * executions at once, and for comparison one that ends with its execution. There are no cgroups;
 * where the init is told that there are, it leaves to the supervisor what would be the supervisor's
 * to kill.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/layer_role.h"
#include "common/ipc/limits_mode.h"
#include "common/kernel.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "look.h"
#include "supervised.h"

#define BASE PLAN_PHASE_BASE
#define SANDBOX PLAN_PHASE_SANDBOX
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MIB ((uint64_t)1 << 20)

#define SLOT 5 /* of the sandbox */
#define ONE 11 /* of its executions */
#define TWO 12
#define THREE 13
#define FOUR 14

static uint32_t place; /* index of the record that has one */

static void add_link(const char *name)
{
	char target[32];

	(void)snprintf(target, sizeof(target), "usr%s", name);
	hand_plan_add(PLAN_SYMLINK, BASE, name, target);
}

/* A tree in which a shell runs. */
static void prepare(void)
{
	struct plan_mount *mount;

	(void)look_folder_make();
	hand_plan_begin();
	hand_plan_add(PLAN_BIND, BASE, "/usr", "/usr")->attributes = READ_ONLY;
	add_link("/bin");
	add_link("/lib");
	add_link("/lib64");
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/zero", "/dev/zero")->device = makedev(1, 5);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/proc", NULL);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/place", NULL);
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc");
	mount = hand_plan_add(PLAN_TMPFS, SANDBOX, "/place", "tmpfs");
	mount->place = hand_plan_put("workspace", sizeof("workspace"));
	place = hand_plan.profile.mount_count - 1;
	hand_plan_allow("/");
	hand_plan.profile.memory_bytes = 1024 * MIB;
	hand_plan.profile.pids = 128;
}

static void clean(void)
{
	supervised_end();
	look_folder_remove();
}

TestSuite(persistent, .init = prepare, .fini = clean, .timeout = 120);

static struct channel start(uint32_t limits)
{
	supervised_begin(limits);
	return supervised_create(SLOT, true);
}

/* The supervisor could not say all of one. What is made next is made of nothing of it. */
Test(persistent, one_that_was_broken_off_is_forgotten)
{
	struct channel init;
	struct streams streams;

	supervised_begin(LIMITS_FALLBACK);
	supervised_workspace(place, LAYER_LOWER, "/usr");
	supervised_break_off();
	init = supervised_create(SLOT + 1, true);
	streams = supervised_spawn(&init, ONE, "ls /place");
	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "");
}

static void send(const struct channel *init, uint32_t type, const void *message, const int *fds)
{
	cr_assert_eq(channel_send(init, type, message, fds, 0), 0);
}

static void kill_slot(const struct channel *init, uint32_t slot)
{
	const struct ipc_spawn_kill message = { .slot = slot };

	send(init, IPC_TYPE_spawn_kill, &message, NULL);
}

static void signal_slot(const struct channel *init, uint32_t slot, uint32_t signal)
{
	const struct ipc_spawn_signal message = { slot, signal };

	send(init, IPC_TYPE_spawn_signal, &message, NULL);
}

static bool was_killed(const struct ipc_spawn_done *done, int signal)
{
	const int status = (int)done->status;

	return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

#define LEAVE_A_CHILD "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"

Test(persistent, three_at_once_and_one_leaves_a_child)
{
	const struct channel init = start(LIMITS_CGROUP);
	struct streams two = supervised_spawn(&init, TWO, "cat");
	struct streams three =
		supervised_spawn(&init, THREE, "read child; kill -0 $child && echo alive");
	struct streams one = supervised_spawn(&init, ONE, LEAVE_A_CHILD);

	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	/* Its leaf would be killed now. */
	supervised_write(&three.in, supervised_read(&one.out));
	cr_assert_eq(supervised_await(&init, THREE)->status, 0);
	cr_expect_str_eq(supervised_read(&three.out), "alive\n");
	supervised_write(&two.in, "said");
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_str_eq(supervised_read(&two.out), "said");
}

Test(persistent, without_cgroups_what_is_left_dies_when_nothing_runs)
{
	const struct channel init = start(LIMITS_FALLBACK);
	struct streams two =
		supervised_spawn(&init, TWO, "read child; kill -0 $child && echo alive");
	struct streams one = supervised_spawn(&init, ONE, LEAVE_A_CHILD);
	struct streams four;
	char child[32];

	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	(void)snprintf(child, sizeof(child), "%s", supervised_read(&one.out));
	supervised_write(&two.in, child);
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_str_eq(supervised_read(&two.out), "alive\n", "something ran");
	four = supervised_spawn(
		&init, FOUR, "read child; while kill -0 $child 2>/dev/null; do :; done; echo gone");
	supervised_write(&four.in, child);
	cr_assert_eq(supervised_await(&init, FOUR)->status, 0);
	cr_expect_str_eq(supervised_read(&four.out), "gone\n");
}

/* Two processes that are none of the first one's group, of which one is a child of the other; and
 * what ends when neither is there any more. */
#define TWO_OF_A_SESSION "setsid sh -c 'sleep 1000 & echo $! $$; wait' & wait"
#define UNTIL_THEY_ARE_GONE                                                                        \
	"read a b; while kill -0 $a 2>/dev/null || kill -0 $b 2>/dev/null; do :; done; echo gone"

/* What the stream says first. */
static void read_line(int fd, char *line, size_t size)
{
	const ssize_t got = read(fd, line, size - 1);

	cr_assert_gt(got, 0);
	line[got] = '\0';
}

Test(persistent, one_of_two_is_killed)
{
	const struct channel init = start(LIMITS_FALLBACK);
	struct streams two = supervised_spawn(&init, TWO, UNTIL_THEY_ARE_GONE);
	struct streams one = supervised_spawn(&init, ONE, TWO_OF_A_SESSION);
	char line[32];

	read_line(one.out, line, sizeof(line));
	kill_slot(&init, ONE);
	cr_assert(was_killed(supervised_await(&init, ONE), SIGKILL));
	supervised_write(&two.in, line);
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_str_eq(supervised_read(&two.out), "gone\n");
}

Test(persistent, the_only_one_is_killed_with_all_that_it_left)
{
	const struct channel init = start(LIMITS_FALLBACK);
	struct streams one =
		supervised_spawn(&init, ONE, "(" TWO_OF_A_SESSION ") & exec sleep 1000");
	struct streams two;
	char line[32];

	read_line(one.out, line, sizeof(line));
	kill_slot(&init, ONE);
	cr_assert(was_killed(supervised_await(&init, ONE), SIGKILL));
	two = supervised_spawn(&init, TWO, UNTIL_THEY_ARE_GONE);
	supervised_write(&two.in, line);
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_str_eq(supervised_read(&two.out), "gone\n");
}

Test(persistent, a_signal_is_for_one)
{
	const struct channel init = start(LIMITS_CGROUP);

	(void)supervised_spawn(&init, ONE, "exec sleep 1000");
	(void)supervised_spawn(&init, TWO, "exec sleep 1000");
	signal_slot(&init, THREE, SIGTERM); /* there is none */
	kill_slot(&init, THREE);
	signal_slot(&init, TWO, SIGTERM);
	cr_assert(was_killed(supervised_await(&init, TWO), SIGTERM));
	signal_slot(&init, TWO, SIGTERM); /* there was one */
	signal_slot(&init, ONE, SIGINT);
	cr_assert(was_killed(supervised_await(&init, ONE), SIGINT));
}

Test(persistent, as_many_as_there_may_be)
{
	const struct channel init = start(LIMITS_CGROUP);

	for (uint32_t i = 0; i < SANDBOX_EXECUTIONS_MAX; i++)
		(void)supervised_spawn(&init, 100 + i, "exec cat");
	kill_slot(&init, 103);
	cr_assert(was_killed(supervised_await(&init, 103), SIGKILL));
	(void)supervised_spawn(&init, 200, "exit 3");
	cr_assert_eq(supervised_await(&init, 200)->status, 3 << 8);
	(void)supervised_spawn(&init, 201, "exec cat");
	(void)supervised_attach(&init, 202);
	cr_assert(supervised_ends(&init));
}

Test(persistent, a_slot_has_one_execution)
{
	const struct channel init = start(LIMITS_CGROUP);

	(void)supervised_spawn(&init, ONE, "exec sleep 1000");
	(void)supervised_attach(&init, ONE);
	cr_assert(supervised_ends(&init));
}

Test(persistent, a_sandbox_that_does_not_last_has_one_execution)
{
	struct channel init;

	supervised_begin(LIMITS_CGROUP);
	init = supervised_create(SLOT, false);
	(void)supervised_spawn(&init, SLOT, "exec sleep 1000");
	(void)supervised_attach(&init, SLOT + 1);
	cr_assert(supervised_ends(&init));
}

Test(persistent, one_that_does_not_last_kills_what_is_left_and_then_reports)
{
	struct channel init;
	struct streams streams;
	const char *text;

	supervised_begin(LIMITS_CGROUP);
	init = supervised_create(SLOT, false);
	streams = supervised_spawn(&init, SLOT, "sleep 1000 & echo $!; exit 3");
	cr_assert_eq(supervised_await(&init, SLOT)->status, 3 << 8);
	text = supervised_read(&streams.out); /* which the child had open as well */
	cr_expect_neq(text[0], '\0');
}

/* Return whether the process executes `sleep` with this argument. */
static bool is_sleeper(const char *pid, const char *argument)
{
	char expected[64], words[64] = "", path[64];
	const int size = snprintf(expected, sizeof(expected), "sleep%c%s", 0, argument) + 1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)!read(fd, words, sizeof(words));
	(void)close(fd);
	return memcmp(words, expected, (size_t)size) == 0;
}

/* Wait until a process executes `sleep` with this argument, and return its number here. */
static pid_t await_sleeper(const char *argument)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	pid_t found = 0;

	while (found == 0) { /* until the test's time is up */
		DIR *proc = opendir("/proc");
		const struct dirent *entry;

		cr_assert(proc);
		while (found == 0 && (entry = readdir(proc)))
			if (is_sleeper(entry->d_name, argument))
				found = (pid_t)strtol(entry->d_name, NULL, 10);
		(void)closedir(proc);
		(void)nanosleep(&pause, NULL);
	}
	return found;
}

/* Return whether the figures are whole of an execution that leaves a process. A traced process is
 * reaped by its tracer before its parent can. */
static bool figures_are_whole(bool is_held)
{
	const char *argument = is_held ? "1000.25" : "1000.75"; /* tests run beside each other */
	struct channel init;
	struct streams streams;
	const struct ipc_spawn_done *done;
	char command[64];
	pid_t left;

	supervised_begin(LIMITS_FALLBACK);
	init = supervised_create(SLOT, false);
	(void)snprintf(command, sizeof(command), "sleep %s & read line", argument);
	streams = supervised_spawn(&init, SLOT, command);
	left = await_sleeper(argument);
	if (is_held)
		cr_assert_eq(ptrace(PTRACE_SEIZE, left, NULL, NULL), 0);
	supervised_write(&streams.in, "end\n");
	done = supervised_await(&init, SLOT);
	cr_expect_eq(done->status, 0);
	if (is_held)
		cr_expect_eq(waitpid(left, NULL, __WALL), left);
	return done->is_whole != 0;
}

Test(persistent, figures_are_whole_once_every_process_was_reaped)
{
	cr_expect(figures_are_whole(false));
}

Test(persistent, figures_are_not_whole_while_a_process_has_not_ended)
{
	cr_expect_not(figures_are_whole(true));
}

Test(persistent, what_an_execution_used_is_told)
{
	const struct channel init = start(LIMITS_FALLBACK);
	const struct ipc_spawn_done *done;

	(void)supervised_spawn(&init, ONE, "exec sleep 1000");
	(void)supervised_spawn(&init, TWO,
			       "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; exit 4");
	done = supervised_await(&init, TWO);
	cr_expect_eq(done->status, 4 << 8);
	cr_expect_gt(done->cpu_us, 0);
	cr_expect_gt(done->peak_bytes, 0);
	cr_expect_lt(done->peak_bytes, 256 * MIB);
	cr_expect_eq(done->is_whole, 0, "it may have left processes");
	cr_expect_eq(done->over_memory + done->over_pids + done->over_disk, 0);
}

static uint64_t now_us(void)
{
	struct timespec now;

	cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

Test(persistent, when_an_execution_was_what_is_told)
{
	const struct channel init = start(LIMITS_FALLBACK);
	const uint64_t before = now_us();
	const struct ipc_spawn_done *done;

	(void)supervised_spawn(&init, ONE, "exec sleep 0.1");
	done = supervised_await(&init, ONE);
	cr_expect_leq(before, done->taken_us, "by the clock that is everybody's");
	cr_expect_lt(done->taken_us, done->executed_us);
	cr_expect_leq(done->executed_us + 50000, done->ended_us, "it slept");
	cr_expect_leq(done->ended_us, now_us());
}

Test(persistent, the_fallbacks_limits_are_the_sandboxs)
{
	struct channel init;

	hand_plan.profile.memory_bytes = 64 * MIB;
	init = start(LIMITS_FALLBACK);
	(void)supervised_spawn(&init, ONE, "exec sleep 1000");
	(void)supervised_spawn(&init, TWO, "exec tail /dev/zero");
	for (int i = 0; i < 2; i++) {
		const struct ipc_spawn_done *done =
			ipc_body(supervised_take(&init, IPC_TYPE_spawn_done), spawn_done);

		cr_expect_eq(done->over_memory, 1);
		cr_expect(was_killed(done, SIGKILL));
	}
	(void)supervised_spawn(&init, THREE, "exit 0");
	cr_assert_eq(supervised_await(&init, THREE)->status, 0, "the sandbox goes on");
}

Test(persistent, what_is_refused_is_counted_for_each)
{
	struct channel init;
	struct streams one, two;

	hand_plan_ask_about_sync();
	init = start(LIMITS_CGROUP);
	one = supervised_spawn(&init, ONE, "sync; read go; sync; sync");
	two = supervised_spawn(&init, TWO, "sync");
	cr_expect_eq(supervised_denials(supervised_await(&init, TWO)), 1);
	supervised_write(&one.in, "go\n");
	cr_expect_eq(supervised_denials(supervised_await(&init, ONE)), 3);
	fd_close(&one.out);
	fd_close(&two.out);
}

static void send_image(const struct channel *init, uint32_t slot, const char *path)
{
	const struct ipc_spawn_image message = { .slot = slot };
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int image = fd_sealed_from_file("image", file);

	cr_assert_geq(image, 0, "%s", path);
	send(init, IPC_TYPE_spawn_image, &message, &image);
	fd_close(&image);
	fd_close(&file);
}

static void expect_image_to_run(void)
{
	static const char argv[] = "any-name\0/proc/self/fd";
	const struct channel init = start(LIMITS_CGROUP);
	struct streams streams = supervised_attach(&init, ONE);

	send_image(&init, ONE, "/usr/bin/ls");
	supervised_run(&init, ONE, argv, sizeof(argv));
	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "0\n1\n2\n3\n"); /* the last: that folder */
	streams = supervised_spawn(&init, TWO, "echo $0");
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "sh\n", "the next has its own program");
}

Test(persistent, a_program_that_is_handed_in)
{
	expect_image_to_run();
}

Test(persistent, a_program_that_is_handed_in_is_observed)
{
	hand_plan_ask_about_sync();
	expect_image_to_run();
}

/* Landlock lets nothing of the host's be executed but what its rules say. */
Test(persistent, a_program_that_is_handed_in_needs_no_rule)
{
	hand_plan.rules[0].rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
				    LANDLOCK_ACCESS_FS_WRITE_FILE;
	const struct channel init = start(LIMITS_CGROUP);
	struct streams streams = supervised_attach(&init, ONE);
	const struct channel_message *message;

	send_image(&init, ONE, "/usr/sbin/ldconfig"); /* linked statically */
	supervised_run(&init, ONE, "ldconfig\0--version", sizeof("ldconfig\0--version"));
	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_not_null(strstr(supervised_read(&streams.out), "ldconfig"));
	(void)supervised_spawn(&init, TWO, "exit 0");
	message = supervised_take(&init, IPC_TYPE_spawn_done);
	cr_expect_eq(ipc_body(message, spawn_done)->stage, STAGE_EXEC);
	cr_expect_eq(ipc_body(message, spawn_done)->error, EACCES);
}

Test(persistent, a_program_that_could_be_changed_is_none)
{
	const struct channel init = start(LIMITS_CGROUP);
	const struct ipc_spawn_image message = { .slot = ONE };
	int file = open("/usr/bin/ls", O_RDONLY | O_CLOEXEC);

	send(&init, IPC_TYPE_spawn_image, &message, &file);
	fd_close(&file);
	cr_assert(supervised_ends(&init));
}
