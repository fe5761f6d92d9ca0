/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of executions: who is asked what in which order, who is told, and when a slot is free.
 */
#include "run/execution.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/refusal.h"
#include "rig.h"
#include "support.h"

/* As in execution.c: how long an init may take to report after it was told to kill. */
#define GRACE_MS 200

static struct rig rig;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(execution, .init = open_rig, .fini = close_rig, .timeout = 60);

static void end_request(uint64_t number, uint32_t reason)
{
	const struct ipc_execution_end end = { .request = number, .reason = reason };

	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
}

static enum execution_state state_of(const struct rig_sandbox *sandbox)
{
	return supervisor.executions[sandbox->slot].state;
}

/* The init's process ends by itself. */
static void end_process(struct rig_sandbox *sandbox)
{
	cr_assert_eq(kill(sandbox->pid, SIGKILL), 0);
	cr_assert_eq(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	sandbox->pid = 0;
	rig_turn();
}

static void expect_flow(int from, int to)
{
	char byte = 0;

	cr_assert_eq(write(to, "x", 1), 1);
	cr_assert_eq(read(from, &byte, 1), 1);
	cr_assert_eq(byte, 'x');
}

Test(execution, the_streams_join_frontend_and_workload)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	struct channel_message *message = rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);

	cr_assert_eq(ipc_body(message, spawn_stdio)->slot, sandbox.slot);
	expect_flow(message->fds[0], sandbox.stdio[0]);
	expect_flow(sandbox.stdio[1], message->fds[1]);
	expect_flow(sandbox.stdio[2], message->fds[2]);
	rig_release();
	cr_assert_eq(read(sandbox.stdio[1], (char[1]){ 0 }, 1), 0, "nobody else holds it open");
	cr_assert_eq(read(sandbox.stdio[2], (char[1]){ 0 }, 1), 0);
	rig_end(&sandbox);
}

Test(execution, the_spawn_waits_for_the_init)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const struct ipc_spawn *spawn;

	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	spawn = rig_body(&sandbox.init, spawn);
	cr_assert_eq(spawn->slot, sandbox.slot);
	cr_assert_str_eq(spawn->cwd, "/workspace");
	cr_assert_str_eq((const char *)spawn->argv, "true");
	cr_assert_eq(spawn->environment_size, sizeof("A=1\0B=2"));
	cr_assert_eq(spawn->use_tty, 0);
	rig_take_nothing(&sandbox.init);
	rig_take_nothing(&rig.factory);
	rig_take_nothing(&rig.frontend);
	rig_end(&sandbox);
}

Test(execution, the_frontend_hears_the_output_limits)
{
	const struct ipc_execution_started *started;

	small_plan.profiles[0].output_bytes = 12345;
	small_plan.profiles[0].log_bytes = 54321;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
	started = rig_body(&rig.frontend, execution_started);
	cr_assert_eq(started->output_bytes, 12345);
	cr_assert_eq(started->log_bytes, 54321);
}

static void send_signal(uint64_t request, uint32_t signal)
{
	const struct ipc_execution_signal message = { request, signal };

	rig_send(&rig.frontend, IPC_TYPE_execution_signal, &message, NULL);
}

Test(execution, a_signal_goes_to_its_init_behind_the_spawn)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const struct ipc_spawn_signal *sent;

	send_signal(7, SIGUSR1); /* the factory has not even answered */
	rig_answer(&rig, &sandbox);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	sent = rig_body(&sandbox.init, spawn_signal);
	cr_assert_eq(sent->slot, sandbox.slot);
	cr_assert_eq(sent->signal, (uint32_t)SIGUSR1);
	send_signal(8, SIGUSR1);
	rig_take_nothing(&sandbox.init);
	send_signal(7, SIGSTOP);
	sent = rig_body(&sandbox.init, spawn_signal);
	cr_assert_eq(sent->signal, (uint32_t)SIGSTOP);
	rig_take_nothing(&rig.frontend);
	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 7);
	send_signal(7, SIGTERM); /* it ended while this was on its way */
	rig_take_nothing(&rig.frontend);
	cr_assert_not(supervisor.is_ending);
	rig_end(&sandbox);
}

/* Who is being killed is not to be continued, or told anything else. */
Test(execution, no_signal_comes_behind_a_kill)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	rig_send(&rig.frontend, IPC_TYPE_execution_end,
		 &(struct ipc_execution_end){ 7, END_CANCELLED }, NULL);
	send_signal(7, SIGCONT);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_kill);
	rig_take_nothing(&sandbox.init);
	rig_end(&sandbox);
}

/* An init that does not read: what does not fit is lost, and nothing else. */
Test(execution, too_many_signals_are_dropped)
{
	const int least = 1; /* the kernel makes it its own least */
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	struct execution *execution = execution_find(RIG_FRONTEND, 7);
	uint32_t came = 0;

	rig_answer(&rig, &sandbox);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	cr_assert_eq(setsockopt(execution->sandbox->init.fd, SOL_SOCKET, SO_SNDBUF, &least,
				sizeof(least)),
		     0);
	for (uint32_t i = 0; i < 1000; i++)
		send_signal(7, SIGUSR1);
	cr_assert_not(supervisor.is_ending);
	cr_assert_eq(execution->state, EXECUTION_LIVE);
	while (recv(sandbox.init.fd, &(char){ 0 }, 1, MSG_DONTWAIT) > 0)
		came++;
	cr_assert_gt(came, 0);
	cr_assert_lt(came, 1000);
	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 7);
	rig_end(&sandbox);
}

Test(execution, the_factory_hears_which_profile)
{
	struct ipc_execution_start *request = rig_request(7);

	memcpy(request->profile, "strict", sizeof("strict"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	cr_assert_eq(rig_body(&rig.factory, sandbox_create)->profile, 1);
}

Test(execution, an_end_is_reported_once)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	rig_take_nothing(&rig.frontend);
	rig_run_ms(2);
	rig_report(&sandbox, 7 << 8);
	cr_assert_geq(rig_take_done(&rig, 7)->wall_us, 2000);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	rig_run_ms(2);
	rig_take_end(&sandbox.init);
	cr_assert(rig_is_killed(&sandbox), "nothing of a sandbox outlives its report for long");
	rig_turn();
	rig_take_nothing(&rig.frontend);
	rig_end(&sandbox);
}

static uint64_t sum_of(const struct ipc_execution_done *done)
{
	return done->prepare_us + done->sandbox_us + done->start_us + done->run_us;
}

Test(execution, its_time_is_told_in_parts)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const uint64_t taken_us = clock_now_us();
	const struct ipc_spawn_done from = { .slot = sandbox.slot,
					     .taken_us = taken_us,
					     .executed_us = taken_us + 1000,
					     .ended_us = taken_us + 4000 };
	const struct ipc_execution_done *done;

	rig_answer(&rig, &sandbox);
	rig_run_ms(6);
	rig_send(&sandbox.init, IPC_TYPE_spawn_done, &from, NULL);
	done = rig_take_done(&rig, 7);
	cr_expect_eq(done->start_us, 1000);
	cr_expect_eq(done->run_us, 3000);
	cr_expect_eq(done->heard_us + done->prepare_us + done->sandbox_us, taken_us);
	cr_expect_leq(sum_of(done), done->wall_us);
	rig_end(&sandbox);
}

Test(execution, an_init_cannot_tell_times_that_were_not)
{
	static const uint64_t times[][3] = {
		{ 0, 0, 0 },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX, 0, 1 },
		{ 1, UINT64_MAX, 2 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct rig_sandbox sandbox = rig_begin(&rig, i);
		const struct ipc_spawn_done from = { .slot = sandbox.slot,
						     .taken_us = times[i][0],
						     .executed_us = times[i][1],
						     .ended_us = times[i][2] };
		const struct ipc_execution_done *done;

		rig_answer(&rig, &sandbox);
		rig_run_ms(2);
		rig_send(&sandbox.init, IPC_TYPE_spawn_done, &from, NULL);
		done = rig_take_done(&rig, i);
		cr_expect_leq(done->heard_us + done->wall_us, clock_now_us(), "%zu", i);
		cr_expect_gt(sum_of(done), 0, "%zu", i);
		cr_expect_leq(sum_of(done), done->wall_us, "%zu", i);
		rig_end(&sandbox);
	}
}

Test(execution, of_a_lost_init_no_parts_are_told)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	fd_close(&sandbox.init.fd);
	rig_turn();
	cr_expect_eq(sum_of(rig_take_done(&rig, 7)), 0);
	rig_end(&sandbox);
}

Test(execution, a_slot_is_free_when_the_init_is_gone)
{
	const struct ipc_spawn_done report = { .slot = 0 };
	struct rig_sandbox first = rig_begin(&rig, 1);
	struct rig_sandbox second;

	cr_assert_eq(first.slot, 0);
	rig_answer(&rig, &first);
	cr_assert_eq(channel_send(&first.init, IPC_TYPE_spawn_done, &report, NULL, 0), 0);
	cr_assert_eq(loop_turn(0), 0); /* in which the init is still there */
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&first));
	cr_assert_eq(state_of(&first), EXECUTION_DONE);
	cr_assert_gt(execution_deadline_us(), clock_now_us() + 1000000,
		     "nobody asks again and again");
	cr_assert_null(execution_find(RIG_FRONTEND, 1), "it cannot be ended any more");
	rig_turn();
	cr_assert_eq(state_of(&first), EXECUTION_FREE);
	second = rig_begin(&rig, 2);
	cr_assert_eq(second.slot, 0);
	rig_end(&first);
	rig_end(&second);
}

Test(execution, a_slot_waits_for_the_factorys_answer)
{
	struct rig_sandbox first = rig_begin(&rig, 1);
	struct rig_sandbox second;

	rig_report(&first, 0);
	(void)rig_take_done(&rig, 1);
	cr_assert_eq(state_of(&first), EXECUTION_DONE, "there is an init to come");
	second = rig_begin(&rig, 2);
	cr_assert_eq(second.slot, 1);
	rig_answer(&rig, &first);
	cr_assert(rig_is_killed(&first));
	rig_turn();
	cr_assert_eq(state_of(&first), EXECUTION_FREE);
	rig_end(&first);
	rig_end(&second);
}

Test(execution, a_slot_is_free_when_the_factory_failed_after_the_end)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 1);

	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 1);
	rig_fail(&rig, sandbox.slot, STAGE_BASE, ENOSPC);
	rig_take_nothing(&rig.frontend);
	cr_assert_eq(state_of(&sandbox), EXECUTION_FREE);
	rig_end(&sandbox);
}

Test(execution, a_failed_sandbox_is_reported_with_its_stage)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_fail(&rig, sandbox.slot, STAGE_NAMESPACES, ENOSPC);
	rig_take_internal(&rig, 7, STAGE_NAMESPACES, ENOSPC);
	cr_assert_eq(state_of(&sandbox), EXECUTION_FREE, "no init was made");
	rig_end(&sandbox);
}

Test(execution, an_init_that_goes_away_is_internal)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	fd_close(&sandbox.init.fd);
	rig_turn();
	rig_take_internal(&rig, 7, STAGE_CHANNEL, EPIPE);
	cr_assert(rig_is_killed(&sandbox));
	rig_end(&sandbox);
}

Test(execution, before_the_answer_the_factory_says_why_the_init_is_gone)
{
	struct rig_sandbox failed = rig_begin(&rig, 1);
	struct rig_sandbox created = rig_begin(&rig, 2);
	const struct ipc_execution_done *done;

	fd_close(&failed.init.fd);
	fd_close(&created.init.fd);
	rig_turn();
	rig_take_nothing(&rig.frontend);
	rig_fail(&rig, failed.slot, STAGE_BASE, ENOENT);
	done = rig_take_done(&rig, 1);
	cr_assert_eq(done->stage, STAGE_BASE);
	cr_assert_eq(done->error, ENOENT);
	rig_answer(&rig, &created);
	done = rig_take_done(&rig, 2);
	cr_assert_eq(done->stage, STAGE_CHANNEL);
	cr_assert_eq(done->error, EPIPE);
	cr_assert(rig_is_killed(&created));
	rig_end(&failed);
	rig_end(&created);
}

Test(execution, an_init_that_breaks_the_protocol_is_at_its_end)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	cr_assert_eq(write(sandbox.init.fd, "nonsense", 8), 8);
	rig_turn();
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_INTERNAL);
	cr_assert(rig_is_killed(&sandbox));
	cr_assert_not(supervisor.is_ending, "only this sandbox ends");
	rig_end(&sandbox);
}

Test(execution, over_its_time_it_is_killed)
{
	struct ipc_execution_start *request = rig_request(7);
	struct rig_sandbox sandbox = { .request = 7, .stdio = { -1, -1, -1 } };
	struct channel_message *message;
	const struct ipc_execution_done *done;

	request->timeout_ms = 700; /* the start itself may be slow */
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_answer(&rig, &sandbox);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	rig_take_nothing(&sandbox.init);
	rig_run_ms(720);
	cr_assert_eq(rig_body(&sandbox.init, spawn_kill)->slot, 0);
	rig_take_nothing(&rig.frontend);
	rig_report(&sandbox, SIGKILL);
	done = rig_take_done(&rig, 7);
	cr_assert_eq(done->verdict, VERDICT_TIMEOUT);
	cr_assert_eq(done->signal, SIGKILL);
	cr_assert_geq(done->wall_us, 700000);
	rig_end(&sandbox);
}

Test(execution, an_init_that_does_not_answer_the_kill_is_killed)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const struct ipc_execution_done *done;

	rig_answer(&rig, &sandbox);
	end_request(7, END_CANCELLED);
	rig_run_ms(GRACE_MS / 4);
	rig_take_nothing(&rig.frontend);
	rig_run_ms(GRACE_MS);
	done = rig_take_done(&rig, 7);
	cr_assert_eq(done->verdict, VERDICT_CANCELLED);
	cr_assert_eq(done->signal, SIGKILL);
	cr_assert_eq(done->stage, STAGE_NONE, "we killed it: nothing failed");
	cr_assert(rig_is_killed(&sandbox));
	rig_end(&sandbox);
}

Test(execution, the_reason_of_an_end_is_its_verdict)
{
	static const struct {
		uint32_t reason, verdict;
	} rows[] = { { END_CANCELLED, VERDICT_CANCELLED },
		     { END_OUTPUT, VERDICT_OUTPUT },
		     { END_CLIENT_GONE, VERDICT_CLIENT_GONE } };

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_sandbox sandbox = rig_begin(&rig, i);

		rig_answer(&rig, &sandbox);
		(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
		(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
		end_request(i, rows[i].reason);
		end_request(i, END_CANCELLED); /* the first one counts */
		(void)rig_take(&sandbox.init, IPC_TYPE_spawn_kill);
		rig_take_nothing(&sandbox.init);
		rig_report(&sandbox, 0);
		cr_expect_eq(rig_take_done(&rig, i)->verdict, rows[i].verdict);
		rig_end(&sandbox);
	}
}

Test(execution, what_ended_already_cannot_be_ended)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	rig_report(&sandbox, 0);
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_EXITED);
	end_request(7, END_CANCELLED);
	end_request(8, END_CANCELLED);
	rig_take_nothing(&rig.frontend);
	cr_assert_not(supervisor.is_ending);
	rig_end(&sandbox);
}

Test(execution, a_number_is_in_use_until_its_end)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	struct rig_sandbox again;

	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
	rig_take_refused(&rig, 7, REFUSAL_REQUEST_IN_USE);
	rig_answer(&rig, &sandbox);
	end_request(7, END_CANCELLED);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(7), NULL);
	rig_take_refused(&rig, 7, REFUSAL_REQUEST_IN_USE);
	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 7);
	again = rig_begin(&rig, 7);
	rig_end(&sandbox);
	rig_end(&again);
}

Test(execution, a_terminal_takes_the_place_of_the_streams)
{
	struct ipc_execution_start *request = rig_request(7);
	struct channel_message *message;
	struct channel init;
	int terminal = fd_of_kind('t');

	small_plan.profiles[0].log_bytes = 54321;
	request->use_tty = 1;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	rig_take_nothing(&rig.frontend);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	cr_assert_eq(rig_body(&init, spawn)->use_tty, 1);
	rig_send(&init, IPC_TYPE_spawned_tty, &(struct ipc_spawned_tty){ 0 }, &terminal);
	message = rig_take(&rig.frontend, IPC_TYPE_execution_tty);
	cr_assert_eq(ipc_body(message, execution_tty)->request, 7);
	cr_assert_eq(ipc_body(message, execution_tty)->log_bytes, 54321);
	cr_assert_str_empty(ipc_body(message, execution_tty)->sandbox);
	fd_close(&terminal);
	fd_close(&init.fd);
}

Test(execution, code_comes_before_the_spawn)
{
	static struct ipc_code_start request = { .request = 7,
						 .profile = "default",
						 .language = "bash" };
	int code = fd_sealed_from_bytes("code", "echo hi", 7);
	struct channel_message *message;
	struct channel init;
	char content[16] = "";

	rig_send(&rig.frontend, IPC_TYPE_code_start, &request, &code);
	fd_close(&code);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	(void)rig_take(&init, IPC_TYPE_spawn_stdio);
	message = rig_take(&init, IPC_TYPE_spawn_code);
	cr_assert_str_eq(ipc_body(message, spawn_code)->path, "/tmp/code");
	cr_assert_eq(pread(message->fds[0], content, sizeof(content), 0), 7);
	cr_assert_str_eq(content, "echo hi");
	message = rig_take(&init, IPC_TYPE_spawn);
	cr_assert_str_eq((const char *)ipc_body(message, spawn)->argv, "bash-first");
	fd_close(&init.fd);
}

Test(execution, everything_is_closed_in_the_end)
{
	const size_t before = fd_count_open();

	for (uint32_t i = 0; i < 5; i++) {
		struct rig_sandbox sandbox = rig_begin(&rig, i);

		rig_answer(&rig, &sandbox);
		rig_report(&sandbox, 0);
		(void)rig_take_done(&rig, i);
		cr_assert(rig_is_killed(&sandbox));
		rig_end(&sandbox);
	}
	rig_release();
	cr_assert_eq(fd_count_open(), before);
	cr_assert_eq(execution_deadline_us(), UINT64_MAX);
}

Test(execution, an_init_that_ends_with_its_channel_is_fine)
{
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	end_process(&sandbox);
	rig_take_nothing(&rig.frontend);
	fd_close(&sandbox.init.fd);
	rig_turn();
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_INTERNAL);
	cr_assert_eq(state_of(&sandbox), EXECUTION_FREE);
	rig_end(&sandbox);
}
