/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes made ahead: which are made and when, who gets one, and that none is used twice.
 */
#include "run/pool.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/refusal.h"
#include "fake_cgroup.h"
#include "front/handlers.h"
#include "rig.h"
#include "run/budget.h"
#include "run/execution.h"

/* In which all that is due is done. */
#define MOMENT_MS 20
#define AWAIT_MS 5000

#define MIB ((uint64_t)1 << 20)

static struct rig rig;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
	pool_open();
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(pool, .init = open_rig, .fini = close_rig, .timeout = 60);

/* A busy machine may not come to it sooner. */
static void await_asking(void)
{
	struct pollfd factory = { .fd = rig.factory.fd, .events = POLLIN };

	for (int i = 0; i < AWAIT_MS && poll(&factory, 1, 0) == 0; i++)
		rig_run_ms(1);
}

static struct rig_sandbox take_created(uint32_t probe, uint32_t is_last)
{
	struct rig_sandbox sandbox = { .stdio = { -1, -1, -1 } };
	struct channel_message *message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);

	sandbox.slot = ipc_body(message, sandbox_create)->slot;
	sandbox.generation = ipc_body(message, sandbox_create)->generation;
	cr_assert_eq(ipc_body(message, sandbox_create)->probe, probe);
	cr_assert_eq(ipc_body(message, sandbox_create)->lasts, 0);
	cr_assert_eq(ipc_body(message, sandbox_create)->is_last, is_last);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	return sandbox;
}

/* The next that the factory is asked for, although nobody waits for it. */
static struct rig_sandbox take_asked(void)
{
	struct rig_sandbox sandbox;

	await_asking();
	sandbox = take_created(PROBE_NONE, 0);
	rig_take_standby(&sandbox);
	return sandbox;
}

static void make_ready(struct rig_sandbox sandboxes[POOL_START])
{
	for (int i = 0; i < POOL_START; i++) {
		sandboxes[i] = take_asked();
		rig_answer(&rig, &sandboxes[i]);
	}
	rig_take_nothing(&rig.factory);
}

static void end_both(struct rig_sandbox sandboxes[POOL_START])
{
	for (int i = 0; i < POOL_START; i++)
		rig_end(&sandboxes[i]);
}

/* Begin an execution in what is ready: its slot, as the init hears it. */
static uint32_t begin_in(struct rig_sandbox *sandbox, uint64_t number)
{
	uint32_t slot;

	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(number), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	slot = rig_body(&sandbox->standby, spawn)->slot;
	rig_release();
	return slot;
}

static void report(const struct rig_sandbox *sandbox, uint32_t slot)
{
	rig_send(&sandbox->init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = slot },
		 NULL);
}

Test(pool, the_default_profile_has_some_before_anybody_asks)
{
	struct rig_sandbox ready[POOL_START];

	make_ready(ready);
	for (int i = 0; i < POOL_START; i++) {
		rig_take_nothing(&ready[i].init);
		cr_assert_null(supervisor.sandboxes[ready[i].slot].ephemeral.execution);
	}
	cr_assert_eq(supervisor.executions_live, 0);
	cr_assert_eq(supervisor.executions_started, 0);
	rig_run_ms(MOMENT_MS);
	cr_assert_gt(pool_deadline_us(), clock_now_us() + POOL_IDLE_US / 2, "an idle one sleeps");
	end_both(ready);
}

Test(pool, one_that_only_answers_a_person_has_none)
{
	(void)pool_end_all();
	rig_run_ms(MOMENT_MS);
	rig_take_nothing(&rig.factory);
}

Test(pool, an_execution_takes_the_oldest)
{
	struct rig_sandbox ready[POOL_START];
	const uint64_t before_us = clock_now_us();
	uint32_t slot;

	make_ready(ready);
	rig_run_ms(MOMENT_MS);
	slot = begin_in(&ready[0], 7);
	rig_take_nothing(&rig.factory);
	rig_take_nothing(&ready[1].init);
	cr_assert_geq(supervisor.executions[slot].started_us, before_us + MOMENT_MS * 1000,
		      "its time begins with the request");
	report(&ready[0], slot);
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_EXITED);
	cr_assert(rig_is_killed(&ready[0]));
	rig_turn();
	cr_assert_eq(supervisor.executions[slot].state, EXECUTION_FREE);
	end_both(ready);
}

Test(pool, each_is_used_once)
{
	struct rig_sandbox ready[POOL_START], third;
	uint32_t slots[POOL_START];

	make_ready(ready);
	for (uint32_t i = 0; i < POOL_START; i++)
		slots[i] = begin_in(&ready[i], i);
	third = rig_begin(&rig, 9);
	cr_assert_neq(third.slot, ready[0].slot);
	cr_assert_neq(third.slot, ready[1].slot);
	for (int i = 0; i < POOL_START; i++) {
		report(&ready[i], slots[i]);
		(void)rig_take(&rig.frontend, IPC_TYPE_execution_done);
		cr_assert(rig_is_killed(&ready[i]));
	}
	rig_end(&third);
	end_both(ready);
}

Test(pool, what_was_taken_is_replaced_after_the_report)
{
	struct rig_sandbox ready[POOL_START], more;
	uint32_t slot;

	make_ready(ready);
	slot = begin_in(&ready[0], 7);
	rig_take_nothing(&rig.factory);
	report(&ready[0], slot);
	(void)rig_take_done(&rig, 7);
	more = take_asked();
	rig_take_nothing(&rig.factory);
	rig_end(&more);
	end_both(ready);
}

Test(pool, a_long_execution_does_not_keep_others_from_being_made)
{
	struct rig_sandbox ready[POOL_START], more;

	make_ready(ready);
	(void)begin_in(&ready[0], 7);
	more = take_asked();
	rig_end(&more);
	end_both(ready);
}

Test(pool, who_finds_none_ready_has_more_made)
{
	struct rig_sandbox ready[POOL_START], third;

	make_ready(ready);
	(void)begin_in(&ready[0], 1);
	(void)begin_in(&ready[1], 2);
	third = rig_begin(&rig, 3);
	for (int i = 0; i < 2 * POOL_START; i++) {
		struct rig_sandbox more = take_asked();

		rig_end(&more);
	}
	rig_end(&third);
	end_both(ready);
}

static void end_init(struct rig_sandbox *sandbox)
{
	cr_assert_eq(kill(sandbox->pid, SIGKILL), 0);
	cr_assert_eq(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	sandbox->pid = 0;
	fd_close(&sandbox->init.fd);
	fd_close(&sandbox->standby.fd);
}

Test(pool, one_that_ended_unseen_is_not_noticed_by_who_takes_it)
{
	struct rig_sandbox ready[POOL_START], own = { .stdio = { -1, -1, -1 } };
	struct channel_message *message;

	make_ready(ready);
	end_init(&ready[0]);
	cr_assert_eq(channel_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL, 0),
		     0);
	handlers_on_frontend(RIG_FRONTEND); /* before the loop sees the end */
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	own.slot = ipc_body(message, sandbox_create)->slot;
	own.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(&rig, &own);
	rig_take_nothing(&ready[1].init);
	report(&own, execution_find(RIG_FRONTEND, 7)->slot);
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_EXITED);
	rig_end(&own);
	end_both(ready);
}

Test(pool, one_that_ends_is_made_anew_later)
{
	struct rig_sandbox ready[POOL_START], again;

	make_ready(ready);
	end_init(&ready[0]);
	rig_run_ms(MOMENT_MS);
	rig_take_nothing(&rig.factory);
	cr_assert_eq(supervisor.sandboxes[ready[0].slot].state, SANDBOX_FREE);
	again = take_asked();
	rig_fail(&rig, again.slot, STAGE_CLONE, ENOMEM);
	rig_turn();
	cr_assert_gt(pool_deadline_us(), clock_now_us() + POOL_AGAIN_US, "twice as late");
	rig_end(&again);
	again = take_asked();
	rig_end(&again);
	end_both(ready);
}

Test(pool, one_that_speaks_unasked_ends)
{
	struct rig_sandbox ready[POOL_START];

	make_ready(ready);
	report(&ready[0], 0);
	cr_assert(rig_is_killed(&ready[0]));
	rig_turn();
	cr_assert_eq(supervisor.sandboxes[ready[0].slot].state, SANDBOX_FREE);
	end_both(ready);
}

Test(pool, none_is_made_before_the_posture_is_known)
{
	supervisor.generations[0].postures[0].is_measured = 0;
	rig_run_ms(MOMENT_MS);
	rig_take_nothing(&rig.factory);
}

Test(pool, another_policy_ends_all_of_the_one_before)
{
	struct rig_sandbox ready[POOL_START];

	make_ready(ready);
	supervisor.generations[0].postures[0].is_measured = 0; /* of the new one nothing is known */
	pool_forget();
	for (int i = 0; i < POOL_START; i++)
		cr_assert(rig_is_killed(&ready[i]));
	rig_turn();
	cr_assert_eq(supervisor.generations[0].users, 0);
	cr_assert_eq(pool_bytes(), 0);
	end_both(ready);
}

Test(pool, there_are_none_more_than_executions_may_begin)
{
	struct rig_sandbox only;

	supervisor.executions_max = 1;
	only = take_asked();
	rig_answer(&rig, &only);
	rig_take_nothing(&rig.factory);
	(void)begin_in(&only, 7);
	rig_run_ms(POOL_LONG_US / 1000 + MOMENT_MS);
	rig_take_nothing(&rig.factory);
	rig_end(&only);
}

Test(pool, memory_is_a_requests_before_it_is_the_pools)
{
	struct rig_sandbox ready[POOL_START];
	char detail[IPC_LIST_MAX];
	uint32_t retry_ms;

	supervisor.cgroup = fake_cgroup_open();
	supervisor.memory_bytes = 64 * MIB;
	fake_cgroup_say("memory.stat", "anon 0\n");
	for (int i = 0; i < POOL_START; i++) {
		await_asking();
		(void)rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
		ready[i] = take_asked();
		rig_answer(&rig, &ready[i]);
	}
	fake_cgroup_say("memory.stat", "anon 59244544\n"); /* 56.5 MiB */
	cr_assert_eq(budget_check(&small_plan.profiles[0], NULL, detail, &retry_ms), REFUSAL_NONE);
	for (int i = 0; i < POOL_START; i++)
		cr_assert(rig_is_killed(&ready[i]));
	cr_assert_eq(budget_check(&small_plan.profiles[0], NULL, detail, &retry_ms), REFUSAL_MEMORY,
		     "what was ready cannot be given up twice");
	rig_run_ms(MOMENT_MS);
	rig_take_nothing(&rig.factory);
	end_both(ready);
	fake_cgroup_close();
}

Test(pool, its_leaf_is_the_executions)
{
	struct rig_sandbox ready;

	supervisor.cgroup = fake_cgroup_open();
	supervisor.executions_max = 1;
	await_asking();
	(void)rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
	ready = take_asked();
	rig_answer(&rig, &ready);
	cr_assert(fake_cgroup_has("s0/e0"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&ready.standby, IPC_TYPE_spawn);
	rig_end(&ready);
	fake_cgroup_close();
}

Test(pool, the_end_leaves_none)
{
	struct rig_sandbox ready[POOL_START];

	make_ready(ready);
	cr_assert_not(pool_end_all());
	for (int i = 0; i < POOL_START; i++)
		cr_assert(rig_is_killed(&ready[i]));
	rig_turn();
	cr_assert(pool_end_all());
	end_both(ready);
}

/* --- the only one of a supervisor for one command --------------------------------------------- */

static struct rig_sandbox make_only(void)
{
	(void)pool_end_all(); /* nothing is kept ready there */
	supervisor.is_for_one = true;
	supervisor.generations[supervisor.plan.slot]
		.postures[supervisor.default_profile]
		.is_measured = 0;
	cr_assert_eq(pool_make(supervisor.default_profile), 0);
	return take_created(PROBE_FIRST, 1);
}

static void ask(void)
{
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
}

Test(pool, the_only_one_is_made_before_the_request_and_runs_it)
{
	struct rig_sandbox only = make_only();
	const struct ipc_spawn *spawn;

	rig_answer(&rig, &only);
	rig_take_nothing(&only.init);
	ask();
	rig_take_nothing(&rig.factory);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&only.init, IPC_TYPE_spawn_stdio);
	spawn = rig_body(&only.init, spawn);
	cr_expect_eq(spawn->probe, PROBE_FIRST, "it is proven by what runs in it");
	cr_expect_eq(supervisor.sandboxes[only.slot].ephemeral.execution,
		     &supervisor.executions[spawn->slot]);
	rig_end(&only);
}

Test(pool, the_only_one_is_given_before_the_factory_has_answered)
{
	struct rig_sandbox only = make_only();

	ask();
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&only.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&only.init, IPC_TYPE_spawn);
	rig_fail(&rig, only.slot, STAGE_BASE, ENOENT);
	cr_expect_eq(rig_take_done(&rig, 7)->stage, STAGE_BASE);
	rig_end(&only);
}

Test(pool, what_became_of_the_only_one_its_execution_is_told)
{
	struct rig_sandbox only = make_only();

	rig_answer(&rig, &only);
	rig_send(&only.init, IPC_TYPE_init_failed,
		 &(struct ipc_init_failed){ STAGE_NETWORK, EPERM }, NULL);
	fd_close(&only.init.fd); /* which is no news */
	rig_turn();
	ask();
	rig_take_nothing(&rig.factory);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_take_internal(&rig, 7, STAGE_NETWORK, EPERM);
	cr_expect(rig_is_killed(&only));
	rig_end(&only);
}

/* The init was killed since its base could not be built; that is heard first. */
Test(pool, an_only_one_that_has_ended_is_not_made_anew)
{
	struct rig_sandbox only = make_only();

	fd_close(&only.init.fd);
	rig_turn();
	ask();
	rig_take_nothing(&rig.factory);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_take_nothing(&rig.frontend);
	rig_fail(&rig, only.slot, STAGE_BASE, EPERM);
	cr_expect_eq(rig_take_done(&rig, 7)->stage, STAGE_BASE);
	rig_end(&only);
}

Test(pool, an_only_one_that_nobody_asks_for_ends)
{
	struct ipc_execution_start *from = rig_request(7);
	struct rig_sandbox only = make_only();

	rig_answer(&rig, &only);
	strcpy(from->profile, "nobody's");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, from, NULL);
	rig_take_refused(&rig, 7, REFUSAL_PROFILE_UNKNOWN);
	rig_take_nothing(&only.init);
	cr_assert_not(pool_end_all());
	cr_expect(rig_is_killed(&only));
	rig_turn();
	cr_expect(pool_end_all());
	rig_end(&only);
}

Test(pool, an_only_one_of_another_profile_is_not_taken)
{
	struct ipc_execution_start *from = rig_request(7);
	struct rig_sandbox only = make_only();
	struct rig_sandbox other;

	rig_answer(&rig, &only);
	strcpy(from->profile, "strict");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, from, NULL);
	other = take_created(PROBE_NONE, 1);
	rig_take_nothing(&only.init);
	rig_fail(&rig, other.slot, STAGE_BASE, ENOENT);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&rig.frontend, IPC_TYPE_profile_posture);
	cr_expect_eq(rig_take_done(&rig, 7)->stage, STAGE_BASE);
	rig_end(&other);
	rig_end(&only);
}

Test(pool, the_leaf_of_the_only_one_is_its_executions)
{
	struct rig_sandbox only;

	supervisor.cgroup = fake_cgroup_open();
	(void)pool_end_all();
	supervisor.is_for_one = true;
	cr_assert_eq(pool_make(supervisor.default_profile), 0);
	(void)rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
	only = take_created(PROBE_NONE, 1);
	rig_answer(&rig, &only);
	ask();
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&only.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&only.init, IPC_TYPE_spawn_cgroup);
	(void)rig_take(&only.init, IPC_TYPE_spawn);
	rig_end(&only);
	fake_cgroup_close();
}
