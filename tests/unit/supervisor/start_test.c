/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launcher must say before anything is started. Each start runs in a child, whose exit code
 * is the outcome.
 */
#include "start.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit_peer.h"
#include "base/audit.h"
#include "common/fd.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/kernel.h"
#include "rig.h"
#include "support.h"

/* A user without any rights, for tests that are started by root. */
#define NOBODY 65534

/* What the child's last check found, when the start succeeded. */
#define STARTED 0
#define WRONG 1

static struct channel launcher;
static int supervisor_end;
static struct small_plan changed;
static uint32_t frontend_mode = FRONTEND_LAUNCHER;
static uint32_t executions = EXECUTIONS_DEFAULT;
static const char *default_profile = "";
static uint32_t default_index;
static uint32_t is_expected;
static uint8_t schema_change;

static char audit_place[] = "/tmp/msp-test-XXXXXX";
static bool is_audited = true;

static void open_channel(void)
{
	struct plan plan;
	int ends[2];

	cr_assert(mkdtemp(audit_place));
	cr_assert(geteuid() != 0 || chown(audit_place, NOBODY, NOBODY) == 0);

	cr_assert_eq(channel_pair(ends), 0);
	launcher = (struct channel){ ends[0], IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
	supervisor_end = ends[1];
	small_plan_open(&plan);
	changed = small_plan;
}

static void remove_place(void)
{
	static const char *const names[] = { "audit.jsonl", "head" };
	char path[64];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", audit_place, names[i]);
		(void)unlink(path); /* a refused start made none */
	}
	(void)rmdir(audit_place);
}

TestSuite(start, .init = open_channel, .fini = remove_place, .timeout = 60);

static void say(uint32_t type, const void *message, const int *fds)
{
	cr_assert_eq(channel_send(&launcher, type, message, fds, 0), 0);
}

/* A program that runs until it is killed is enough of a factory. It is this process's child, at the
 * places where the launcher puts it. */
static pid_t start_factory(void)
{
	int fds[3] = { supervisor_end, -1, -1 };
	static const int places[] = { START_FD_LAUNCHER, START_FD_FACTORY, START_FD_FACTORY_PIDFD };
	int ends[2];
	pid_t pid;

	if (channel_pair(ends) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)execl("/usr/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(WRONG);
	}
	fds[1] = ends[0];
	fds[2] = kernel_pidfd_open(pid);
	return fd_place(fds, places, 3, 0) == 0 ? pid : -1;
}

static void say_start(const void *plan, size_t size, uint32_t limits)
{
	struct ipc_supervisor_start start = { .frontend = frontend_mode,
					      .limits = limits,
					      .executions = executions };
	int fd = fd_sealed_from_bytes("plan", plan, size);

	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	start.schema[0] ^= schema_change;
	strncpy(start.default_profile, default_profile, sizeof(start.default_profile) - 1);
	say(IPC_TYPE_supervisor_start, &start, &fd);
	fd_close(&fd);
}

static void say_audit(void)
{
	struct ipc_supervisor_audit audit = { "" };
	struct audit_peer peer = audit_peer_start(audit_place);

	(void)snprintf(audit.path, sizeof(audit.path), "%s", audit_place);
	say(IPC_TYPE_supervisor_audit, &audit, &peer.channel);
	fd_close(&peer.channel);
}

static void say_run(uint32_t pins)
{
	if (is_audited)
		say_audit();
	say(IPC_TYPE_supervisor_run,
	    &(struct ipc_supervisor_run){ .pins = pins, .is_expected = is_expected }, NULL);
}

static void say_pins(uint32_t count)
{
	int fd = fd_of_kind('o');

	for (uint32_t i = 0; i < count; i++)
		say(IPC_TYPE_supervisor_pin, &(struct ipc_supervisor_pin){ 0, i }, &fd);
	fd_close(&fd);
}

/* What a start that is refused leaves of its factory ends by itself in the product. */
static pid_t *group;

static int start(void *is_root)
{
	struct start start;
	pid_t factory;

	if (setpgid(0, 0) != 0)
		return WRONG;
	*group = getpid();

	if (!is_root && geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
	     setresuid(NOBODY, NOBODY, NOBODY) != 0))
		return WRONG;
	factory = start_factory();
	if (factory < 0)
		return WRONG;
	if (loop_open() != 0)
		return WRONG;
	start_supervisor(&start);
	audit_await_start(NULL);
	if (supervisor.is_for_one != (is_expected != 0))
		return WRONG;
	if (kernel_pidfd_send_signal(supervisor.factory_pidfd, SIGKILL) != 0 ||
	    waitpid(factory, NULL, 0) != factory)
		return WRONG;
	if (supervisor.limits != LIMITS_FALLBACK || supervisor.cgroup != -1 ||
	    supervisor.factory.phase != IPC_SERVE || start.frontend != frontend_mode ||
	    supervisor.executions_max != executions || supervisor.default_profile != default_index)
		return WRONG;
	return start.policy < 0 ? STARTED : WRONG;
}

static int outcome_as(bool is_root)
{
	int status;

	fd_close(&launcher.fd); /* what was said waits in the channel */
	group = mmap(NULL, sizeof(*group), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	cr_assert_neq(group, MAP_FAILED);
	status = run_forked(start, is_root ? &launcher : NULL);
	(void)kill(-*group, SIGKILL); /* ESRCH: nothing was left */
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int outcome(void)
{
	return outcome_as(false);
}

static int outcome_of_plan(void)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_run(0);
	return outcome();
}

Test(start, a_launcher_that_says_everything)
{
	cr_assert_eq(outcome_of_plan(), STARTED);
}

Test(start, without_a_place_for_what_lasts)
{
	static const struct ipc_supervisor_stateless missing = { "there is no room" };

	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say(IPC_TYPE_supervisor_stateless, &missing, NULL);
	say_run(0);
	cr_assert_eq(outcome(), STARTED);
}

Test(start, a_default_profile_of_the_launchers)
{
	default_profile = "strict";
	default_index = 1;
	cr_assert_eq(outcome_of_plan(), STARTED);
}

Test(start, what_is_expected_is_prepared)
{
	is_expected = 1;
	cr_assert_eq(outcome_of_plan(), STARTED);
}

Test(start, a_default_profile_of_the_plans)
{
	changed.header.default_profile = changed.profiles[1].name;
	default_index = 1;
	cr_assert_eq(outcome_of_plan(), STARTED);
}

Test(start, a_default_profile_that_is_not_there)
{
	default_profile = "stricter";
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, a_default_profile_of_a_helper)
{
	default_profile = "_helper";
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, a_launcher_that_goes_away)
{
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, a_launcher_that_stops_halfway)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, running_without_a_start)
{
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, another_protocol)
{
	schema_change = 1;
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, two_starts)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, pins_are_counted)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_pins(1);
	say_run(2);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, pins_are_passed)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_pins(PINS_MAX);
	say_run(PINS_MAX);
	cr_assert_eq(outcome(), STARTED);
}

Test(start, there_is_a_most_of_pins)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_pins(PINS_MAX + 1);
	say_run(PINS_MAX + 1);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}

Test(start, root_is_refused)
{
	if (geteuid() != 0)
		cr_skip("not started by root");
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_run(0);
	cr_assert_eq(outcome_as(true), MSP_EXIT_REFUSED);
}

Test(start, a_plan_that_is_none_is_refused)
{
	changed.header.version++;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, a_kernel_that_is_too_old_for_one_profile_is_refused)
{
	changed.profiles[1].landlock_abi_min = 1000;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, weaker_limits_must_be_accepted)
{
	say_start(&changed, sizeof(changed), LIMITS_CGROUP);
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_REFUSED);
}

Test(start, weaker_limits_must_be_accepted_by_every_profile)
{
	changed.profiles[0].limits_fallback = changed.profiles[1].limits_fallback = 1;
	say_start(&changed, sizeof(changed), LIMITS_CGROUP);
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_REFUSED);
}

Test(start, the_operators_policy_can_accept_weaker_limits)
{
	for (int i = 0; i < SMALL_PROFILES; i++)
		changed.profiles[i].limits_fallback = 1;
	say_start(&changed, sizeof(changed), LIMITS_CGROUP);
	say_run(0);
	cr_assert_eq(outcome(), STARTED);
}

Test(start, what_cannot_be_audited_is_refused)
{
	is_audited = false;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, the_operators_policy_can_do_without_an_audit)
{
	is_audited = false;
	changed.header.audit_optional = 1;
	cr_assert_eq(outcome_of_plan(), STARTED);
}

Test(start, a_log_that_is_no_file_is_refused)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/audit.jsonl", audit_place);
	is_expected = 1; /* what may only list has no record yet */
	cr_assert_eq(mkfifo(path, 0666), 0);
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, a_log_that_is_a_link_is_refused)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/audit.jsonl", audit_place);
	is_expected = 1;
	cr_assert_eq(symlink("/dev/null", path), 0);
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_REFUSED);
}

Test(start, a_budget_of_nothing)
{
	executions = 0;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_SOFTWARE);
}

Test(start, a_budget_beyond_the_table)
{
	executions = EXECUTIONS_MAX + 1;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_SOFTWARE);
}

Test(start, a_service_needs_its_socket)
{
	frontend_mode = FRONTEND_SERVICE;
	cr_assert_eq(outcome_of_plan(), MSP_EXIT_SOFTWARE);
}

static void say_listen(void)
{
	int fd = fd_of_kind('s');

	say(IPC_TYPE_supervisor_listen, &(struct ipc_supervisor_listen){ 0 }, &fd);
	fd_close(&fd);
}

Test(start, a_service_with_its_socket)
{
	frontend_mode = FRONTEND_SERVICE;
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_listen();
	say_run(0);
	cr_assert_eq(outcome(), STARTED);
}

Test(start, only_a_service_has_a_socket)
{
	say_start(&changed, sizeof(changed), LIMITS_FALLBACK);
	say_listen();
	say_run(0);
	cr_assert_eq(outcome(), MSP_EXIT_SOFTWARE);
}
