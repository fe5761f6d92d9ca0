/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions as the broker sees them, with the test as supervisor and workload.
 */
#include "executions/executions.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(executions, .init = open_rig, .fini = close_rig);

static struct ipc_execution_done done_of(const struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_EXITED,
						 .wall_us = 20000 };

	return done;
}

static void finish(struct rig_workload *workload)
{
	const struct ipc_execution_done done = done_of(workload);

	rig_workload_end(workload);
	rig_done(&rig, &done);
}

static void print(int fd, const char *text)
{
	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	rig_turn(&rig);
}

Test(executions, gives_output_and_verdict)
{
	struct rig_workload workload = rig_run(&rig, "1");

	print(workload.out, "hello\n");
	print(workload.err, "oops\n");
	rig_hear_nothing(&rig);
	finish(&workload);
	expect_part(rig_hear(&rig), "\"text\":\"hello\\n[stderr]\\noops\\n[exit 0 · 0.02 s]\"");
}

/* Take the question for the refusals of an execution. Return msp-cable's end. */
static struct channel take_question(uint64_t request)
{
	struct channel_message *watch = rig_take(&rig, IPC_TYPE_network_watch);

	cr_assert_eq(ipc_body(watch, network_watch)->request, request);
	return (struct channel){ channel_take_fd(watch, 0), IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
}

Test(executions, asks_for_refusals_where_there_are_some)
{
	const struct ipc_network_denial denial = { .count = 3, .host = "a.example" };
	struct rig_workload workload = rig_run(&rig, "1");
	struct ipc_execution_done done = done_of(&workload);
	struct channel cable;

	done.has_refusals = 1;
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	cable = take_question(workload.request);
	rig_hear_nothing(&rig);
	cr_assert_eq(channel_send(&cable, IPC_TYPE_network_denial, &denial, NULL, 0), 0);
	rig_turn(&rig);
	rig_hear_nothing(&rig);
	fd_close(&cable.fd);
	expect_part(rig_hear(&rig), "\"target\":\"a.example\"");
	expect_part(rig.line, "\"count\":3");
	workload = rig_run(&rig, "2");
	finish(&workload);
	rig_take_nothing(&rig);
	expect_part(rig_hear(&rig), "exit 0");
}

Test(executions, answers_without_refusals_that_do_not_come)
{
	struct rig_workload workload = rig_run(&rig, "1");
	struct ipc_execution_done done = done_of(&workload);
	struct channel cable;

	done.has_refusals = 1;
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	cable = take_question(workload.request);
	fd_close(&cable.fd);
	expect_part(rig_hear(&rig), "exit 0");
}

/* Output may still be in the pipes when the supervisor says that it is over. */
Test(executions, waits_for_the_pipes_after_done)
{
	struct rig_workload workload = rig_run(&rig, "1");
	const struct ipc_execution_done done = done_of(&workload);

	rig_done(&rig, &done);
	rig_hear_nothing(&rig);
	print(workload.out, "late");
	rig_workload_end(&workload);
	expect_part(rig_hear(&rig), "late\\n[exit 0");
}

/* Something of the workload keeps a pipe open: half a second, no longer. */
Test(executions, does_not_wait_for_ever)
{
	struct rig_workload workload = rig_run(&rig, "1");
	const struct ipc_execution_done done = done_of(&workload);
	struct pollfd out = { .fd = rig.client_out, .events = POLLIN };
	int waits = 0;

	print(workload.out, "some");
	rig_done(&rig, &done);
	while (poll(&out, 1, 10) == 0 && ++waits < 100)
		rig_turn(&rig);
	cr_assert_gt(waits, 30, "it waits for a while");
	expect_part(rig_hear(&rig), "some\\n[exit 0");
	rig_workload_end(&workload);
}

Test(executions, closes_an_absent_input_at_once)
{
	struct rig_workload workload = rig_run(&rig, "1");
	char byte;

	cr_assert_eq(read(workload.in, &byte, 1), 0);
	finish(&workload);
	(void)rig_hear(&rig);
}

static struct rig_workload run_with_input(size_t size)
{
	static const char head[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"run_command\",\"arguments\":{\"command\":\"cat\",\"stdin\":\"";
	char *input = malloc(size);

	cr_assert_not_null(input);
	memset(input, 'i', size);
	rig_say_bytes(&rig, head, strlen(head));
	rig_say_bytes(&rig, input, size);
	rig_say_bytes(&rig, "\"}}}\n", 5);
	free(input);
	return rig_start(&rig, rig_body(&rig, execution_start)->request);
}

Test(executions, feeds_input_as_it_is_read)
{
	struct rig_workload workload = run_with_input(1000000);
	static char bytes[70000];
	size_t total = 0;
	ssize_t size;

	do {
		rig_turn(&rig);
		size = read(workload.in, bytes, sizeof(bytes));
		cr_assert_geq(size, 0);
		total += (size_t)size;
	} while (size > 0);
	cr_assert_eq(total, 1000000);
	finish(&workload);
	(void)rig_hear(&rig);
}

Test(executions, survives_a_workload_that_does_not_want_its_input)
{
	struct rig_workload workload = run_with_input(1000000);

	fd_close(&workload.in);
	rig_turn(&rig);
	finish(&workload);
	expect_part(rig_hear(&rig), "[exit 0");
}

/* A workload can open its own standard output for reading and take the bytes away. */
Test(executions, is_not_blocked_by_a_workload_that_reads_its_own_output)
{
	struct rig_workload workload = rig_run(&rig, "1");
	char path[64];
	char byte;
	int thief;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", workload.out);
	thief = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cr_assert_geq(thief, 0);
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(write(workload.out, "x", 1), 1);
		(void)!read(thief, &byte, 1);
		rig_turn(&rig);
	}
	cr_assert_str_eq(rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"),
			 "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	(void)close(thief);
	finish(&workload);
	(void)rig_hear(&rig);
}

Test(executions, a_flood_is_counted)
{
	struct rig_workload workload = rig_run(&rig, "1");
	static char bytes[65536];

	memset(bytes, 'y', sizeof(bytes));
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(fd_write_all(workload.out, bytes, sizeof(bytes)), 0);
		rig_turn(&rig);
	}
	finish(&workload);
	expect_part(rig_hear(&rig),
		    "\"stdout_bytes\":65536000,\"stderr_bytes\":0,\"truncated\":true");
	expect_part(rig.line, "bytes omitted ...]");
	cr_assert_lt(strlen(rig.line), 11000);
}

static void cancel(const char *id)
{
	char line[128];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		       "{\"requestId\":%s,\"reason\":\"no longer needed\"}}",
		       id);
	rig_say(&rig, line);
}

/* Its streams find no room: it is ended, what it did is not taken for a result, others go on. */
Test(executions, one_without_room_for_its_streams_fails_alone)
{
	struct rig_workload other = rig_run(&rig, "1");
	const int next = dup(rig.client_out);
	struct ipc_execution_started started = { 0 };
	struct ipc_execution_done done = { .verdict = VERDICT_CANCELLED };
	struct rlimit limit;
	struct rlimit few;

	cr_assert_eq(close(next), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){ (rlim_t)next, limit.rlim_max };
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
		      "\"name\":\"run_command\",\"arguments\":{\"command\":\"true\"}}}");
	started.request = rig_body(&rig, execution_start)->request;
	cr_assert_eq(channel_send(&rig.supervisor, IPC_TYPE_execution_started, &started,
				  (int[]){ other.in, other.out, other.err }, MSG_DONTWAIT),
		     0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	rig_turn(&rig);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_eq(rig_body(&rig, execution_end)->request, started.request);
	rig_hear_nothing(&rig);
	done.request = started.request;
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "do not rely on the result");
	print(other.out, "fine");
	finish(&other);
	expect_part(rig_hear(&rig), "fine\\n[exit 0");
}

Test(executions, cancelling_kills_and_says_nothing)
{
	struct rig_workload workload = rig_run(&rig, "\"a\"");
	const struct ipc_execution_end *end;
	struct ipc_execution_done done = done_of(&workload);

	cancel("\"b\"");
	rig_take_nothing(&rig);
	cancel("\"\\u0061\"");
	end = rig_body(&rig, execution_end);
	cr_assert_eq(end->request, workload.request);
	cr_assert_eq(end->reason, END_CANCELLED);
	cancel("\"a\"");
	rig_take_nothing(&rig);
	done.verdict = VERDICT_CANCELLED;
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	rig_hear_nothing(&rig);
	cancel("\"a\"");
	rig_hear_nothing(&rig);
	cr_assert_not(server_is_over(rig.server));
}

Test(executions, cancelling_before_the_start_is_fine)
{
	struct rig_workload workload;
	struct ipc_execution_done done;
	char byte;

	rig_say(&rig,
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"run_command\",\"arguments\":{\"command\":\"true\"}}}");
	cancel("9.0");
	(void)rig_take(&rig, IPC_TYPE_execution_start);
	(void)rig_take(&rig, IPC_TYPE_execution_end);
	workload = rig_start(&rig, 1);
	cr_assert_eq(read(workload.in, &byte, 1), 0, "its pipes are closed");
	done = done_of(&workload);
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	rig_hear_nothing(&rig);
	cr_assert_not(server_is_over(rig.server));
}

Test(executions, cancelling_while_draining_is_fine)
{
	struct rig_workload workload = rig_run(&rig, "1");
	const struct ipc_execution_done done = done_of(&workload);

	rig_done(&rig, &done);
	cancel("1");
	rig_take_nothing(&rig);
	rig_workload_end(&workload);
	rig_hear_nothing(&rig);
	cr_assert_not(server_is_over(rig.server));
}

/* An id is free again when its request is over. */
Test(executions, ids_can_be_used_again)
{
	for (int i = 0; i < 300; i++) {
		struct rig_workload workload = rig_run(&rig, "1");

		finish(&workload);
		expect_part(rig_hear(&rig), "\"id\":1,");
	}
}

Test(executions, refusals_are_answered)
{
	static struct ipc_execution_refused refused = { .reason = REFUSAL_CWD };
	const char *text;

	rig_say(&rig,
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"run_command\",\"arguments\":{\"command\":\"true\",\"cwd\":\"relative\"}}}");
	refused.request = rig_body(&rig, execution_start)->request;
	rig_send(&rig, IPC_TYPE_execution_refused, &refused, NULL);
	text = rig_hear(&rig);
	expect_part(text, "\"isError\":true");
	expect_part(text, "\\\"relative\\\" is not an absolute path");
	expect_part(text, "/workspace");
}

#define START_LINE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"method\":\"tools/call\",\"params\":{\"name\":"       \
	"\"run_command\",\"arguments\":{\"command\":\"true\"}}}"

Test(executions, only_so_many_at_once)
{
	struct rig_workload first;
	char line[256];

	for (int i = 0; i < EXECUTIONS_MAX; i++) {
		(void)snprintf(line, sizeof(line), START_LINE, i);
		rig_say(&rig, line);
		(void)rig_take(&rig, IPC_TYPE_execution_start);
	}
	(void)snprintf(line, sizeof(line), START_LINE, 9999);
	expect_part(rig_ask(&rig, line), "1024 executions are running");
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
	first = rig_start(&rig, 1);
	finish(&first);
	expect_part(rig_hear(&rig), "\"id\":\"0\"");
	rig_say(&rig, line);
	(void)rig_take(&rig, IPC_TYPE_execution_start);
}

/* Inputs that wait are bounded all together. */
Test(executions, only_so_much_input_at_once)
{
	struct rig_workload first = run_with_input(8000000);
	static const char head[] =
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"run_command\",\"arguments\":{\"command\":\"cat\",\"stdin\":\"";
	char *input = malloc(8000000);

	cr_assert_not_null(input);
	memset(input, 'i', 8000000);
	rig_say_bytes(&rig, head, strlen(head));
	rig_say_bytes(&rig, input, 8000000);
	rig_say_bytes(&rig, "\"}}}\n", 5);
	expect_part(rig_hear(&rig), "exceeds 12 MiB");
	finish(&first);
	expect_part(rig_hear(&rig), "[exit 0");
	rig_say_bytes(&rig, head, strlen(head));
	rig_say_bytes(&rig, input, 8000000);
	rig_say_bytes(&rig, "\"}}}\n", 5);
	(void)rig_take(&rig, IPC_TYPE_execution_start);
	free(input);
}

static void expect_end(void)
{
	rig_turn(&rig);
	cr_assert(server_is_over(rig.server));
}

Test(executions, started_twice_ends_it)
{
	struct rig_workload first = rig_run(&rig, "1");
	struct rig_workload second = rig_start(&rig, first.request);

	expect_end();
	rig_workload_end(&first);
	rig_workload_end(&second);
}

Test(executions, done_before_started_ends_it)
{
	const struct ipc_execution_done done = { .request = 1 };

	rig_say(&rig,
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"run_command\",\"arguments\":{\"command\":\"true\"}}}");
	rig_done(&rig, &done);
	expect_end();
}

Test(executions, a_terminal_nobody_asked_for_ends_it)
{
	struct rig_workload workload = rig_run(&rig, "1");
	const struct ipc_execution_tty tty = { .request = workload.request };
	const int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (terminal < 0)
		cr_skip("there are no terminals here");
	rig_send(&rig, IPC_TYPE_execution_tty, &tty, &terminal);
	expect_end();
	rig_workload_end(&workload);
	(void)close(terminal);
}
