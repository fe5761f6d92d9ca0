/* SPDX-License-Identifier: Apache-2.0
 *
 * A session in a child, with pipes for the caller's streams; this process plays the supervisor and
 * the caller. The child's exit code is what `msp run` would exit with.
 */
#include "ask/session.h"
#include "ask/signals.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"

struct rig {
	pid_t session;
	struct channel supervisor;
	int caller[3];   /* the caller's ends: stdin write, stdout read, stderr read */
	int workload[3]; /* the workload's ends: stdin read, stdout write, stderr write */
	struct channel_message message;
};

/* The session's exit code and the count of the first refusal of the network that it heard of. */
#define REFUSED 100

static struct rig rig;
static struct ipc_execution_start request;

static void run_session(int channel, int inside[3])
{
	const struct session_options options = { .limits = 0 };
	const struct outcome_request what = { .command = "x", .profile = "default" };
	struct outcome outcome;
	sigset_t before;
	int signals;

	(void)signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++)
		(void)dup2(inside[i], i);
	(void)syscall(SYS_close_range, 3, channel - 1, 0);
	(void)syscall(SYS_close_range, channel + 1, ~0U, 0);
	signals = signals_block(false, &before);
	outcome = session_run(&options, channel, signals, &request, &what);
	_exit(outcome.network.count > 0 ? REFUSED + (int)outcome.network.items[0].count
					: outcome_exit_code(&outcome));
}

static void make_streams(int ours[3], int theirs[3])
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
		ours[i] = ends[i == 0 ? 1 : 0];
		theirs[i] = ends[i == 0 ? 0 : 1];
	}
}

static void take(uint32_t type)
{
	enum ipc_error error = IPC_OK;

	cr_assert_eq(channel_receive(&rig.supervisor, &rig.message, 0, &error), 1, "%s",
		     ipc_error_text(error));
	cr_assert_eq(rig.message.type, type);
}

static void say(uint32_t type, const void *message, const int *fds)
{
	cr_assert_eq(channel_send(&rig.supervisor, type, message, fds, 0), 0);
}

/* Up to a started execution. */
static void begin(void)
{
	static struct ipc_welcome welcome = { .landlock_abi = 6, .default_profile = "default" };
	const struct ipc_execution_started started = { .request = 1 };
	int inside[3];
	int handed[3];
	int plan = fd_sealed_from_bytes("plan", "", 1);
	int ends[2];

	(void)alarm(20);
	memcpy(welcome.schema, ipc_schema_hash, sizeof(welcome.schema));
	(void)signal(SIGPIPE, SIG_IGN);
	request.request = 1;
	memcpy(request.profile, "default", 8);
	make_streams(rig.caller, inside);
	cr_assert_eq(channel_pair(ends), 0);
	rig.session = fork();
	if (rig.session == 0)
		run_session(ends[0], inside);
	(void)close(ends[0]);
	fd_close_all(inside, 3);
	rig.supervisor = (struct channel){ ends[1], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	take(IPC_TYPE_hello);
	say(IPC_TYPE_welcome, &welcome, &plan);
	fd_close(&plan);
	rig.supervisor.phase = IPC_SERVE;
	take(IPC_TYPE_execution_start);
	make_streams(handed, rig.workload);
	say(IPC_TYPE_execution_started, &started, handed);
	fd_close_all(handed, 3);
}

TestSuite(session, .init = begin);

static void done(uint32_t verdict, uint32_t exit_code)
{
	const struct ipc_execution_done report = { .request = 1,
						   .verdict = verdict,
						   .exit_code = exit_code };

	say(IPC_TYPE_execution_done, &report, NULL);
}

static int end_of_session(void)
{
	int status = 0;

	cr_assert_eq(waitpid(rig.session, &status, 0), rig.session);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_text(int fd, const char *expected)
{
	char text[64] = "";
	size_t used = 0;

	while (used < strlen(expected)) {
		const ssize_t got = read(fd, text + used, sizeof(text) - 1 - used);

		cr_assert_gt(got, 0, "waiting for '%s'", expected);
		used += (size_t)got;
	}
	cr_expect_str_eq(text, expected);
}

Test(session, streams_and_exit_code)
{
	cr_assert_eq(write(rig.caller[0], "in", 2), 2);
	expect_text(rig.workload[0], "in");
	cr_assert_eq(write(rig.workload[1], "out", 3), 3);
	expect_text(rig.caller[1], "out");
	cr_assert_eq(write(rig.workload[2], "err", 3), 3);
	expect_text(rig.caller[2], "err");
	fd_close_all(rig.workload, 3);
	done(VERDICT_EXITED, 42);
	cr_expect_eq(end_of_session(), 42);
}

Test(session, end_of_input_reaches_the_workload)
{
	char byte;

	fd_close(&rig.caller[0]);
	cr_expect_eq(read(rig.workload[0], &byte, 1), 0);
	fd_close_all(rig.workload, 3);
	done(VERDICT_EXITED, 0);
	cr_expect_eq(end_of_session(), 0);
}

Test(session, output_after_the_report_is_not_lost)
{
	done(VERDICT_EXITED, 0);
	(void)usleep(20000);
	cr_assert_eq(write(rig.workload[1], "late", 4), 4);
	fd_close_all(rig.workload, 3);
	expect_text(rig.caller[1], "late");
	cr_expect_eq(end_of_session(), 0);
}

Test(session, streams_may_end_before_the_report)
{
	fd_close_all(rig.workload, 3);
	(void)usleep(20000);
	done(VERDICT_EXITED, 3);
	cr_expect_eq(end_of_session(), 3);
}

Test(session, refusals_are_asked_for_where_there_are_some)
{
	const struct ipc_execution_done report = { .request = 1, .has_refusals = 1 };
	const struct ipc_network_denial denial = { .count = 3, .host = "a.example" };
	struct channel asker = { -1, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };

	fd_close_all(rig.workload, 3);
	say(IPC_TYPE_execution_done, &report, NULL);
	take(IPC_TYPE_network_watch);
	cr_expect_eq(ipc_body(&rig.message, network_watch)->request, 1);
	asker.fd = channel_take_fd(&rig.message, 0);
	cr_assert_eq(channel_send(&asker, IPC_TYPE_network_denial, &denial, NULL, 0), 0);
	fd_close(&asker.fd);
	cr_expect_eq(end_of_session(), REFUSED + 3);
}

Test(session, refusals_that_do_not_come_are_not_waited_for)
{
	const struct ipc_execution_done report = { .request = 1, .has_refusals = 1 };

	fd_close_all(rig.workload, 3);
	say(IPC_TYPE_execution_done, &report, NULL);
	take(IPC_TYPE_network_watch);
	cr_expect_eq(end_of_session(), 0);
}

Test(session, a_signal_ends_the_execution)
{
	(void)kill(rig.session, SIGTERM);
	take(IPC_TYPE_execution_end);
	cr_expect_eq(ipc_body(&rig.message, execution_end)->reason, (uint32_t)END_CANCELLED);
	fd_close_all(rig.workload, 3);
	done(VERDICT_CANCELLED, 0);
	cr_expect_eq(end_of_session(), 143);
}

Test(session, a_signal_is_enough_when_nobody_answers)
{
	(void)kill(rig.session, SIGINT);
	take(IPC_TYPE_execution_end);
	cr_expect_eq(end_of_session(), 130); /* after 200 ms */
}

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

Test(session, a_second_signal_does_not_wait)
{
	const double began = now();

	(void)kill(rig.session, SIGINT);
	take(IPC_TYPE_execution_end);
	(void)kill(rig.session, SIGTERM);
	cr_expect_eq(end_of_session(), 143);
	cr_expect_lt(now() - began, 0.19, "less than the wait for the report");
}

Test(session, nobody_reads_our_output)
{
	fd_close(&rig.caller[1]);
	cr_assert_eq(write(rig.workload[1], "x", 1), 1);
	take(IPC_TYPE_execution_end);
	fd_close_all(rig.workload, 3);
	done(VERDICT_CANCELLED, 0);
	cr_expect_eq(end_of_session(), 141);
}

Test(session, the_workload_does_not_read)
{
	static char much[300000];

	(void)fcntl(rig.caller[0], F_SETFL, O_NONBLOCK);
	cr_assert_gt(write(rig.caller[0], much, sizeof(much)), 0); /* the pipes fill up */
	cr_assert_eq(write(rig.workload[1], "out", 3), 3);
	expect_text(rig.caller[1], "out");
	fd_close(&rig.workload[0]);
	fd_close_all(rig.workload, 3);
	done(VERDICT_EXITED, 0);
	cr_expect_eq(end_of_session(), 0);
}

Test(session, the_supervisor_is_gone)
{
	fd_close_all(rig.workload, 3);
	fd_close(&rig.supervisor.fd);
	cr_expect_eq(end_of_session(), 125);
}

Test(session, a_refusal)
{
	static const struct ipc_execution_refused refused = { .request = 1,
							      .reason = REFUSAL_PROFILE_UNKNOWN,
							      .detail = "default" };

	say(IPC_TYPE_execution_refused, &refused, NULL);
	cr_expect_eq(end_of_session(), 64);
}

Test(session, broken_protocol)
{
	cr_assert_eq(send(rig.supervisor.fd, "nonsense", 8, 0), 8);
	cr_expect_eq(end_of_session(), 125);
}
