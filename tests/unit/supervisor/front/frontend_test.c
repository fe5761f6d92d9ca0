/* SPDX-License-Identifier: Apache-2.0
 *
 * Many frontends: each has its own requests, and the end of one is nothing to the others.
 */
#include "front/frontend.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "front/handlers.h"
#include "persistent/workspace.h"
#include "rig.h"
#include "run/execution.h"
#include "support.h"

static struct rig rig; /* its frontend is the first */
static struct channel other;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
	supervisor.is_service = true;
}

static void close_rig(void)
{
	fd_close(&other.fd);
	rig_close(&rig);
}

TestSuite(frontend, .init = open_rig, .fini = close_rig, .timeout = 60);

/* A connection to the service that has said nothing yet. */
static struct frontend *connect_other(void)
{
	struct frontend *frontend;
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	other = (struct channel){ ends[1], IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	frontend = frontend_add(ends[0], true, handlers_on_frontend);
	cr_assert_not_null(frontend);
	return frontend;
}

static void welcome_other(void)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	(void)connect_other();
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&other, IPC_TYPE_hello, &hello, NULL);
	(void)rig_take(&other, IPC_TYPE_welcome);
	other.phase = IPC_SERVE;
}

static struct rig_sandbox begin_other(uint64_t number)
{
	const struct rig as_other = { .frontend = other, .factory = rig.factory };

	return rig_begin(&as_other, number);
}

Test(frontend, two_may_use_the_same_number)
{
	struct rig_sandbox first = rig_begin(&rig, 1);
	struct rig_sandbox second;

	welcome_other();
	second = begin_other(1);
	cr_assert_neq(first.slot, second.slot);
	rig_send(&other, IPC_TYPE_execution_end, &(struct ipc_execution_end){ 1, END_CANCELLED },
		 NULL);
	(void)rig_take(&second.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&second.init, IPC_TYPE_spawn);
	(void)rig_take(&second.init, IPC_TYPE_spawn_kill);
	(void)rig_take(&first.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&first.init, IPC_TYPE_spawn);
	rig_take_nothing(&first.init);
	rig_end(&first);
	rig_end(&second);
}

Test(frontend, one_cannot_signal_what_another_asked_for)
{
	struct rig_sandbox first = rig_begin(&rig, 1);
	const struct ipc_execution_signal signal = { 1, SIGTERM };

	(void)rig_take(&first.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&first.init, IPC_TYPE_spawn);
	welcome_other();
	rig_send(&other, IPC_TYPE_execution_signal, &signal, NULL);
	rig_take_nothing(&first.init);
	rig_take_nothing(&other);
	rig_send(&rig.frontend, IPC_TYPE_execution_signal, &signal, NULL);
	(void)rig_take(&first.init, IPC_TYPE_spawn_signal);
	rig_end(&first);
}

Test(frontend, the_end_of_one_ends_what_it_asked_for_and_nothing_else)
{
	struct rig_sandbox first = rig_begin(&rig, 1);
	struct rig_sandbox second;
	const struct execution *execution;

	welcome_other();
	second = begin_other(1);
	rig_answer(&rig, &second);
	fd_close(&other.fd);
	rig_turn();
	cr_assert_not(supervisor.is_ending);
	cr_assert_eq(frontend_count(true), 1);
	execution = &supervisor.executions[second.slot];
	cr_assert_eq(execution->state, EXECUTION_ENDING);
	cr_assert_eq(execution->verdict, VERDICT_CLIENT_GONE);
	cr_assert_eq(supervisor.executions[first.slot].state, EXECUTION_LIVE);
	rig_report(&second, 9);
	cr_assert(rig_is_killed(&second));
	rig_turn();
	cr_assert_eq(execution->state, EXECUTION_FREE);
	rig_take_nothing(&rig.frontend);
	rig_end(&first);
	rig_end(&second);
}

Test(frontend, a_breach_of_one_is_nothing_to_the_others)
{
	welcome_other();
	cr_assert_eq(send(other.fd, "nonsense", 8, MSG_NOSIGNAL), 8);
	rig_turn();
	rig_take_end(&other);
	cr_assert_not(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, 0);
	rig_take_nothing(&rig.frontend);
}

Test(frontend, the_table_has_an_end)
{
	int ends[2];

	for (size_t i = 1; i < FRONTENDS_MAX; i++) {
		cr_assert_eq(channel_pair(ends), 0);
		cr_assert_not_null(frontend_add(ends[0], true, handlers_on_frontend));
		/* the test's end stays open until its own end */
	}
	cr_assert_eq(frontend_count(true), FRONTENDS_MAX);
	cr_assert_eq(channel_pair(ends), 0);
	const size_t before = fd_count_open();
	cr_assert_null(frontend_add(ends[0], true, handlers_on_frontend));
	cr_assert_eq(fd_count_open(), before - 1, "what cannot be served is closed");
	fd_close(&ends[1]);
}

/* --- a client that is handed over --- */

static void hand_over(uint32_t limits)
{
	struct ipc_client_start start = { .limits = limits };
	int fds[3] = { fd_of_kind('p'), fd_of_kind('p'), fd_of_kind('p') };

	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	rig_send(&other, IPC_TYPE_client_start, &start, fds);
	fd_close_all(fds, 3);
}

struct broker {
	uint32_t slot;
	struct channel channel;
};

static struct broker take_broker(void)
{
	struct channel_message *message = rig_take(&rig.factory, IPC_TYPE_helper_start);
	struct broker broker = { ipc_body(message, helper_start)->slot,
				 { message->fds[3], IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP } };

	message->fds[3] = -1;
	return broker;
}

static void answer_broker(uint32_t slot, struct rig_sandbox *process)
{
	const struct ipc_helper_started started = { .slot = slot };
	int pidfd;

	process->pid = rig_process();
	pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	cr_assert_geq(pidfd, 0);
	rig_send(&rig.factory, IPC_TYPE_helper_started, &started, &pidfd);
	fd_close(&pidfd);
}

static void take_client_end(enum client_end_reason reason)
{
	cr_assert_eq(rig_body(&other, client_end)->reason, reason);
	rig_take_end(&other);
}

/* A client, and its broker, which has its welcome. */
static struct broker open_broker(struct rig_sandbox *process)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };
	struct broker broker;

	hand_over(LIMITS_FALLBACK);
	cr_assert_eq(rig_body(&other, client_started)->limits, LIMITS_FALLBACK);
	broker = take_broker();
	cr_assert_eq(broker.slot, BROKER_SLOT + 1);
	answer_broker(broker.slot, process);
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&broker.channel, IPC_TYPE_hello, &hello, NULL);
	(void)rig_take(&broker.channel, IPC_TYPE_welcome);
	broker.channel.phase = IPC_SERVE;
	return broker;
}

static void serve_one_client(bool says_goodbye)
{
	const struct frontend *frontend = connect_other();
	struct rig_sandbox process = { .stdio = { -1, -1, -1 }, .init.fd = -1 };
	struct broker broker = open_broker(&process);

	cr_assert_eq(frontend->state, FRONTEND_OPEN);
	if (says_goodbye)
		rig_send(&broker.channel, IPC_TYPE_goodbye, &(struct ipc_goodbye){ 0 }, NULL);
	fd_close(&broker.channel.fd);
	rig_turn();
	take_client_end(says_goodbye ? CLIENT_END_DONE : CLIENT_END_FAILED);
	cr_assert_neq(frontend->state, FRONTEND_OPEN);
	cr_assert(rig_is_killed(&process));
	rig_turn();
	cr_assert_eq(frontend->state, FRONTEND_FREE);
	cr_assert_not(supervisor.is_ending);
}

Test(frontend, a_client_gets_a_broker_which_asks_in_its_place)
{
	serve_one_client(true);
}

Test(frontend, a_broker_that_ends_without_a_word_has_failed)
{
	serve_one_client(false);
}

static void bring_workspaces(uint32_t count)
{
	int fd = fd_of_kind('o');

	for (uint32_t i = 0; i < count; i++)
		rig_send(&other, IPC_TYPE_client_workspace, &(struct ipc_client_workspace){ 0 },
			 &fd);
	fd_close(&fd);
}

Test(frontend, what_a_client_brings_is_said_to_the_opener_until_it_ends)
{
	struct frontend *frontend = connect_other();
	struct channel opener = { -1, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
	static struct ipc_workspace_ask ask = { .path = "/project" };
	struct rig_sandbox process = { .stdio = { -1, -1, -1 }, .init.fd = -1 };
	const size_t before = fd_count_open();
	struct broker broker;
	int ends[2];

	bring_workspaces(CLIENT_WORKSPACES_MAX);
	cr_assert_eq(fd_count_open(), before + CLIENT_WORKSPACES_MAX);
	broker = open_broker(&process);
	cr_assert_eq(channel_pair(ends), 0);
	supervisor.launcher = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	opener.fd = ends[1];
	cr_assert_eq(launcher_ask(frontend, IPC_TYPE_workspace_ask, &ask), 0);
	for (uint32_t i = 0; i < CLIENT_WORKSPACES_MAX; i++)
		cr_expect_eq(rig_body(&opener, workspace_within)->is_start, 0);
	(void)rig_take(&opener, IPC_TYPE_workspace_ask);
	cr_assert_eq(launcher_ask(&supervisor.frontends[0], IPC_TYPE_workspace_ask, &ask), 0);
	(void)rig_take(&opener, IPC_TYPE_workspace_ask);
	fd_close(&supervisor.launcher.fd);
	rig_take_end(&opener);
	fd_close(&opener.fd);
	fd_close(&broker.channel.fd);
	rig_turn();
	take_client_end(CLIENT_END_FAILED);
	cr_expect_eq(frontend->workspace_count, 0);
}

Test(frontend, a_client_that_brings_too_much_is_ended)
{
	const struct frontend *frontend = connect_other();
	const size_t before = fd_count_open();

	bring_workspaces(CLIENT_WORKSPACES_MAX + 1);
	cr_expect_neq(frontend->state, FRONTEND_OPEN);
	rig_take_end(&other);
	cr_expect_leq(fd_count_open(), before, "what it brought is closed");
}

/* All of it is there when the supervisor looks, and nobody can be told of the execution. */
Test(frontend, a_goodbye_is_read_behind_a_request)
{
	struct rig_sandbox process = { .stdio = { -1, -1, -1 }, .init.fd = -1 };
	struct broker broker;

	(void)connect_other();
	broker = open_broker(&process);
	cr_assert_eq(channel_send(&broker.channel, IPC_TYPE_execution_start, rig_request(1), NULL,
				  MSG_DONTWAIT),
		     0);
	cr_assert_eq(channel_send(&broker.channel, IPC_TYPE_goodbye, &(struct ipc_goodbye){ 0 },
				  NULL, MSG_DONTWAIT),
		     0);
	fd_close(&broker.channel.fd);
	rig_turn();
	take_client_end(CLIENT_END_DONE);
	cr_assert(rig_is_killed(&process));
}

Test(frontend, a_client_that_goes_takes_its_broker_along)
{
	const struct frontend *frontend = connect_other();
	struct rig_sandbox process = { .stdio = { -1, -1, -1 }, .init.fd = -1 };
	struct broker broker;

	hand_over(LIMITS_FALLBACK);
	broker = take_broker();
	fd_close(&other.fd);
	rig_turn();
	rig_take_end(&broker.channel);
	cr_assert_eq(frontend->state, FRONTEND_CLOSED, "the factory has not answered");
	answer_broker(broker.slot, &process);
	cr_assert(rig_is_killed(&process));
	rig_turn();
	cr_assert_eq(frontend->state, FRONTEND_FREE);
	fd_close(&broker.channel.fd);
}

Test(frontend, a_broker_that_cannot_be_started_is_the_end_of_its_client_alone)
{
	struct broker broker;

	(void)connect_other();
	hand_over(LIMITS_FALLBACK);
	(void)rig_take(&other, IPC_TYPE_client_started);
	broker = take_broker();
	rig_fail(&rig, broker.slot, STAGE_BASE, ENOENT);
	take_client_end(CLIENT_END_FAILED);
	cr_assert_not(supervisor.is_ending);
	cr_assert_eq(supervisor.frontends[1].state, FRONTEND_FREE);
	fd_close(&broker.channel.fd);
}

Test(frontend, weaker_limits_than_the_client_accepts_are_said)
{
	(void)connect_other();
	hand_over(LIMITS_CGROUP);
	cr_assert_eq(rig_body(&other, client_end)->reason, CLIENT_END_LIMITS);
	rig_take_nothing(&rig.factory);
	cr_assert_eq(supervisor.frontends[1].state, FRONTEND_FREE);
}

Test(frontend, what_a_hello_asks_for_with_better_limits_is_not_begun)
{
	static struct ipc_execution_start start = { .request = 1 };
	struct ipc_hello hello = { .limits = LIMITS_CGROUP };

	(void)connect_other();
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	cr_assert_eq(channel_send(&other, IPC_TYPE_hello, &hello, NULL, 0), 0);
	other.phase = IPC_SERVE;
	cr_assert_eq(channel_send(&other, IPC_TYPE_execution_start, &start, NULL, 0), 0);
	other.phase = IPC_SETUP;
	rig_turn();
	cr_assert_eq(rig_body(&other, client_end)->reason, CLIENT_END_LIMITS);
	rig_take_nothing(&rig.factory);
	cr_assert_eq(supervisor.executions_started, 0);
	cr_assert_eq(supervisor.frontends[1].state, FRONTEND_FREE);
}

Test(frontend, a_broker_cannot_hand_over)
{
	struct rig_sandbox process = { .stdio = { -1, -1, -1 }, .init.fd = -1 };
	struct broker broker;

	(void)connect_other();
	hand_over(LIMITS_FALLBACK);
	(void)rig_take(&other, IPC_TYPE_client_started);
	broker = take_broker();
	answer_broker(broker.slot, &process);
	fd_close(&other.fd);
	other = broker.channel;
	hand_over(LIMITS_FALLBACK);
	rig_take_end(&other);
	rig_take_nothing(&rig.factory);
	cr_assert(rig_is_killed(&process));
}

Test(frontend, a_second_hand_over_is_a_breach)
{
	struct broker broker;

	(void)connect_other();
	hand_over(LIMITS_FALLBACK);
	(void)rig_take(&other, IPC_TYPE_client_started);
	broker = take_broker();
	hand_over(LIMITS_FALLBACK);
	rig_take_end(&broker.channel);
	rig_take_nothing(&rig.factory);
	fd_close(&broker.channel.fd);
}

Test(frontend, an_answer_about_a_broker_that_nobody_asked_for_is_a_breach)
{
	rig_fail(&rig, BROKER_SLOT, STAGE_BASE, ENOENT);
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SOFTWARE);
}

Test(frontend, without_a_service_its_broker_is_all_there_is)
{
	struct broker broker;

	supervisor.is_service = false;
	(void)connect_other();
	hand_over(LIMITS_FALLBACK);
	(void)rig_take(&other, IPC_TYPE_client_started);
	broker = take_broker();
	rig_fail(&rig, broker.slot, STAGE_BASE, ENOENT);
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SANDBOX);
	fd_close(&broker.channel.fd);
}

Test(frontend, at_our_end_each_is_told)
{
	struct rig_sandbox running = rig_begin(&rig, 1);
	struct broker broker;

	(void)connect_other();
	hand_over(LIMITS_FALLBACK);
	(void)rig_take(&other, IPC_TYPE_client_started);
	broker = take_broker();
	execution_report_stop();
	frontend_let_all_go();
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_CANCELLED);
	rig_take_end(&rig.frontend);
	rig_take_end(&broker.channel);
	cr_assert_eq(rig_body(&other, client_end)->reason, CLIENT_END_STOPPING);
	fd_close(&broker.channel.fd);
	rig_end(&running);
}

/* Requests wait in the frontend's own channel, and none is lost. */
Test(frontend, nobody_is_heard_while_the_factory_is_behind)
{
	const uint64_t count = 3 * STARTS_MAX;
	uint64_t started = 0;
	uint64_t answered = 0;

	supervisor.executions_max = (uint32_t)count;
	while (answered < count) {
		struct channel_message *message;

		for (; started < count; started++) {
			if (channel_send(&rig.frontend, IPC_TYPE_execution_start,
					 rig_request(started), NULL, MSG_DONTWAIT) != 0)
				break;
		}
		for (int i = 0; i < 3 * STARTS_MAX; i++)
			rig_turn();
		cr_assert_leq(supervisor.starts_pending, STARTS_MAX);
		cr_assert(supervisor.is_holding || started == count);
		/* The factory answers one: that there is no room for it. */
		message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
		rig_fail(&rig, ipc_body(message, sandbox_create)->slot, STAGE_BASE, ENOSPC);
		answered++;
		for (;;) {
			enum ipc_error wrong;
			struct channel_message said;
			const int result =
				channel_receive(&rig.frontend, &said, MSG_DONTWAIT, &wrong);

			if (result != 1)
				break;
			cr_assert_neq(said.type, IPC_TYPE_execution_refused);
			channel_message_done(&said);
		}
	}
	cr_assert_eq(supervisor.executions_started, count);
	cr_assert_eq(supervisor.executions_live, 0);
}
