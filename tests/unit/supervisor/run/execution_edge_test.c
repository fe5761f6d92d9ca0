/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions where something is full, missing, at its end, or never was asked for.
 */
#include "run/execution.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/refusal.h"
#include "rig.h"
#include "support.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(execution_edge, .init = open_rig, .fini = close_rig, .timeout = 60);

/* Fewer than may wait for the factory. */
#define MOST 32

Test(execution_edge, there_is_a_most)
{
	static struct rig_sandbox sandboxes[MOST];
	const uint64_t more = MOST;
	struct rig_sandbox again;

	supervisor.executions_max = MOST;
	for (uint32_t i = 0; i < MOST; i++) {
		sandboxes[i] = rig_begin(&rig, i);
		cr_assert_eq(sandboxes[i].slot, i);
		fd_close_all(sandboxes[i].stdio, 3);
	}
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(more), NULL);
	rig_take_refused(&rig, more, REFUSAL_BUSY);
	rig_take_nothing(&rig.factory);
	rig_fail(&rig, 5, STAGE_BASE, ENOSPC);
	(void)rig_take_done(&rig, 5);
	again = rig_begin(&rig, more);
	cr_assert_eq(again.slot, 5);
	rig_end(&again);
	for (uint32_t i = 0; i < MOST; i++)
		fd_close(&sandboxes[i].init.fd);
}

Test(execution_edge, what_cannot_be_started_is_refused_and_leaves_nothing)
{
	const size_t before = fd_count_open();
	struct rlimit limit;
	struct rlimit full;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	full = limit;
	full.rlim_cur = (rlim_t)dup(0) + 2; /* room for one pipe, not for three */
	cr_assert_eq(close((int)full.rlim_cur - 2), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &full), 0);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_eq(fd_count_open(), before);
	cr_assert_null(execution_find(RIG_FRONTEND, 7));
	rig_take_refused(&rig, 7, REFUSAL_RESOURCES);
	rig_take_nothing(&rig.factory);
	cr_assert_not(supervisor.is_ending);
}

Test(execution_edge, a_factory_that_takes_nothing_more_is_no_end)
{
	const int least = 0;
	int count = 0;

	cr_assert_eq(
		setsockopt(supervisor.factory.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
	for (; count < EXECUTIONS_DEFAULT; count++) {
		rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request((uint64_t)count),
			 NULL);
		(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
		rig_release();
		if (!execution_find(RIG_FRONTEND, (uint64_t)count))
			break;
	}
	cr_assert_lt(count, EXECUTIONS_DEFAULT, "its channel was never full");
	rig_take_internal(&rig, (uint64_t)count, STAGE_CLONE, EAGAIN);
	cr_assert_not(supervisor.is_ending);
}

/* The frontend reads nothing any more: its channel is full, which breaks the protocol. */
Test(execution_edge, a_frontend_that_does_not_read_is_ended)
{
	for (int i = 0; i < 5000 && !supervisor.is_ending; i++) {
		struct ipc_execution_start *request = rig_request(7);

		memcpy(request->profile, "unknown", sizeof("unknown"));
		rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	}
	cr_assert(supervisor.is_ending);
}

static void expect_breach(void)
{
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SOFTWARE);
	rig_take_end(&rig.factory);
}

Test(execution_edge, an_answer_that_nobody_asked_for_is_a_breach)
{
	rig_fail(&rig, 3, STAGE_BASE, ENOENT);
	expect_breach();
}

Test(execution_edge, an_answer_for_a_slot_beyond_the_table_is_a_breach)
{
	rig_fail(&rig, BROKER_SLOT + FRONTENDS_MAX, STAGE_BASE, ENOENT);
	expect_breach();
}

Test(execution_edge, an_init_that_nobody_asked_for_is_a_breach)
{
	const size_t before = fd_count_open();
	struct rig_sandbox sandbox = { .slot = 3, .stdio = { -1, -1, -1 }, .init.fd = -1 };

	rig_answer(&rig, &sandbox);
	expect_breach();
	cr_assert_eq(fd_count_open(), before - 1, "the pidfd and the channel are closed");
	rig_end(&sandbox);
}

Test(execution_edge, a_second_answer_is_a_breach)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	struct rig_sandbox twice = sandbox;

	rig_answer(&rig, &sandbox);
	cr_assert_not(supervisor.is_ending);
	rig_answer(&rig, &twice);
	expect_breach();
	twice.init.fd = twice.stdio[0] = twice.stdio[1] = twice.stdio[2] = -1;
	rig_end(&sandbox);
	rig_end(&twice);
}

Test(execution_edge, ending_all_kills_without_reports)
{
	struct rig_sandbox running = rig_begin(&rig, 1);
	struct rig_sandbox asked = rig_begin(&rig, 2);

	rig_answer(&rig, &running);
	cr_assert_not(execution_end_all(), "the inits are not gone yet");
	cr_assert(rig_is_killed(&running));
	rig_turn();
	cr_assert_not(execution_end_all(), "an init may still come");
	rig_answer(&rig, &asked);
	cr_assert(rig_is_killed(&asked));
	rig_turn();
	cr_assert(execution_end_all());
	rig_take_nothing(&rig.frontend);
	rig_end(&running);
	rig_end(&asked);
}

Test(execution_edge, ending_all_does_not_wait_for_a_factory_that_is_gone)
{
	struct rig_sandbox asked = rig_begin(&rig, 1);

	fd_close(&rig.factory.fd);
	rig_turn();
	cr_assert(supervisor.is_ending);
	cr_assert(execution_end_all());
	rig_end(&asked);
}

Test(execution_edge, a_terminal_whose_profile_says_none_has_no_clock)
{
	struct ipc_execution_start *request = rig_request(7);
	struct rig_sandbox sandbox = { .request = 7, .stdio = { -1, -1, -1 } };
	struct channel_message *message;
	struct execution *execution;

	small_plan.profiles[0].wall_terminal_ms = PLAN_WALL_NONE;
	request->use_tty = 1;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(&rig, &sandbox);
	execution = execution_find(RIG_FRONTEND, 7);
	cr_assert_not_null(execution);
	cr_expect_eq(execution->deadline_us, UINT64_MAX);
	cr_expect_eq(execution_left_ms(execution), 0U);
	cr_expect_eq(execution_extend(execution, 1000), 0U, "it has more than that");
	cr_expect_eq(execution->deadline_us, UINT64_MAX);
	cr_expect_eq(execution_deadline_us(), UINT64_MAX);
	cr_expect_eq(execution_longest_wait_ms(), 0U);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	execution_kill(execution, VERDICT_CANCELLED);
	cr_assert_eq(rig_body(&sandbox.init, spawn_kill)->slot, 0);
	cr_expect_lt(execution->deadline_us, UINT64_MAX, "the grace is bounded");
	rig_report(&sandbox, SIGKILL);
	(void)rig_take_done(&rig, 7);
	rig_end(&sandbox);
}
