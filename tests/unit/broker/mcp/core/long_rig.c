/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/long_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/text/names.h"

struct rig rig;
char handle[EXECUTION_HANDLE_MAX + 1];

void open_rig(void)
{
	rig_open(&rig, true);
}

void close_rig(void)
{
	rig_close(&rig);
}

void say_call(const char *tool, const char *arguments)
{
	static char line[100000];
	static int id;

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"%s\",\"arguments\":{%s}}}",
		++id, tool, arguments);
	rig_say(&rig, line);
}

/* A call about the handle, with more arguments that begin with a comma. */
void say_about(const char *tool, const char *arguments)
{
	static char all[90000];

	(void)snprintf(all, sizeof(all), "\"handle\":\"%s\"%s", handle, arguments);
	say_call(tool, all);
}

void print(int fd, const char *text)
{
	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	rig_turn(&rig);
}

void finish(struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_EXITED,
						 .wall_us = 20000 };

	rig_workload_end(workload);
	rig_done(&rig, &done);
}

/* Take the handle from the last answer. */
void note_handle(void)
{
	const char *at = strstr(rig.line, "\"handle\":\"");

	cr_assert_not_null(at, "%s", rig.line);
	memcpy(handle, at + 10, sizeof(handle) - 1);
	handle[strcspn(handle, "\"")] = '\0';
}

/* In the background, with more arguments that begin with a comma. */
struct rig_workload start(const char *arguments)
{
	struct rig_workload workload;
	char all[256];

	(void)snprintf(all, sizeof(all), "\"command\":\"true\",\"yield_ms\":0%s", arguments);
	say_call("run_command", all);
	rig_hear_nothing(&rig);
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	expect_part(rig_hear(&rig), "[still running after ");
	note_handle();
	return workload;
}
