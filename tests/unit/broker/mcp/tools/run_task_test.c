/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions of clients that poll for tasks.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
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

TestSuite(mcp_run_task, .init = open_rig, .fini = close_rig);

#define META(capabilities)                                                                         \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{" capabilities "}}"
#define TASKS "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

/* A run_command with these further arguments, started. */
static struct rig_workload start(const char *arguments)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"run_command\",\"arguments\":{\"command\":\"true\"%s}," META(
			       TASKS) "}}",
		       arguments);
	rig_say(&rig, line);
	return rig_start(&rig, rig_body(&rig, execution_start)->request);
}

static void finish(struct rig_workload *workload)
{
	struct ipc_execution_done done = { .request = workload->request };

	rig_workload_end(workload);
	rig_done(&rig, &done);
}

static const char *ask(const char *method, const char *id)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\",\"params\":"
		       "{\"taskId\":\"%s\"," META(TASKS) "}}",
		       method, id);
	return rig_ask(&rig, line);
}

/* The id of the task that is heard of next. */
static const char *hear_task(void)
{
	static char id[64];
	const char *place;

	expect_part(rig_hear(&rig), "\"resultType\":\"task\"");
	place = strstr(rig.line, "\"taskId\":\"");
	cr_assert_not_null(place);
	cr_assert_eq(sscanf(place, "\"taskId\":\"%63[^\"]\"", id), 1);
	return id;
}

Test(mcp_run_task, what_takes_longer_becomes_a_task)
{
	struct rig_workload workload = start(",\"yield_ms\":1");
	const char *id = hear_task();

	cr_assert_eq(strlen(id), 26 + 2);
	expect_part(id, "-1");
	cr_assert_eq(write(workload.out, "hello\n", 6), 6);
	expect_part(ask("tasks/get", id), "\"status\":\"working\"");
	finish(&workload);
	rig_hear_nothing(&rig);
	expect_part(ask("tasks/get", id), "\"status\":\"completed\"");
	expect_part(rig.line, "\"text\":\"hello\\n[exit 0");
	expect_part(rig.line, "\"isError\":false");
}

Test(mcp_run_task, what_is_over_in_time_is_answered)
{
	struct rig_workload workload = start("");

	cr_assert_eq(write(workload.out, "hello\n", 6), 6);
	finish(&workload);
	expect_part(rig_hear(&rig), "\"resultType\":\"complete\"");
	expect_part(rig.line, "hello");
}

/* Its client wants to type, or to go on meanwhile: it needs the handle now. */
Test(mcp_run_task, who_wants_a_handle_is_given_it)
{
	struct rig_workload workload = start(",\"yield_ms\":1,\"interactive\":true");

	expect_part(rig_hear(&rig), "\"resultType\":\"complete\"");
	expect_part(rig.line, "send_input");
	finish(&workload);
	workload = start(",\"yield_ms\":0");
	expect_part(rig_hear(&rig), "\"resultType\":\"complete\"");
	expect_part(rig.line, "read_output");
	finish(&workload);
}

Test(mcp_run_task, cancel_kills_it)
{
	struct rig_workload workload = start(",\"yield_ms\":1");
	const char *id = hear_task();
	char line[512];

	expect_part(ask("tasks/cancel", id), "\"resultType\":\"complete\"");
	cr_assert_eq(rig_body(&rig, execution_end)->request, workload.request);
	expect_part(ask("tasks/get", id), "\"status\":\"cancelled\"");
	cr_assert_eq(write(workload.out, "so far\n", 7), 7);
	finish(&workload);
	rig_hear_nothing(&rig);
	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"read_output\",\"arguments\":{\"handle\":\"%s\"}," META(TASKS) "}}",
		id);
	expect_part(rig_ask(&rig, line), "so far");
}
