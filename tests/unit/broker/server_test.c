/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's life: when it begins to listen, how it ends, what it does with a client that does
 * not read.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "frontend/nonblocking.h"
#include "rig.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(server, .init = open_rig, .fini = close_rig);
TestSuite(server_start, .fini = close_rig);

/* Turn the loop until it is over; fails the test after many seconds. */
static void expect_end(int exit_code)
{
	for (int i = 0; i < 20000 && !server_is_over(rig.server); i++) {
		const struct timespec pause = { .tv_nsec = 1000000 };

		rig_turn(&rig);
		(void)nanosleep(&pause, NULL);
	}
	cr_assert(server_is_over(rig.server));
	cr_assert_eq(server_run(rig.server), exit_code);
}

Test(server_start, listens_only_after_the_welcome)
{
	rig_open(&rig, false);
	rig_say(&rig, PING);
	rig_hear_nothing(&rig);
	cr_assert_not(server_is_over(rig.server));
}

Test(server, answers)
{
	cr_assert_str_eq(rig_ask(&rig, PING), PONG);
}

Test(server, ends_with_its_input)
{
	fd_close(&rig.client_in);
	expect_end(0);
}

Test(server, drops_a_partial_line_at_the_end)
{
	rig_say_bytes(&rig, PING "\n" PING, 2 * strlen(PING) + 1);
	fd_close(&rig.client_in);
	expect_end(0);
	cr_assert_str_eq(rig_hear(&rig), PONG);
	rig_hear_nothing(&rig);
}

Test(server, ends_when_nobody_can_hear)
{
	fd_close(&rig.client_out);
	rig_say(&rig, PING);
	expect_end(0);
}

Test(server, ends_with_its_supervisor)
{
	fd_close(&rig.supervisor.fd);
	expect_end(MSP_EXIT_SOFTWARE);
}

Test(server, ends_when_the_supervisor_answers_what_was_not_asked)
{
	const struct ipc_execution_done done = { .request = 77 };

	rig_done(&rig, &done);
	expect_end(MSP_EXIT_SOFTWARE);
}

Test(server, ends_when_the_supervisor_breaks_the_protocol)
{
	cr_assert_eq(write(rig.supervisor.fd, "nonsense", 8), 8);
	expect_end(MSP_EXIT_SOFTWARE);
}

/* Nobody waits for ever: what ran is dead, and its client is told. */
Test(server, tells_of_what_ran_when_the_supervisor_is_gone)
{
	struct rig_workload workload = rig_run(&rig, "9");

	cr_assert_eq(fd_write_all(workload.out, "so far", 6), 0);
	rig_turn(&rig);
	fd_close(&rig.supervisor.fd);
	rig_turn(&rig);
	expect_part(rig_hear(&rig), "so far");
	expect_end(MSP_EXIT_SOFTWARE);
	rig_workload_end(&workload);
}

/* Finished answers are written, also after the end of input, as long as somebody reads on. */
Test(server, flushes_finished_answers)
{
	const struct timespec pause = { .tv_nsec = 150000000 };

	/* More than a pipe holds, and not all read when the broker first looks for progress. */
	for (int i = 0; i < 16; i++)
		rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	fd_close(&rig.client_in);
	rig_turn(&rig);
	for (int i = 0; i < 16; i++) {
		(void)nanosleep(&pause, NULL);
		rig_turn(&rig);
		expect_part(rig_hear(&rig), "\"tools\":[");
	}
	expect_end(0);
}

static long memory_kib(void)
{
	char text[4096];
	FILE *status = fopen("/proc/self/status", "re");
	const char *line;
	size_t size;

	cr_assert_not_null(status);
	size = fread(text, 1, sizeof(text) - 1, status);
	text[size] = '\0';
	(void)fclose(status);
	line = strstr(text, "VmRSS:");
	cr_assert_not_null(line);
	return strtol(line + 6, NULL, 10);
}

/* Without anyone to read the answers, input stops being taken: the pipe fills up. */
Test(server, stops_reading_for_a_client_that_does_not_read)
{
	static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
	const long before = memory_kib();
	int sent = 0, stuck = 0;

	cr_assert_gt(before, 0);
	cr_assert_eq(fd_set_nonblocking(rig.client_in, true), 0);
	while (stuck < 5 && sent < 1000000) {
		if (write(rig.client_in, request, strlen(request)) == (ssize_t)strlen(request)) {
			sent++;
			stuck = 0;
		} else {
			stuck++;
			rig_turn(&rig);
		}
	}
	cr_assert_lt(sent, 20000, "the broker reads on");
#ifndef MSP_SANITIZED /* it keeps what was freed */
	cr_assert_lt(memory_kib() - before, 8192);
#endif
	for (int i = 0; i < sent; i++)
		expect_part(rig_hear(&rig), "\"tools\":[");
	cr_assert_str_eq(rig_ask(&rig, PING), PONG);
}

/* It said it all, hung up, and never reads: nothing to wait for. */
Test(server, ends_for_a_silent_client_that_hung_up)
{
	static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

	cr_assert_eq(fd_set_nonblocking(rig.client_in, true), 0);
	for (int i = 0; i < 2000; i++) {
		(void)!write(rig.client_in, request, strlen(request)); /* until it is full */
		rig_turn(&rig);
	}
	fd_close(&rig.client_in);
	for (int i = 0; i < 5000 && !server_is_over(rig.server); i++) {
		const struct timespec pause = { .tv_nsec = 1000000 };

		rig_turn(&rig);
		(void)nanosleep(&pause, NULL);
	}
	expect_end(0);
}

Test(server_start, reads_a_regular_file)
{
	char path[] = "/tmp/msp-server-test-XXXXXX";
	const int file = mkstemp(path);

	cr_assert_geq(file, 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(fd_write_all(file, PING "\n" PING "\n", 2 * strlen(PING) + 2), 0);
	cr_assert_eq(lseek(file, 0, SEEK_SET), 0);
	rig_open(&rig, false);
	rig.server = server_free(rig.server);
	fd_close(&rig.broker_channel);
	fd_close(&rig.supervisor.fd);
	cr_assert_eq(dup2(file, rig.broker_in), rig.broker_in);
	(void)close(file);
	rig_start_server(&rig);
	rig_welcome(&rig);
	cr_assert_str_eq(rig_hear(&rig), PONG);
	cr_assert_str_eq(rig_hear(&rig), PONG);
	expect_end(0);
}
