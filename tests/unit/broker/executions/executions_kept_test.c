/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions that outlive whoever started them: whose they are, who hears of them, how long they
 * are kept. The test is their supervisor.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "executions/executions.h"
#include "frontend/nonblocking.h"
#include "io/clock.h"
#include "server.h"

static struct event_base *base;
static struct supervisor_client client;
static struct executions *executions;
static int channel[2];
static uint64_t last_request;

static void open_all(void)
{
	static const struct supervisor_handlers none;

	base = server_base_new();
	cr_assert_not_null(base);
	cr_assert_eq(channel_pair(channel), 0);
	supervisor_client_init(&client, channel[1], &none, NULL);
	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	cr_assert_eq(fd_set_nonblocking(channel[1], true), 0);
	executions = executions_new(base, &client);
}

static void close_all(void)
{
	executions = executions_free(executions);
	supervisor_client_done(&client);
	event_base_free(base);
	fd_close_all(channel, 2);
	cr_assert_eq(output_memory(), 0);
}

TestSuite(kept, .init = open_all, .fini = close_all);

/* The supervisor takes what it is asked. */
static void drain(void)
{
	static char message[IPC_MESSAGE_MAX];

	while (recv(channel[0], message, sizeof(message), MSG_DONTWAIT) > 0)
		;
}

static enum execution_start try_start(uint32_t principal, uint64_t session,
				      struct execution **ret_execution)
{
	static const struct execution_label label = { .profile = "p", .command = "c" };
	static struct ipc_execution_start command;
	struct execution_order order = { .type = IPC_TYPE_execution_start,
					 .wanted = &command.head,
					 .profile = command.profile,
					 .code_fd = -1,
					 .owner = { principal, session },
					 .label = &label };
	enum execution_start started;

	memcpy(command.profile, "p", 2);
	memcpy(command.argv, "a", 2);
	command.argv_size = 2;
	started = executions_start(executions, &order, ret_execution);
	last_request = command.request;
	drain();
	return started;
}

static struct execution *start(uint32_t principal, uint64_t session)
{
	struct execution *execution = NULL;

	cr_assert_eq(try_start(principal, session, &execution), EXECUTION_START_DONE);
	return execution;
}

/* Its streams are at their end at once, but for what is printed here. */
static void run(uint64_t request, const char *text)
{
	const struct ipc_execution_started started = { .request = request, .log_bytes = 1 << 20 };
	int ours[3], theirs[3];

	for (int i = 0; i < 3; i++) {
		int ends[2];

		cr_assert_eq(pipe(ends), 0);
		theirs[i] = ends[i == 0];
		ours[i] = ends[i != 0];
	}
	cr_assert_eq(fd_write_all(ours[1], text, strlen(text)), 0);
	fd_close_all(ours, 3);
	cr_assert(executions_on_started(executions, &started, theirs));
}

static void end(uint64_t request)
{
	const struct ipc_execution_done done = { .request = request, .verdict = VERDICT_EXITED };

	cr_assert(executions_on_done(executions, &done));
	for (int i = 0; i < 3; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static struct execution *start_and_end(uint32_t principal, uint64_t session)
{
	struct execution *execution = start(principal, session);
	const uint64_t request = last_request;

	run(request, "text");
	end(request);
	return execution;
}

static struct execution *find(uint32_t principal, const char *handle)
{
	return executions_find(executions, principal, handle, strlen(handle));
}

static size_t count(uint32_t principal, uint64_t session)
{
	const struct execution_owner owner = { principal, session };
	const struct execution *execution = NULL;
	size_t found = 0;

	while ((execution = executions_older(executions, &owner, execution)))
		found++;
	return found;
}

Test(kept, handles_are_for_the_principal)
{
	struct execution *execution = start(7, 3);
	char handle[EXECUTION_HANDLE_MAX + 1];

	memcpy(handle, execution_info(execution)->handle, sizeof(handle));
	cr_assert_eq(strlen(handle), SANDBOX_ID_CHARS + 2);
	cr_assert_eq(strspn(handle, "0123456789abcdefghjkmnpqrstvwxyz"), SANDBOX_ID_CHARS);
	cr_assert_eq(find(7, handle), execution);
	cr_assert_null(find(8, handle));
	cr_assert_null(executions_find(executions, 7, handle, strlen(handle) - 1));
	cr_assert_null(executions_find(executions, 7, handle, 0));
	handle[3] = handle[3] == 'a' ? 'b' : 'a';
	cr_assert_null(find(7, handle));
}

Test(kept, ids_are_random_all_over)
{
	static bool seen[SANDBOX_ID_CHARS][256];
	size_t kinds;

	for (int i = 0; i < 600; i++) {
		struct execution *execution = start(0, 0);

		for (size_t at = 0; at < SANDBOX_ID_CHARS; at++)
			seen[at][(uint8_t)execution_info(execution)->sandbox[at]] = true;
		execution_discard(execution);
		run(last_request, "");
		end(last_request);
	}
	for (size_t at = 0; at < SANDBOX_ID_CHARS; at++) {
		kinds = 0;
		for (size_t i = 0; i < 256; i++)
			kinds += seen[at][i];
		cr_assert_eq(kinds, at == 0 ? 8 : 32, "%zu has %zu", at, kinds);
	}
}

Test(kept, lists_are_for_the_session)
{
	struct execution *first = start(1, 0);
	struct execution *second = start(1, 0);
	const struct execution_owner owner = { 1, 0 };

	(void)start(1, 5);
	(void)start(2, 0);
	cr_assert_eq(executions_older(executions, &owner, NULL), second, "the newest first");
	cr_assert_eq(executions_older(executions, &owner, second), first);
	cr_assert_null(executions_older(executions, &owner, first));
	cr_assert_eq(count(1, 5), 1);
	cr_assert_eq(count(2, 0), 1);
	cr_assert_eq(count(2, 5), 0);
}

Test(kept, the_end_of_a_session_ends_its_own)
{
	struct execution *running = start(1, 5);
	const uint64_t request = last_request;
	const struct execution_owner owner = { 1, 5 };
	char handle[EXECUTION_HANDLE_MAX + 1];

	memcpy(handle, execution_info(running)->handle, sizeof(handle));
	run(request, "");
	(void)start_and_end(1, 5);
	(void)start_and_end(1, 0);
	executions_end_owner(executions, &owner);
	cr_assert_eq(count(1, 5), 0);
	cr_assert_eq(count(1, 0), 1);
	cr_assert_null(find(1, handle));
	end(request); /* the supervisor's last word is still expected */
}

Test(kept, only_so_many_of_each_owner)
{
	struct execution *used = start_and_end(1, 0);
	char handle[EXECUTION_HANDLE_MAX + 1];

	memcpy(handle, execution_info(used)->handle, sizeof(handle));
	(void)start_and_end(2, 0);
	(void)usleep(3000);
	for (size_t i = 0; i < KEPT_PER_OWNER + 20; i++) {
		(void)start_and_end(1, 0);
		if (i % 20 == 0) {
			(void)usleep(2000);
			cr_assert_not_null(find(1, handle));
		}
	}
	cr_assert_eq(count(1, 0), KEPT_PER_OWNER);
	cr_assert_eq(count(2, 0), 1);
	cr_assert_not_null(find(1, handle), "what is asked for stays");
}

Test(kept, only_so_many_of_all)
{
	size_t total = 0;

	for (uint32_t i = 0; i < KEPT_MAX + 500; i++)
		(void)start_and_end(0, i % 20);
	for (uint32_t i = 0; i < 20; i++)
		total += count(0, i);
	cr_assert_eq(total, KEPT_MAX);
}

/* Its sessions together have a share, which leaves room for others. */
Test(kept, a_principal_pushes_out_its_own)
{
	size_t total = 0;

	(void)start_and_end(2, 0);
	(void)usleep(2000);
	for (uint32_t i = 0; i < 9 * KEPT_PER_OWNER; i++)
		(void)start_and_end(1, i % 9);
	for (uint32_t i = 0; i < 9; i++)
		total += count(1, i);
	cr_assert_eq(total, KEPT_MAX / 4 * 3);
	cr_assert_eq(count(2, 0), 1);
	for (uint32_t i = 0; i < 50; i++)
		(void)start_and_end(2, 0);
	cr_assert_eq(count(2, 0), 51);
}

Test(kept, principals_share_what_may_be_alive)
{
	struct execution *execution;

	executions_set_most(executions, 128);
	for (uint32_t i = 0; i < 96; i++)
		(void)start(1, i);
	cr_assert_eq(try_start(1, 500, &execution), EXECUTION_START_SHARE);
	for (uint32_t i = 0; i < 24; i++)
		(void)start(2, i);
	cr_assert_eq(try_start(2, 500, &execution), EXECUTION_START_SHARE);
	(void)start(3, 0);
	for (uint32_t i = 0; i < 128; i++)
		(void)start(0, i); /* shares with nobody: the supervisor counts */
}

Test(kept, only_for_so_long)
{
	const int64_t now = clock_steady_ms();
	char handle[EXECUTION_HANDLE_MAX + 1];

	(void)start_and_end(1, 0);
	memcpy(handle, execution_info(start(1, 0))->handle, sizeof(handle));
	executions_expire(executions, now + KEPT_MS - 1000);
	cr_assert_eq(count(1, 0), 2);
	executions_expire(executions, now + KEPT_MS + 60000);
	cr_assert_eq(count(1, 0), 1);
	cr_assert_not_null(find(1, handle), "what runs stays");
}

/* --- who hears of what --- */

struct ear {
	struct execution_watch watch;
	unsigned int heard[EXECUTION_GONE + 1];
	void (*act)(struct ear *ear, struct execution *execution, enum execution_event event);
	struct ear *other;
};

static void hear(struct execution_watch *watch, struct execution *execution,
		 enum execution_event event)
{
	struct ear *ear = (struct ear *)watch;

	ear->heard[event]++;
	if (ear->act)
		ear->act(ear, execution, event);
}

static struct ear new_ear(void)
{
	const struct ear ear = { .watch = { .notify = hear } };

	return ear;
}

Test(kept, watches_hear_all_of_it)
{
	struct ear one = new_ear(), all = new_ear(), other = new_ear();
	struct execution *execution = start(1, 0);
	const uint64_t request = last_request;

	execution_watch(execution, &one.watch);
	execution_watch(start(1, 0), &other.watch);
	executions_watch(executions, &all.watch);
	run(request, "text");
	end(request);
	execution_discard(execution);
	for (int event = 0; event <= EXECUTION_GONE; event++) {
		if (event == EXECUTION_EXTENDED) /* nobody asked for more time */
			continue;
		cr_assert_eq(one.heard[event], 1, "%d", event);
		cr_assert_eq(all.heard[event], 1, "%d", event);
		cr_assert_eq(other.heard[event], 0, "%d", event);
	}
	cr_assert_null(one.watch.list);
	execution_unwatch(&one.watch);
	execution_unwatch(&all.watch);
	execution_unwatch(&other.watch);
}

static void discard_on_end(struct ear *ear, struct execution *execution, enum execution_event event)
{
	(void)ear;
	if (event == EXECUTION_ENDED)
		execution_discard(execution);
}

static void unwatch_other(struct ear *ear, struct execution *execution, enum execution_event event)
{
	(void)execution;
	(void)event;
	execution_unwatch(&ear->other->watch);
}

static void watch_other(struct ear *ear, struct execution *execution, enum execution_event event)
{
	if (event == EXECUTION_STARTED)
		execution_watch(execution, &ear->other->watch);
}

/* Whoever hears may do anything. */
Test(kept, watches_may_discard)
{
	struct ear first = new_ear(), second = new_ear();
	struct execution *execution = start(1, 0);
	const uint64_t request = last_request;

	second.act = discard_on_end;
	execution_watch(execution, &first.watch);
	execution_watch(execution, &second.watch); /* is told first */
	run(request, "text");
	end(request);
	cr_assert_eq(second.heard[EXECUTION_ENDED], 1);
	cr_assert_eq(first.heard[EXECUTION_ENDED], 0);
	cr_assert_eq(first.heard[EXECUTION_GONE], 1);
	cr_assert_eq(count(1, 0), 0);
}

Test(kept, watches_may_unset_one_another)
{
	struct ear first = new_ear(), second = new_ear();
	struct execution *execution = start(1, 0);
	const uint64_t request = last_request;

	second.act = unwatch_other;
	second.other = &first;
	execution_watch(execution, &first.watch);
	execution_watch(execution, &second.watch);
	run(request, "text");
	cr_assert_eq(second.heard[EXECUTION_STARTED], 1);
	cr_assert_eq(first.heard[EXECUTION_STARTED], 0);
	second.act = NULL;
	end(request);
	cr_assert_eq(first.heard[EXECUTION_ENDED], 0);
	execution_unwatch(&second.watch);
}

Test(kept, a_new_watch_hears_what_comes_next)
{
	struct ear first = new_ear(), late = new_ear();
	struct execution *execution = start(1, 0);
	const uint64_t request = last_request;

	first.act = watch_other;
	first.other = &late;
	execution_watch(execution, &first.watch);
	run(request, "text");
	cr_assert_eq(late.heard[EXECUTION_STARTED], 0);
	end(request);
	cr_assert_eq(late.heard[EXECUTION_ENDED], 1);
	execution_unwatch(&first.watch);
	execution_unwatch(&late.watch);
}

Test(kept, a_lost_supervisor_ends_all)
{
	struct ear ears[3] = { new_ear(), new_ear(), new_ear() };
	struct execution *gone;

	for (int i = 0; i < 3; i++)
		execution_watch(start(1, 0), &ears[i].watch);
	run(last_request, "said");
	gone = start(1, 0);
	execution_discard(gone);
	ears[1].act = discard_on_end;
	executions_lose(executions);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ears[i].heard[EXECUTION_ENDED], 1);
	cr_assert_eq(count(1, 0), 2);
	execution_unwatch(&ears[0].watch);
	execution_unwatch(&ears[2].watch);
}

/* Started with a bound of its log; the end to write to. */
static int run_open(uint64_t request, uint64_t log_bytes)
{
	const struct ipc_execution_started started = { .request = request, .log_bytes = log_bytes };
	int in[2], out[2], err[2];

	cr_assert_eq(pipe(in), 0);
	cr_assert_eq(pipe(out), 0);
	cr_assert_eq(pipe(err), 0);
	cr_assert(executions_on_started(executions, &started, (int[]){ in[1], out[0], err[0] }));
	(void)close(in[0]);
	(void)close(err[1]);
	return out[1];
}

static void flood(int fd, size_t size)
{
	static char bytes[60000];

	for (; size > sizeof(bytes); size -= sizeof(bytes)) {
		cr_assert_eq(fd_write_all(fd, bytes, sizeof(bytes)), 0);
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	}
}

/* Those that are over give way, the one that was asked for longest ago first. */
Test(kept, old_logs_make_room)
{
	const size_t size = OUTPUT_MEMORY_MAX / 8;
	struct execution *old[10];

	for (size_t i = 0; i < 10; i++) {
		int out;

		old[i] = start(0, 0);
		out = run_open(last_request, size);
		flood(out, size);
		(void)close(out);
		end(last_request);
		(void)usleep(2000);
		if (i == 6)
			cr_assert_eq(find(0, execution_info(old[0])->handle), old[0]);
	}
	cr_assert_leq(output_memory(), OUTPUT_MEMORY_MAX);
	cr_assert_gt(output_memory(), OUTPUT_MEMORY_MAX / 2);
	for (size_t i = 0; i < 10; i++)
		cr_assert_eq(execution_info(old[i])->is_log_dropped, i == 1 || i == 2, "%zu", i);
	cr_assert_geq(execution_info(old[1])->log.streams[OUTPUT_OUT].total, size - 60000);
}

Test(kept, logs_of_a_principal_make_room_for_its_own)
{
	const size_t size = OUTPUT_MEMORY_MAX / 8;
	struct execution *other = NULL;

	for (uint32_t i = 0; i < 12; i++) {
		struct execution *execution = start(i == 0 ? 2 : 1, 0);
		const int out = run_open(last_request, size);

		if (i == 0)
			other = execution;
		flood(out, size);
		(void)close(out);
		end(last_request);
		(void)usleep(2000);
	}
	cr_assert_not(execution_info(other)->is_log_dropped);
	cr_assert_leq(output_memory(), OUTPUT_MEMORY_MAX / 8 * 7);
}

/* Nothing is over, and all of them print more than there is room for. */
Test(kept, what_runs_shares_the_room)
{
	int outs[40];

	for (size_t i = 0; i < 40; i++) {
		(void)start(1, 0);
		outs[i] = run_open(last_request, OUTPUT_MEMORY_MAX);
	}
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < 40; i++)
			flood(outs[i], OUTPUT_MEMORY_MAX / 80);
		cr_assert_leq(output_memory(), OUTPUT_MEMORY_MAX);
	}
	cr_assert_gt(output_memory(), OUTPUT_MEMORY_MAX / 2);
	fd_close_all(outs, 40);
}
