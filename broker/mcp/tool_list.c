/* SPDX-License-Identifier: Apache-2.0
 *
 * list_sandboxes: what there is of the asker's. Its result is data, and complete without the text.
 */
#include <string.h>

#include "clock.h"
#include "common/names.h"
#include "mcp/call.h"
#include "mcp/tool_execution.h"
#include "text.h"

/* What is shown at once, the newest: a result stays of a size that models are given whole. */
#define LISTED_MAX 100U

/* Of a command, to know it again by. */
#define COMMAND_BYTES 100U

/* What is true of some only is not required: a verdict, an exit code, the time that is left. */
static const char schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"sandboxes\":{\"type\":\"array\",\"description\":\"Newest first\",\"items\":{"
	"\"type\":\"object\",\"properties\":{"
	"\"id\":{\"type\":\"string\"},"
	"\"kind\":{\"type\":\"string\",\"enum\":[\"ephemeral\"],\"description\":"
	"\"ephemeral: it vanishes with its execution\"},"
	"\"profile\":{\"type\":\"string\"},"
	"\"executions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
	"\"handle\":{\"type\":\"string\"},"
	"\"state\":{\"type\":\"string\",\"enum\":[\"running\",\"ended\"]},"
	"\"verdict\":{\"type\":\"string\",\"description\":\"How it ended\"},"
	"\"exit_code\":{\"type\":\"integer\"},"
	"\"age_ms\":{\"type\":\"integer\",\"description\":\"Since its start\"},"
	"\"left_ms\":{\"type\":\"integer\",\"description\":\"Until it is killed\"},"
	"\"command\":{\"type\":\"string\",\"description\":\"Its beginning\"},"
	"\"stdout_bytes\":{\"type\":\"integer\"},\"stderr_bytes\":{\"type\":\"integer\"}},"
	"\"required\":[\"handle\",\"state\",\"age_ms\",\"command\",\"stdout_bytes\","
	"\"stderr_bytes\"],\"additionalProperties\":false}}},"
	"\"required\":[\"id\",\"kind\",\"profile\",\"executions\"],"
	"\"additionalProperties\":false}},"
	"\"omitted\":{\"type\":\"integer\",\"description\":\"How many older ones there are "
	"besides\"}},"
	"\"required\":[\"sandboxes\",\"omitted\"],\"additionalProperties\":false}";

static void put_milliseconds(struct json_writer *writer, const char *key, int64_t ms)
{
	json_put_number(writer, key, ms > 0 ? (uint64_t)ms : 0);
}

static void put_execution(struct json_writer *writer, const struct execution_info *info)
{
	const int64_t now_ms = clock_steady_ms();
	const char *command = info->label.command;

	json_open_object(writer, NULL);
	json_put_text(writer, "handle", info->handle);
	json_put_text(writer, "state", info->state == EXECUTION_OVER ? "ended" : "running");
	if (info->refused)
		json_put_text(writer, "verdict", "refused");
	if (info->done)
		json_put_text(writer, "verdict", verdict_name(info->done->verdict));
	if (info->done && info->done->verdict == VERDICT_EXITED)
		json_put_number(writer, "exit_code", info->done->exit_code);
	put_milliseconds(writer, "age_ms", now_ms - info->started_ms);
	if (info->state != EXECUTION_OVER && info->ends_ms > 0)
		put_milliseconds(writer, "left_ms", info->ends_ms - now_ms);
	json_put_string(writer, "command", command,
			text_fit_first(command, strlen(command), COMMAND_BYTES));
	json_put_number(writer, "stdout_bytes", info->log.streams[OUTPUT_OUT].total);
	json_put_number(writer, "stderr_bytes", info->log.streams[OUTPUT_ERR].total);
	json_close_object(writer);
}

static void put_sandbox(struct json_writer *writer, const struct execution_info *info)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "id", info->sandbox);
	json_put_text(writer, "kind", "ephemeral");
	json_put_text(writer, "profile", info->label.profile);
	json_open_array(writer, "executions");
	put_execution(writer, info);
	json_close_array(writer);
	json_close_object(writer);
}

static void put_list(struct json_writer *writer, const struct session *session)
{
	const struct executions *executions = session->host->executions;
	const struct execution_owner owner = session_owner(session);
	const struct execution *execution = NULL;
	size_t count = 0;

	json_open_object(writer, NULL);
	json_open_array(writer, "sandboxes");
	while ((execution = executions_older(executions, &owner, execution))) {
		if (count++ < LISTED_MAX)
			put_sandbox(writer, execution_info(execution));
	}
	json_close_array(writer);
	json_put_number(writer, "omitted", count > LISTED_MAX ? count - LISTED_MAX : 0);
	json_close_object(writer);
}

static void list_sandboxes(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	struct buffer list = { 0 };
	struct json_writer writer = { .out = &list };
	struct answer answer;

	(void)document;
	(void)values;
	put_list(&writer, call->session);
	call_open_result(call, &answer);
	call_put_text(&answer, &list, false);
	json_put_raw(&answer.writer, "structuredContent", list.bytes, list.size);
	call_close_result(call, &answer);
	buffer_done(&list);
}

const struct tool tool_list_sandboxes = {
	.name = "list_sandboxes",
	.title = "List sandboxes and executions",
	.description =
		"List your sandboxes and the executions in them: those that run, and those that "
		"are over and whose output is still kept. Use it to find a handle again, and to "
		"see what still runs in the background. Each entry has the handle, the state, how "
		"it ended, its age and the beginning of its command; the newest come first. What "
		"belongs "
		"to other clients is not shown.",
	.output_schema = schema,
	.is_read_only = true,
	.is_idempotent = true,
	.handler = list_sandboxes,
};
