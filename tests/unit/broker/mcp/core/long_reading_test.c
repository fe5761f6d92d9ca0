/* SPDX-License-Identifier: Apache-2.0
 *
 * read_output of an execution that prints, with the test as client, supervisor and workload.
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

TestSuite(mcp_reading, .init = open_rig, .fini = close_rig);

/* Time for an answer that would come by a line alone. */
static void hear_nothing_for(int ms)
{
	for (int i = 0; i < ms; i += 10) {
		(void)usleep(10000);
		rig_hear_nothing(&rig);
	}
}

Test(mcp_reading, collects_until_the_end)
{
	struct rig_workload workload = start("");

	say_about("read_output", ",\"wait_ms\":55000");
	rig_hear_nothing(&rig);
	print(workload.out, "one\n");
	hear_nothing_for(200);
	print(workload.err, "two\n");
	hear_nothing_for(200);
	print(workload.out, "prompt? ");
	hear_nothing_for(700);
	finish(&workload);
	expect_part(rig_hear(&rig), "\"text\":\"one\\nprompt? \\n[stderr]\\ntwo\\n[exit 0");
}

Test(mcp_reading, collects_until_its_time_is_over)
{
	struct rig_workload workload = start("");

	print(workload.out, "one\n");
	say_about("read_output", ",\"wait_ms\":300");
	hear_nothing_for(150);
	print(workload.out, "two\n");
	expect_part(rig_hear_late(&rig), "\"text\":\"one\\ntwo\\n[still running");
	/* the deadline alone ends a wait for output that is there */
	print(workload.out, "three\n");
	say_about("read_output", ",\"wait_ms\":0");
	expect_part(rig_hear(&rig), "\"text\":\"three\\n[still running");
	rig_workload_end(&workload);
}

Test(mcp_reading, a_full_page_is_not_waited_for)
{
	struct rig_workload workload = start("");

	say_about("read_output", ",\"wait_ms\":55000,\"max_bytes\":10");
	print(workload.out, "12345678\n");
	hear_nothing_for(50);
	print(workload.err, "9");
	expect_part(rig_hear(&rig), "\"text\":\"12345678\\n[stderr]\\n9\\n[still running");
	print(workload.out, "0123456789");
	say_about("read_output", ",\"wait_ms\":55000,\"max_bytes\":10");
	expect_part(rig_hear(&rig), "\"text\":\"0123456789\\n[still running");
	/* of one stream the other does not count */
	print(workload.out, "0123456789");
	say_about("read_output", ",\"wait_ms\":100,\"max_bytes\":10,\"stream\":\"stderr\"");
	hear_nothing_for(50);
	expect_part(rig_hear_late(&rig), "no new output");
	rig_workload_end(&workload);
}

Test(mcp_reading, an_offset_before_the_last_answer_is_not_waited_for)
{
	struct rig_workload workload = start("");

	print(workload.out, "0123456789");
	say_about("read_output", ",\"wait_ms\":0");
	expect_part(rig_hear(&rig), "0123456789");
	say_about("read_output", ",\"wait_ms\":55000,\"offset\":9");
	expect_part(rig_hear(&rig), "\"text\":\"9\\n[stdout from 9 to before 10");
	print(workload.out, "ab");
	say_about("read_output", ",\"wait_ms\":100,\"offset\":10");
	hear_nothing_for(50);
	expect_part(rig_hear_late(&rig), "\"text\":\"ab\\n[stdout from 10 to before 12");
	say_about("read_output", ",\"wait_ms\":55000,\"offset\":10,\"max_bytes\":2");
	expect_part(rig_hear(&rig), "\"text\":\"ab\\n[stdout from 10 to before 12");
	rig_workload_end(&workload);
}

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

/* Only the question ends the wait: the progress before it has no end of line either. */
Test(mcp_reading, a_prompt_in_a_terminal_is_not_waited_for)
{
	struct ipc_execution_done done = { .verdict = VERDICT_EXITED };
	int slave;

	done.request = start_terminal(&slave);
	say_about("read_output", ",\"wait_ms\":55000");
	print(slave, "Building... \r[1/2] a.c\r[2/2] b.c");
	hear_nothing_for(700);
	print(slave, "\nInstall? [y/n] ");
	rig_hear_nothing(&rig);
	expect_part(rig_hear_late(&rig), "Install? [y/n] \\n[still running");
	/* it was shown, and nobody has answered */
	say_about("read_output", ",\"wait_ms\":700");
	hear_nothing_for(600);
	expect_part(rig_hear_late(&rig), "no new output");
	/* a line that goes on was no prompt */
	say_about("read_output", ",\"wait_ms\":55000");
	print(slave, "checking whether it works: ");
	hear_nothing_for(100);
	print(slave, "yes\n");
	hear_nothing_for(700);
	fd_close(&slave);
	rig_turn(&rig);
	rig_done(&rig, &done);
	expect_part(rig_hear_late(&rig), "checking whether it works: yes\\n[exit 0");
}
