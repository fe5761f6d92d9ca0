/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records make a line of a sandbox's log, also where begins or ends are missing. What the
 * lines say is tried on real logs (tests/integration/persistent_logs.py).
 */
#include "audit/sandbox_log.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "common/text/format.h"

#define ID "2rgbftc2erh915t6ckfprby7fr"
#define OTHER "2rgbvqk90000000000000000aa"

static struct sandbox_log history;
static uint64_t seq;

static void begin_log(void)
{
	history = (struct sandbox_log){ .id = ID, .skip = UINT64_MAX };
	seq = 0;
}

TestSuite(sandbox_log, .init = begin_log);

/* A record of the supervisor `pid`; lines so far. */
static uint64_t take(unsigned int pid, const char *event, const char *fields)
{
	char line[512];

	format_text(line, sizeof(line),
		    "{\"seq\":%llu,\"time_us\":1,\"pid\":%u,\"event\":\"%s\"%s}\n",
		    (unsigned long long)++seq, pid, event, fields);
	cr_assert_eq(sandbox_log_take(&history, line, strlen(line)), !history.is_over);
	return history.lines;
}

static uint64_t take_execution(unsigned int pid, const char *event, unsigned int number)
{
	char fields[64];

	format_text(fields, sizeof(fields), ",\"execution\":%u,\"sandbox\":\"" ID "\"", number);
	return take(pid, event, fields);
}

static uint64_t finish(void)
{
	sandbox_log_finish(&history);
	return history.lines;
}

Test(sandbox_log, an_execution_is_one_line_when_it_ends)
{
	cr_expect_eq(take_execution(1, "execution_begin", 1), 0);
	cr_expect_eq(take_execution(1, "execution_begin", 2), 0);
	cr_expect_eq(take_execution(1, "limit", 2), 0);
	cr_expect_eq(take_execution(1, "execution_end", 2), 1);
	cr_expect_eq(take_execution(1, "execution_end", 1), 2);
	cr_expect_eq(finish(), 2);
	cr_expect_eq(history.records, 5);
}

Test(sandbox_log, others_are_none_of_ours)
{
	(void)take(1, "execution_begin", ",\"execution\":1,\"sandbox\":\"" OTHER "\"");
	(void)take(1, "execution_begin", ",\"execution\":1");
	(void)take(1, "sandbox_end", ",\"sandbox\":\"" OTHER "\",\"reason\":\"destroyed\"");
	(void)take(1, "stop", "");
	cr_expect_eq(finish(), 0);
	cr_expect_eq(history.records, 0);
	cr_expect_eq(take(1, "sandbox_begin", ",\"sandbox\":\"" OTHER "\",\"origin\":\"" ID "\""),
		     1, "but what was forked of it");
}

Test(sandbox_log, what_no_end_was_recorded_of)
{
	(void)take_execution(1, "execution_begin", 1);
	cr_expect_eq(take_execution(2, "execution_begin", 1), 1, "another supervisor has it");
	cr_expect_eq(take(2, "start", ""), 2, "another process has its number");
	cr_expect_eq(take(2, "start", ""), 2);
	(void)take_execution(2, "execution_begin", 1);
	(void)take(2, "apply_begin", ",\"request\":1,\"sandbox\":\"" ID "\"");
	cr_expect_eq(take(2, "sandbox_end", ",\"sandbox\":\"" ID "\",\"reason\":\"expired\""), 5);
	cr_expect(history.is_over);
}

Test(sandbox_log, what_has_not_ended)
{
	(void)take_execution(1, "execution_begin", 1);
	(void)take(1, "apply_begin", ",\"request\":1,\"sandbox\":\"" ID "\"");
	cr_expect_eq(take(1, "apply_end", ",\"request\":1,\"sandbox\":\"" ID "\""), 1,
		     "a request is no execution");
	cr_expect_eq(finish(), 2);
	cr_expect_eq(finish(), 2);
}

Test(sandbox_log, an_end_whose_begin_is_gone)
{
	cr_expect_eq(take_execution(1, "denial", 9), 1);
	cr_expect_eq(take_execution(1, "execution_end", 9), 2);
	cr_expect_eq(take(1, "apply_end", ",\"request\":1,\"sandbox\":\"" ID "\""), 3);
	cr_expect_eq(finish(), 3);
}

Test(sandbox_log, more_than_there_can_be)
{
	for (unsigned int i = 1; i <= 3 * SANDBOX_LOG_OPEN; i++)
		(void)take_execution(1, "execution_begin", i);
	cr_expect_eq(history.lines, 2UL * SANDBOX_LOG_OPEN, "the oldest give way");
	cr_expect_eq(take_execution(1, "execution_end", 3 * SANDBOX_LOG_OPEN),
		     2UL * SANDBOX_LOG_OPEN + 1);
	cr_expect_eq(finish(), 3UL * SANDBOX_LOG_OPEN);
}

Test(sandbox_log, figures_that_are_not_known_are_left_out, .init = cr_redirect_stdout)
{
	static const char *const figures[] = {
		"",
		",\"cpu_us\":1500",
		",\"cpu_us\":1500,\"peak_bytes\":2097152",
	};

	begin_log();
	history.skip = 0;
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		char fields[256];

		format_text(fields, sizeof(fields),
			    ",\"execution\":1,\"verdict\":\"exited\",\"exit_code\":0,"
			    "\"wall_us\":1000%s,\"sandbox\":\"" ID "\"",
			    figures[i]);
		(void)take(1, "execution_end", fields);
	}
	(void)fflush(stdout);
	cr_expect_stdout_eq_str(
		"1970-01-01T00:00:00.000Z       1  exec        exit 0 after 1.0 ms\n"
		"1970-01-01T00:00:00.000Z       2  exec        exit 0 after 1.0 ms, CPU 1.5 ms\n"
		"1970-01-01T00:00:00.000Z       3  exec        exit 0 after 1.0 ms, CPU 1.5 ms, "
		"memory 2.0 MiB\n");
}
