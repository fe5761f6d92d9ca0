/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads that are observed: what they are refused is counted, and nothing of the observing is
 * theirs. The test is the init, without namespaces and without Landlock's help.
 */
#include "observe.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "common/records/denial.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "spawn.h"
#include "support.h"

static struct factory factory;
static struct init init = { .factory = &factory, .ruleset = -1 };
static struct spawn spawn = SPAWN_EMPTY;
static struct ipc_spawn request;
static struct workload workload = WORKLOAD_NONE;
static uint32_t stage;
static int status;

#define SET_BYTES(field, text)                                                                     \
	(memcpy(request.field, text, sizeof(text)), request.field##_size = sizeof(text))
#define SHELL(command) SET_BYTES(argv, "sh\0-c\0" command)

static void prepare(void)
{
	hand_plan_begin();
	hand_plan_ask_about_sync();
	hand_plan_open(&factory.plan);
	init.profile = &hand_plan.profile;
	init.landlock = (struct kernel_landlock_ruleset){ .scoped = LANDLOCK_SCOPE_SIGNAL };
	init.ruleset = landlock_create(&init.landlock);
	cr_assert_geq(init.ruleset, 0);
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	memcpy(request.cwd, "/", sizeof("/"));
	SET_BYTES(argv, "true");
	SET_BYTES(environment, "PATH=/usr/bin:/bin");
}

static void stop_observing(void)
{
	observe_begin(&workload.observed, -1);
}

TestSuite(observe, .init = prepare, .fini = stop_observing, .timeout = 60);

/* Its environment is the process's own until it executes; Criterion wants this one back. With
 * `output` as all of its standard streams. */
static int start(int output)
{
	char **const own = environ;
	int error;

	stop_observing();
	for (int fd = 0; fd < 3; fd++)
		spawn.stdio[fd] = fcntl(output, F_DUPFD_CLOEXEC, 3);
	error = spawn_start(&init, &spawn, &request, &workload, &stage);
	environ = own;
	spawn_done(&spawn);
	return error;
}

static int start_silently(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int error = start(null);

	fd_close(&null);
	return error;
}

/* Answer until it ends, as the init does. */
static void answer_until_it_ends(void)
{
	while (waitpid(workload.pid, &status, WNOHANG) == 0) {
		struct pollfd entry = { .fd = workload.observed.listener, .events = POLLIN };

		cr_assert_geq(poll(&entry, 1, 10), 0);
		observe_answer(&workload.observed, &init, entry.revents);
	}
}

static void take_report(struct denials *ret)
{
	struct ipc_spawn_done done = { .slot = 0 };

	observe_report(&workload.observed, &done);
	cr_assert(denials_take(ret, done.denials, done.denials_size));
}

Test(observe, what_is_refused_is_counted)
{
	struct denials denials;

	SHELL("sync; sync; exec sync");
	cr_assert_eq(start_silently(), 0, "%s", stage_text(stage));
	cr_assert_geq(workload.observed.listener, 0);
	cr_assert_eq(fcntl(workload.observed.listener, F_GETFD), FD_CLOEXEC);
	answer_until_it_ends();
	cr_assert(WIFEXITED(status));
	take_report(&denials);
	cr_assert_eq(denials.size, sizeof(denials.records[0]));
	cr_expect_eq(denials.records[0].layer, DENIAL_SECCOMP);
	cr_expect_eq(denials.records[0].number, SYS_sync);
	cr_expect_eq(denials.records[0].count, 3);
	cr_expect_neq(denials.records[0].pid, workload.pid, "the shell's child was the first");
	observe_begin(&workload.observed, -1);
	take_report(&denials);
	cr_expect_eq(denials.size, 0, "another execution begins with nothing");
}

Test(observe, where_the_profile_does_not_say_so_nothing_is)
{
	hand_plan.profile.observes = 0;
	cr_assert_eq(start_silently(), 0, "%s", stage_text(stage));
	cr_expect_eq(workload.observed.listener, -1);
	cr_assert_eq(waitpid(workload.pid, &status, 0), workload.pid);
	cr_expect_eq(status, 0);
}

Test(observe, a_filters_end_ends_it)
{
	struct pollfd entry = { .events = POLLIN };

	cr_assert_eq(start_silently(), 0, "%s", stage_text(stage));
	entry.fd = observe_fd(&workload.observed);
	cr_assert_geq(entry.fd, 0);
	cr_assert_eq(waitpid(workload.pid, &status, 0), workload.pid);
	cr_assert_eq(poll(&entry, 1, 10000), 1);
	cr_assert_not(entry.revents & POLLIN);
	observe_answer(&workload.observed, &init, entry.revents);
	cr_expect_eq(observe_fd(&workload.observed), -1);
	observe_begin(&workload.observed, -1);
	cr_expect_eq(workload.observed.listener, -1);
}

Test(observe, the_workload_has_its_standard_streams_alone)
{
	char output[64] = "";
	int ends[2];

	SET_BYTES(argv, "ls\0/proc/self/fd");
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(start(ends[1]), 0, "%s", stage_text(stage));
	fd_close(&ends[1]);
	cr_assert_eq(waitpid(workload.pid, &status, 0), workload.pid);
	cr_assert_gt(read(ends[0], output, sizeof(output) - 1), 0);
	cr_expect_str_eq(output, "0\n1\n2\n3\n"); /* the last is that folder */
	cr_expect_geq(workload.observed.listener, 0);
	fd_close(&ends[0]);
}

Test(observe, a_start_that_fails_leaves_nothing)
{
	const size_t before = fd_count_open();

	SET_BYTES(argv, "no-such-program");
	cr_expect_eq(start_silently(), -ENOENT);
	cr_expect_eq(stage, STAGE_EXEC);
	cr_expect_eq(workload.observed.listener, -1);
	cr_expect_eq(fd_count_open(), before);
}

Test(observe, without_room_for_a_listener_nothing_starts)
{
	struct rlimit limit, none;
	int output = open("/dev/null", O_RDWR | O_CLOEXEC);
	int error;

	for (int fd = 0; fd < 3; fd++)
		spawn.stdio[fd] = fcntl(output, F_DUPFD_CLOEXEC, 3);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = limit.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	error = spawn_start(&init, &spawn, &request, &workload, &stage);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	spawn_done(&spawn);
	fd_close(&output);
	cr_expect_eq(error, -EMFILE);
	cr_expect_eq(stage, STAGE_LISTENER);
	cr_expect_eq(workload.pid, 0);
}

Test(observe, a_listener_that_there_already_is_is_an_error)
{
	static const struct sock_filter none[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	int listener = seccomp_install_observed(none, 1);

	cr_assert_geq(listener, 0);
	cr_expect_eq(start_silently(), -EBUSY);
	cr_expect_eq(stage, STAGE_SECCOMP);
	cr_expect_eq(workload.observed.listener, -1);
	fd_close(&listener);
}
