/* SPDX-License-Identifier: Apache-2.0
 *
 * What is proven before anything runs, and who is told.
 */
#include "run/posture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/limits_mode.h"
#include "fake_cgroup.h"
#include "front/handlers.h"
#include "front/handlers_start.h"
#include "rig.h"
#include "support.h"

#define CGROUP_BIT POSTURE_BIT(POSTURE_CGROUP)
#define TCP_BIT POSTURE_BIT(POSTURE_LANDLOCK_TCP)

static struct rig rig;

static void forget(void)
{
	memset(supervisor.generations[0].postures, 0,
	       PLAN_PROFILES_MAX * sizeof(*supervisor.generations[0].postures));
}

static void open_rig(void)
{
	rig_open_welcomed(&rig);
	forget();
	RIG_FRONTEND->postures_told = 0;
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(posture, .init = open_rig, .fini = close_rig, .timeout = 60);

static struct ipc_posture closed_but(uint32_t slot, uint32_t open)
{
	return (struct ipc_posture){
		.slot = slot,
		.measured = { .landlock_abi = 7,
			      .layers_untried = TCP_BIT,
			      .layers_closed = POSTURE_ALL & ~(CGROUP_BIT | TCP_BIT | open) }
	};
}

static void say_posture(const struct rig_sandbox *sandbox, uint32_t open)
{
	const struct ipc_posture posture = closed_but(sandbox->slot, open);

	rig_send(&sandbox->init, IPC_TYPE_posture, &posture, NULL);
}

/* The probe_mode that the init is told. */
static uint32_t asked_of(const struct rig_sandbox *sandbox)
{
	(void)rig_take(&sandbox->init, IPC_TYPE_spawn_stdio);
	return rig_body(&sandbox->init, spawn)->probe;
}

Test(posture, the_first_of_a_profile_is_probed)
{
	struct rig_sandbox first = rig_begin(&rig, 1);
	struct rig_sandbox second = rig_begin(&rig, 2);
	struct rig_sandbox third;
	const struct ipc_profile_posture *told;

	rig_answer(&rig, &first);
	cr_assert_eq(asked_of(&first), PROBE_FIRST);
	cr_assert_eq(asked_of(&second), PROBE_FIRST, "nothing is proven yet");
	say_posture(&first, 0);
	rig_report(&first, 0);
	told = rig_body(&rig.frontend, profile_posture);
	cr_assert_str_eq(told->profile, "default");
	cr_assert_eq(told->posture.limits, LIMITS_FALLBACK);
	cr_assert_eq(told->posture.measured.landlock_abi, 7);
	cr_assert_eq(told->posture.measured.layers_untried, TCP_BIT | CGROUP_BIT);
	cr_assert_eq(told->posture.seccomp_mode, 2);
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_EXITED);
	third = rig_begin(&rig, 3);
	cr_assert_eq(asked_of(&third), PROBE_NONE);
	rig_answer(&rig, &second);
	say_posture(&second, 0);
	rig_report(&second, 0);
	(void)rig_take_done(&rig, 2); /* the rest it was told */
	rig_end(&first);
	rig_end(&second);
	rig_end(&third);
}

Test(posture, the_factory_is_told_that_it_will_be_probed)
{
	struct channel_message *message;

	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	cr_assert_eq(ipc_body(message, sandbox_create)->probe, PROBE_FIRST);
}

Test(posture, each_profile_is_probed_by_itself)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	say_posture(&sandbox, 0);
	cr_assert_eq(posture_probe(RIG_FRONTEND, 0), PROBE_NONE);
	cr_assert_eq(posture_probe(RIG_FRONTEND, 1), PROBE_FIRST);
	cr_assert_eq(posture_probe(NULL, 0), PROBE_ALONE);
	rig_end(&sandbox);
}

Test(posture, an_open_layer_ends_the_supervisor)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	rig_answer(&rig, &sandbox);
	say_posture(&sandbox, POSTURE_BIT(POSTURE_SECCOMP));
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_REFUSED);
	cr_assert(rig_is_killed(&sandbox), "the workload never runs");
	rig_take_nothing(&rig.frontend); /* its end says it */
	cr_assert_eq(posture_probe(RIG_FRONTEND, 0), PROBE_FIRST, "nothing is known");
	rig_end(&sandbox);
}

Test(posture, each_layer_counts)
{
	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		struct rig_sandbox sandbox;

		if (POSTURE_BIT(layer) & (CGROUP_BIT | TCP_BIT))
			continue; /* not tried here */
		close_rig();
		open_rig();
		sandbox = rig_begin(&rig, 1);
		say_posture(&sandbox, POSTURE_BIT(layer));
		cr_assert_eq(supervisor.exit_status, MSP_EXIT_REFUSED, "%s",
			     posture_layer_name(layer));
		rig_end(&sandbox);
	}
}

Test(posture, an_init_that_says_nothing_of_it_is_not_believed)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	rig_answer(&rig, &sandbox);
	rig_report(&sandbox, 0);
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_INTERNAL);
	cr_assert_eq(supervisor.exit_status, 0);
	rig_end(&sandbox);
}

Test(posture, a_posture_that_nobody_asked_for_ends_the_init)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	rig_answer(&rig, &sandbox);
	say_posture(&sandbox, 0);
	say_posture(&sandbox, 0);
	(void)rig_take(&rig.frontend, IPC_TYPE_profile_posture);
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_INTERNAL);
	rig_end(&sandbox);
}

Test(posture, a_start_that_fails_before_it_is_an_executions_failure)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	rig_fail(&rig, sandbox.slot, STAGE_BASE, ENOMEM);
	cr_assert_eq(rig_take_done(&rig, 1)->stage, STAGE_BASE);
	cr_assert_not(supervisor.is_ending);
	cr_assert_eq(posture_probe(RIG_FRONTEND, 0), PROBE_FIRST, "the next one tries");
	rig_end(&sandbox);
}

Test(posture, it_comes_too_late_for_a_frontend_that_is_gone)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	supervisor.is_service = true;
	rig_answer(&rig, &sandbox);
	fd_close(&rig.frontend.fd);
	rig_turn();
	say_posture(&sandbox, 0);
	cr_assert_eq(supervisor.executions_live, 1, "how it ended is still to be told");
	rig_report(&sandbox, SIGKILL);
	cr_assert_eq(supervisor.executions_live, 0);
	cr_assert(rig_is_killed(&sandbox));
	cr_assert_not(supervisor.is_ending);
	rig_end(&sandbox);
}

/* --- before the first client ---------------------------------------------------------------------
 */

static void begin_alone(struct rig_sandbox *sandbox)
{
	struct channel_message *message;

	cr_assert_eq(handlers_start_probe(), 0);
	frontend_regulate();
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	cr_assert_eq(ipc_body(message, sandbox_create)->probe, PROBE_ALONE);
	*sandbox = (struct rig_sandbox){ .slot = ipc_body(message, sandbox_create)->slot,
					 .stdio = { -1, -1, -1 } };
	sandbox->init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	message = rig_take(&sandbox->init, IPC_TYPE_spawn);
	cr_assert_eq(ipc_body(message, spawn)->probe, PROBE_ALONE);
	cr_assert_eq(ipc_body(message, spawn)->argv_size, 0);
	rig_answer(&rig, sandbox);
}

static void say_hello(void)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&rig.frontend, IPC_TYPE_hello, &hello, NULL);
}

static void reopen(struct rig_sandbox *sandbox)
{
	close_rig();
	rig_open(&rig);
	forget();
	begin_alone(sandbox);
}

Test(posture, no_client_is_heard_before_the_answer)
{
	struct rig_sandbox sandbox;
	const struct ipc_welcome *welcome;

	reopen(&sandbox);
	say_hello();
	rig_take_nothing(&rig.frontend);
	say_posture(&sandbox, 0);
	rig_turn();
	welcome = rig_body(&rig.frontend, welcome);
	cr_assert_str_eq(welcome->posture_profile, "default");
	cr_assert_eq(welcome->posture.is_measured, 1);
	cr_assert_eq(welcome->posture.measured.layers_untried, TCP_BIT | CGROUP_BIT);
	cr_assert(rig_is_killed(&sandbox), "there was nothing else to run in it");
	cr_assert_eq(supervisor.executions_started, 0, "it is none of a client's");
	cr_assert_eq(supervisor.executions_live, 0);
	rig_end(&sandbox);
}

Test(posture, one_that_comes_meanwhile_is_not_heard_either)
{
	struct rig_sandbox sandbox;
	int ends[2];

	reopen(&sandbox);
	cr_assert_eq(channel_pair(ends), 0);
	cr_assert_not_null(frontend_add(ends[0], false, handlers_on_frontend));
	fd_close(&rig.frontend.fd);
	rig.frontend.fd = ends[1];
	say_hello();
	rig_take_nothing(&rig.frontend);
	supervisor.is_service = true; /* the end of the first is not ours */
	say_posture(&sandbox, 0);
	rig_turn();
	(void)rig_take(&rig.frontend, IPC_TYPE_welcome);
	rig_end(&sandbox);
}

Test(posture, nobody_is_served_where_a_layer_is_open)
{
	struct rig_sandbox sandbox;

	reopen(&sandbox);
	say_hello();
	say_posture(&sandbox, POSTURE_BIT(POSTURE_ROOT));
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_REFUSED);
	rig_take_nothing(&rig.frontend);
	rig_end(&sandbox);
}

Test(posture, nobody_is_served_without_an_answer)
{
	struct rig_sandbox sandbox;

	reopen(&sandbox);
	rig_send(&sandbox.init, IPC_TYPE_init_failed,
		 &(struct ipc_init_failed){ STAGE_HOSTNAME, EPERM }, NULL);
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SANDBOX);
	rig_end(&sandbox);
}

Test(posture, nor_when_its_sandbox_cannot_be_made)
{
	cr_assert_eq(handlers_start_probe(), 0);
	rig_fail(&rig, 0, STAGE_BASE, ENOSPC);
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SANDBOX);
}

/* --- what the kernel says of the limits ---------------------------------------------------------
 */

static struct rig_sandbox begin_in_cgroup(void)
{
	struct rig_sandbox sandbox = { .request = 1, .stdio = { -1, -1, -1 } };
	struct channel_message *message;

	supervisor.cgroup = fake_cgroup_open();
	supervisor.limits = LIMITS_CGROUP;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(&rig, &sandbox);
	return sandbox;
}

static void end_in_cgroup(struct rig_sandbox *sandbox)
{
	fake_cgroup_clear("s0/e0");
	fake_cgroup_clear("s0");
	rig_end(sandbox);
	fake_cgroup_close();
}

Test(posture, limits_that_were_written_are_read_back)
{
	struct rig_sandbox sandbox = begin_in_cgroup();
	const struct ipc_profile_posture *told;

	say_posture(&sandbox, 0);
	rig_report(&sandbox, 0);
	told = rig_body(&rig.frontend, profile_posture);
	cr_assert(told->posture.measured.layers_closed & CGROUP_BIT);
	cr_assert_eq(told->posture.limits, LIMITS_CGROUP);
	cr_assert_eq(told->posture.controllers,
		     POSTURE_CONTROLLER_CPU | POSTURE_CONTROLLER_MEMORY | POSTURE_CONTROLLER_PIDS);
	end_in_cgroup(&sandbox);
}

/* The kernel took what was written, and does not say so. */
static void expect_open(const char *file)
{
	supervisor.cgroup = fake_cgroup_open();
	supervisor.limits = LIMITS_CGROUP;
	fake_cgroup_is_deaf(file);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_REFUSED);
	rig_take_nothing(&rig.factory);
	rig_take_nothing(&rig.frontend); /* our own end says it */
	fake_cgroup_clear("s0/e0");
	fake_cgroup_clear("s0");
	fake_cgroup_close();
}

Test(posture, memory_without_its_limit_is_open)
{
	expect_open("memory.max");
}

Test(posture, processes_without_their_limit_are_open)
{
	expect_open("pids.max");
}

Test(posture, another_share_of_the_processors_is_open)
{
	expect_open("cpu.weight");
}

Test(posture, another_quota_of_processor_time_is_open)
{
	small_plan.profiles[0].cpu_percent = 50;
	expect_open("cpu.max");
}

Test(posture, limits_that_are_proven_are_not_asked_for_again)
{
	struct rig_sandbox sandbox = begin_in_cgroup();

	say_posture(&sandbox, 0);
	fake_cgroup_is_deaf("memory.max");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(2), NULL);
	cr_assert_not(supervisor.is_ending);
	fake_cgroup_clear("s1/e0");
	fake_cgroup_clear("s1");
	end_in_cgroup(&sandbox);
}
