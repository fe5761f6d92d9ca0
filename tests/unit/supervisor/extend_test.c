/* SPDX-License-Identifier: Apache-2.0
 *
 * More time for an execution that runs.
 */
#include "run/execution.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
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

TestSuite(extend, .init = open_rig, .fini = close_rig, .timeout = 60);

static uint64_t extend(uint32_t wall_ms)
{
	const struct ipc_execution_extend message = { 7, wall_ms };
	const struct ipc_execution_extended *answer;

	rig_send(&rig.frontend, IPC_TYPE_execution_extend, &message, NULL);
	answer = rig_body(&rig.frontend, execution_extended);
	cr_assert_eq(answer->request, 7);
	return answer->wall_ms;
}

/* The plan has 30 s, and 60 at most. execution_test's over_its_time_it_is_killed is the control. */
Test(extend, its_time_can_be_extended)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	uint64_t left;

	left = extend(45000);
	cr_assert(left > 44000 && left <= 45000, "%lu", left);
	left = extend(1);
	cr_assert(left > 44000 && left <= 45000, "it is not shortened: %lu", left);
	left = extend(UINT32_MAX);
	cr_assert(left > 59000 && left <= 60000, "counted from its start: %lu", left);
	rig_end(&sandbox);
}

Test(extend, an_extended_one_outlives_its_first_limit)
{
	struct ipc_execution_start *request = rig_request(7);
	struct rig_sandbox sandbox = { .request = 7, .stdio = { -1, -1, -1 } };
	struct channel_message *message;

	request->timeout_ms = 60;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_answer(&rig, &sandbox);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	(void)extend(200);
	rig_run_ms(100);
	rig_take_nothing(&sandbox.init);
	rig_run_ms(150);
	cr_assert_eq(rig_body(&sandbox.init, spawn_kill)->slot, 0);
	cr_assert_eq(extend(10000) < 10000, true, "one that is being killed gets no more");
	rig_report(&sandbox, SIGKILL);
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_TIMEOUT);
	rig_end(&sandbox);
}

Test(extend, an_unknown_one_is_not_extended)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const struct ipc_execution_extend message = { 8, 1000 };

	rig_send(&rig.frontend, IPC_TYPE_execution_extend, &message, NULL);
	rig_take_nothing(&rig.frontend);
	rig_end(&sandbox);
}
