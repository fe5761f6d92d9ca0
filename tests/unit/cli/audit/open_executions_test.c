/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executions the audit log leaves open, by which records.
 */
#include "audit/open_executions.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/text/format.h"

#define ID "2rgbftc2erh915t6ckfprby7fr"
#define OTHER "2rgbvqk90000000000000000aa"

static struct open_executions open;

static void begin_log(void)
{
	open.count = 0;
}

TestSuite(open_executions, .init = begin_log);

static size_t take(unsigned int pid, const char *event, const char *fields)
{
	char line[512];

	format_text(line, sizeof(line), "{\"seq\":1,\"time_us\":7,\"pid\":%u,\"event\":\"%s\"%s}\n",
		    pid, event, fields);
	cr_assert(open_executions_take(&open, line, strlen(line)));
	return open.count;
}

static size_t take_execution(unsigned int pid, const char *event, unsigned int number,
			     const char *sandbox)
{
	char fields[128];

	format_text(fields, sizeof(fields),
		    ",\"execution\":%u,\"argv_sha256\":\"ab\",\"sandbox\":\"%s\"", number, sandbox);
	return take(pid, event, fields);
}

Test(open_executions, an_end_closes_its_own)
{
	cr_expect_eq(take_execution(1, "execution_begin", 1, ID), 1);
	cr_expect_eq(take_execution(1, "execution_begin", 2, ID), 2);
	cr_expect_eq(take_execution(2, "execution_begin", 1, OTHER), 3);
	cr_expect_eq(take_execution(1, "limit", 1, ID), 3);
	cr_expect_eq(take_execution(1, "execution_end", 1, ID), 2);
	cr_assert_eq(open.list[0].execution, 2);
	cr_expect_eq(open.list[0].time_us, 7);
	cr_expect_str_eq(open.list[0].sandbox, ID);
	cr_expect_str_eq(open.list[0].argv_sha256, "ab");
	cr_expect_eq(open.list[1].pid, 2);
}

Test(open_executions, ephemeral_ones_are_not_among_them)
{
	cr_expect_eq(take(1, "execution_begin", ",\"execution\":1"), 0);
	cr_expect_eq(take(1, "execution_begin", ",\"execution\":1,\"sandbox\":\"\""), 0);
	cr_expect_eq(take(1, "torn", ""), 0);
	cr_assert(open_executions_take(&open, "no record\n", 10));
}

Test(open_executions, another_supervisor_of_the_sandbox_closes_all)
{
	(void)take_execution(1, "execution_begin", 1, ID);
	(void)take_execution(1, "execution_begin", 2, OTHER);
	cr_expect_eq(take_execution(2, "execution_begin", 1, ID), 2);
	cr_expect_eq(open.list[1].pid, 2);
	cr_expect_eq(take(3, "sandbox_change", ",\"sandbox\":\"" OTHER "\""), 1);
}

Test(open_executions, a_start_closes_those_of_an_earlier_process)
{
	(void)take_execution(1, "execution_begin", 1, ID);
	(void)take_execution(2, "execution_begin", 1, OTHER);
	cr_expect_eq(take(1, "start", ""), 1);
	cr_expect_eq(take(2, "sandbox_end", ",\"sandbox\":\"" OTHER "\",\"reason\":\"destroyed\""),
		     0);
}

Test(open_executions, the_oldest_give_way)
{
	for (unsigned int i = 0; i < EXECUTIONS_MAX + 5; i++)
		(void)take_execution(1, "execution_begin", i, ID);
	cr_expect_eq(open.count, EXECUTIONS_MAX);
	cr_expect_eq(open.list[0].execution, 5);
}
