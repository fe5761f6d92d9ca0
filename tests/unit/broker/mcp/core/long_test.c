/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools for what outlives its call, with the test as client, supervisor and workload.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "executions/executions.h"
#include "frontend/nonblocking.h"
#include "mcp/core/long_rig.h"
#include "persistent.h"
#include "rig.h"

TestSuite(mcp_long, .init = open_rig, .fini = close_rig);

static void expect_listed(const char *part)
{
	say_call("list_sandboxes", "");
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), part);
}

Test(mcp_long, yields_with_what_there_is)
{
	struct rig_workload workload;

	say_call("run_command", "\"command\":\"true\",\"yield_ms\":30");
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	print(workload.out, "so far\n");
	expect_part(rig_hear_late(&rig), "\"text\":\"so far\\n[still running after ");
	expect_part(rig.line, "will be killed in ");
	expect_part(rig.line, "\"state\":\"running\"");
	cr_assert_null(strstr(rig.line, "send_input"), "its input is closed");
	note_handle();
	print(workload.out, "more");
	finish(&workload);
	say_about("read_output", "");
	expect_part(rig_hear(&rig), "\"text\":\"more\\n[exit 0 · 0.02 s]\"");
	say_about("read_output", "");
	expect_part(rig_hear(&rig), "\"text\":\"[exit 0 · 0.02 s · no new output]\"");
	expect_part(rig.line, "\"state\":\"ended\",\"verdict\":\"exited\",\"exit_code\":0");
}

Test(mcp_long, what_was_shown_whole_is_not_kept)
{
	struct rig_workload workload = rig_run(&rig, "\"a\"");

	print(workload.out, "all");
	finish(&workload);
	expect_part(rig_hear(&rig), "all\\n[exit 0");
	cr_assert_null(strstr(rig.line, "handle"));
	expect_listed("\"structuredContent\":{\"sandboxes\":[],\"owner\":");
}

Test(mcp_long, waits_no_longer_than_it_was_told)
{
	struct rig_workload workload = start("");

	say_about("read_output", ",\"wait_ms\":0");
	expect_part(rig_hear(&rig), " · no new output · handle ");
	say_about("read_output", ",\"wait_ms\":20");
	expect_part(rig_hear_late(&rig), " · no new output · handle ");
	rig_workload_end(&workload);
}

/* The other half may come. */
Test(mcp_long, half_a_character_waits)
{
	struct rig_workload workload = start("");

	print(workload.out, "a\xe2\x82");
	say_about("read_output", ",\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"a\\n[still");
	say_about("read_output", ",\"wait_ms\":20");
	expect_part(rig_hear_late(&rig), "no new output");
	print(workload.out, "\xac");
	say_about("read_output", ",\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"\xe2\x82\xac\\n[still");
	print(workload.out, "\xe2");
	finish(&workload);
	say_about("read_output", "");
	expect_part(rig_hear(&rig), "\"text\":\"\\\\xe2\\n[exit 0");
}

Test(mcp_long, one_stream_in_order)
{
	struct rig_workload workload = start("");

	print(workload.out, "0123456789");
	print(workload.err, "abc");
	say_about("read_output", ",\"offset\":2,\"max_bytes\":3");
	expect_part(rig_hear(&rig),
		    "\"text\":\"234\\n[stdout from 2 to before 5 of 10 bytes · more: "
		    "offset=5]\\n[still running");
	say_about("read_output", ",\"offset\":5,\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"56789\\n[stdout from 5 to before 10 of 10 bytes · "
				    "all so far: offset=10]\\n[still running");
	say_about("read_output", ",\"offset\":1,\"stream\":\"stderr\",\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"bc\\n[stderr from 1 to before 3 of 3 bytes");
	say_about("read_output", ",\"offset\":11,\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"[stdout has only 10 bytes so far]\\n[still");
	/* where one reads on without an offset has not moved */
	say_about("read_output", ",\"wait_ms\":0,\"stream\":\"stdout\"");
	expect_part(rig_hear(&rig), "\"text\":\"0123456789\\n[still");
	rig_workload_end(&workload);
}

Test(mcp_long, types)
{
	struct rig_workload workload = start(",\"interactive\":true,\"stdin\":\"first\\n\"");
	char bytes[64];

	expect_part(rig.line, "send_input to type");
	cr_assert_eq(read(workload.in, bytes, sizeof(bytes)), 6);
	say_about("send_input", ",\"data\":\"second\\n\"");
	rig_turn(&rig);
	cr_assert_eq(read(workload.in, bytes, sizeof(bytes)), 7);
	print(workload.out, "answer\n");
	expect_part(rig_hear_late(&rig), "\"text\":\"answer\\n[still running");
	say_about("send_input", ",\"data\":\"last\",\"eof\":true,\"wait_ms\":0");
	expect_part(rig_hear(&rig), "no new output");
	cr_assert_eq(read(workload.in, bytes, sizeof(bytes)), 4);
	cr_assert_eq(read(workload.in, bytes, sizeof(bytes)), 0);
	say_about("send_input", ",\"data\":\"more\"");
	expect_part(rig_hear(&rig), "standard input is closed");
	expect_part(rig.line, "\"isError\":true");
	finish(&workload);
	say_about("send_input", ",\"data\":\"more\"");
	expect_part(rig_hear(&rig), "the execution has ended");
}

Test(mcp_long, the_end_alone_is_told_at_once)
{
	struct rig_workload workload = start(",\"interactive\":true");
	char byte;

	say_about("send_input", ",\"eof\":true,\"wait_ms\":0");
	(void)rig_hear(&rig);
	cr_assert_eq(read(workload.in, &byte, 1), 0);
	rig_workload_end(&workload);
}

Test(mcp_long, input_waits_within_its_bound)
{
	struct rig_workload workload = start(",\"interactive\":true");
	static char data[80100];
	size_t taken = 0;
	int count = 0;

	(void)snprintf(data, sizeof(data), ",\"wait_ms\":0,\"data\":\"%080000d\"", 0);
	do {
		say_about("send_input", data);
		(void)rig_hear(&rig);
		count++;
	} while (!strstr(rig.line, "12 MiB of input wait to be read"));
	cr_assert_gt(count, (int)(INPUT_BYTES_MAX / 80000) - 1);
	cr_assert_lt(count, (int)(INPUT_BYTES_MAX / 80000) + 4);
	cr_assert_eq(fd_set_nonblocking(workload.in, true), 0);
	for (ssize_t size = 1; size > 0; rig_turn(&rig)) {
		size = read(workload.in, data, sizeof(data));
		taken += size > 0 ? (size_t)size : 0;
	}
	cr_assert_eq(taken, (size_t)(count - 1) * 80000);
	say_about("send_input", ",\"wait_ms\":0,\"data\":\"fits again\"");
	expect_part(rig_hear(&rig), "no new output");
	rig_workload_end(&workload);
}

Test(mcp_long, kills)
{
	struct rig_workload workload = start("");
	const struct ipc_execution_done done = { .request = workload.request,
						 .verdict = VERDICT_CANCELLED };
	const struct ipc_execution_end *end;

	print(workload.out, "last words");
	say_about("kill_execution", "");
	end = rig_body(&rig, execution_end);
	cr_assert_eq(end->request, workload.request);
	cr_assert_eq(end->reason, END_CANCELLED);
	say_about("kill_execution", "");
	rig_take_nothing(&rig);
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "[cancelled");
	expect_part(rig_hear(&rig), "[cancelled");
	say_about("kill_execution", ",\"signal\":\"INT\"");
	expect_part(rig_hear(&rig), "[cancelled: every process was killed · no new output]");
	rig_take_nothing(&rig);
}

Test(mcp_long, sends_signals)
{
	static const struct {
		const char *name;
		uint32_t number;
	} signals[] = { { "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT },
			{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "TERM", SIGTERM },
			{ "CONT", SIGCONT }, { "STOP", SIGSTOP } };
	struct rig_workload workload = start("");
	const struct ipc_execution_signal *sent;
	char arguments[64];

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments), ",\"signal\":\"%s\"", signals[i].name);
		say_about("kill_execution", arguments);
		sent = rig_body(&rig, execution_signal);
		cr_assert_eq(sent->request, workload.request);
		cr_assert_eq(sent->signal, signals[i].number);
		expect_part(rig_hear(&rig), "was sent to ");
	}
	rig_workload_end(&workload);
}

/* The supervisor's answer to read_output with this time. */
static void extend(struct rig_workload *workload, uint32_t timeout_ms, uint64_t wall_ms)
{
	struct ipc_execution_extended answer = { workload->request, wall_ms };
	const struct ipc_execution_extend *sent;
	char arguments[64];

	(void)snprintf(arguments, sizeof(arguments), ",\"wait_ms\":0,\"timeout_ms\":%u",
		       timeout_ms);
	say_about("read_output", arguments);
	sent = rig_body(&rig, execution_extend);
	cr_assert_eq(sent->request, workload->request);
	cr_assert_eq(sent->wall_ms, timeout_ms);
	rig_hear_nothing(&rig);
	rig_send(&rig, IPC_TYPE_execution_extended, &answer, NULL);
}

Test(mcp_long, read_output_gives_more_time)
{
	struct rig_workload workload = start("");

	extend(&workload, 600000, 600000);
	expect_part(rig_hear(&rig), "will be killed in 600 s · read_output");
	extend(&workload, 600000, 5000);
	expect_part(rig_hear(&rig), "will be killed in 5.00 s, the most of its profile · ");
	extend(&workload, 10000, 20000);
	expect_part(rig_hear(&rig), "will be killed in 20 s (timeout_ms gives more) · ");
	finish(&workload);
	say_about("read_output", ",\"timeout_ms\":600000");
	expect_part(rig_hear_late(&rig), "[exit 0");
	rig_take_nothing(&rig);
}

/* Expect the last line of an execution that its time limit ended. */
static void expect_timeout(struct rig_workload *workload, const char *line)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_TIMEOUT,
						 .wall_us = 9000000000 };

	rig_workload_end(workload);
	rig_done(&rig, &done);
	say_about("read_output", "");
	expect_part(rig_hear_late(&rig), line);
}

Test(mcp_long, a_timeout_has_the_limit_that_held)
{
	static const struct {
		const char *timeout;
		const char *line;
	} rows[] = {
		{ "1500", "[stopped at its time limit of 1.50 s; next time pass timeout_ms, at "
			  "most 1 h · no output]" },
		{ "60000", "[stopped at its time limit of 60 s; next time" },
		{ "120000", "[stopped at its time limit of 2 min; next time" },
		{ "3600000", "[stopped at its time limit of 1 h, the most of this profile; do "
			     "less at once · no output]" },
		{ "3600001", "[stopped at its time limit of 1 h, the most of this profile; do" },
	};
	struct rig_workload workload;
	char arguments[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments), ",\"timeout_ms\":%s", rows[i].timeout);
		workload = start(arguments);
		expect_timeout(&workload, rows[i].line);
	}
	workload = start(""); /* it returns early, so it has the most */
	expect_timeout(&workload, "[stopped at its time limit of 1 h, the most of this profile");
	workload = start(",\"timeout_ms\":60000");
	extend(&workload, 70500, 70500);
	(void)rig_hear(&rig);
	expect_timeout(&workload, "[stopped at its time limit of 7");
}

Test(mcp_long, the_end_comes_instead_of_more_time)
{
	struct rig_workload workload = start("");

	say_about("read_output", ",\"timeout_ms\":600000");
	(void)rig_take(&rig, IPC_TYPE_execution_extend);
	rig_hear_nothing(&rig);
	finish(&workload);
	expect_part(rig_hear_late(&rig), "[exit 0");
}

Test(mcp_long, a_wait_that_is_cancelled_leaves_the_execution)
{
	struct rig_workload workload = start("");

	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"w\",\"method\":\"ping\"}");
	(void)rig_hear(&rig);
	say_about("read_output", "");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":2}}");
	rig_take_nothing(&rig);
	print(workload.out, "still there");
	rig_hear_nothing(&rig);
	finish(&workload);
	say_about("read_output", "");
	expect_part(rig_hear_late(&rig), "still there\\n[exit 0");
}

Test(mcp_long, unknown_handles)
{
	memcpy(handle, "0000000000000000000000000-1", 28);
	for (int i = 0; i < 3; i++) {
		static const char *const tools[] = { "read_output", "send_input",
						     "kill_execution" };

		say_about(tools[i], "");
		expect_part(rig_hear(&rig), "There is no execution with the handle "
					    "\\\"0000000000000000000000000-1\\\"");
		expect_part(rig.line, "list_sandboxes");
		expect_part(rig.line, "\"isError\":true");
	}
}

Test(mcp_long, lists_what_there_is)
{
	struct rig_workload workload = start(",\"profile\":\"strict\"");

	expect_listed(
		"\"kind\":\"ephemeral\",\"profile\":\"strict\",\"executions\":[{\"handle\":\"");
	expect_part(rig.line, "\"state\":\"running\",\"age_ms\":");
	expect_part(rig.line, "\"left_ms\":");
	expect_part(rig.line, "\"command\":\"true\",\"stdout_bytes\":0,\"stderr_bytes\":0}]}]");
	finish(&workload);
	expect_listed("\"state\":\"ended\",\"verdict\":\"exited\",\"exit_code\":0,\"age_ms\":");
}

/* The supervisor refused what had yielded already. */
Test(mcp_long, a_late_refusal)
{
	static struct ipc_execution_refused refused = { .reason = REFUSAL_BUSY };

	say_call("run_command", "\"command\":\"true\",\"yield_ms\":1");
	refused.request = rig_body(&rig, execution_start)->request;
	expect_part(rig_hear_late(&rig), "[still running");
	note_handle();
	rig_send(&rig, IPC_TYPE_execution_refused, &refused, NULL);
	say_about("read_output", "");
	expect_part(rig_hear(&rig), "Nothing was run.");
	expect_part(rig.line, "\"isError\":true");
	expect_listed("\"state\":\"ended\",\"verdict\":\"refused\",");
}

/* --- terminals --- */

static uint64_t ask_for_terminal(void)
{
	say_call("run_command",
		 "\"command\":\"bash\",\"yield_ms\":0,\"tty\":true,\"stdin\":\"typed\\n\"");
	return rig_body(&rig, execution_start)->request;
}

static uint64_t start_terminal(int *ret_slave)
{
	const struct ipc_execution_tty tty = { .request = ask_for_terminal(),
					       .log_bytes = RIG_LOG_BYTES,
					       .wall_ms = 60000 };
	struct termios raw;
	int master;

	if (openpty(&master, ret_slave, NULL, NULL, NULL) != 0)
		cr_skip("there are no terminals here");
	cr_assert_eq(tcgetattr(*ret_slave, &raw), 0);
	cfmakeraw(&raw);
	cr_assert_eq(tcsetattr(*ret_slave, TCSANOW, &raw), 0);
	rig_send(&rig, IPC_TYPE_execution_tty, &tty, &master);
	fd_close(&master);
	expect_part(rig_hear(&rig), "send_input to type");
	note_handle();
	return tty.request;
}

Test(mcp_long, a_terminal_goes_both_ways)
{
	struct ipc_execution_done done = { .verdict = VERDICT_EXITED };
	struct winsize size;
	char bytes[64];
	int slave;

	done.request = start_terminal(&slave);
	cr_assert_eq(read(slave, bytes, sizeof(bytes)), 6);
	print(slave, "prompt> ");
	say_about("send_input", ",\"wait_ms\":55000,\"data\":\"\\u0003\",\"eof\":true,\"tty_"
				"rows\":3,\"tty_columns\":44");
	expect_part(rig_hear_late(&rig), "\"text\":\"prompt> \\n[still running");
	cr_assert_eq(read(slave, bytes, sizeof(bytes)), 2);
	cr_assert_eq(memcmp(bytes, "\3\4", 2), 0);
	cr_assert_eq(ioctl(slave, TIOCGWINSZ, &size), 0);
	cr_assert_eq(size.ws_row, 3);
	cr_assert_eq(size.ws_col, 44);
	print(slave, "bye");
	fd_close(&slave);
	rig_turn(&rig);
	rig_done(&rig, &done);
	say_about("read_output", "");
	expect_part(rig_hear(&rig), "\"text\":\"bye\\n[exit 0");
}

/* What fails before there is a terminal says no more than that. */
Test(mcp_long, a_terminal_that_never_comes)
{
	struct ipc_execution_done done = { .verdict = VERDICT_INTERNAL,
					   .stage = STAGE_EXEC,
					   .error = 2 };

	done.request = ask_for_terminal();
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "could not be executed");
	cr_assert_not(server_is_over(rig.server));
}

Test(mcp_long, pipes_in_place_of_a_terminal_end_it)
{
	struct rig_workload workload = rig_start(&rig, ask_for_terminal());

	rig_turn(&rig);
	cr_assert(server_is_over(rig.server));
	rig_workload_end(&workload);
}
