/* SPDX-License-Identifier: Apache-2.0
 *
 * send_input: write to an execution's input, and show its answer.
 */
#include "lib/heap/memory.h"
#include "mcp/core/waiting.h"
#include "mcp/tools/params.h"
#include "mcp/tools/tool_handle.h"

enum write_param {
	WRITE_HANDLE,
	WRITE_DATA,
	WRITE_EOF,
	WRITE_WAIT,
	WRITE_ROWS,
	WRITE_COLUMNS,
};

/* Bound by the length of a line. */
#define DATA_BYTES_MAX (10U << 20)

#define WAIT_MS_WRITE 1000

/* A program that answers does so within this many milliseconds; each further piece restarts the
 * wait. */
#define SETTLE_MS 200

static const struct tool_param params[] = {
	[WRITE_HANDLE] = ROW_HANDLE,
	[WRITE_DATA] = { .name = "data", .kind = PARAM_BYTES, .bytes_max = DATA_BYTES_MAX },
	[WRITE_EOF] = ROW_FLAG("eof", NULL, "End the input after `data`."),
	[WRITE_WAIT] = ROW_WAIT("wait_ms", WAIT_MS_WRITE, NULL),
	[WRITE_ROWS] = ROW_UINT16("tty_rows", NULL, "New size of the terminal."),
	[WRITE_COLUMNS] = ROW_UINT16("tty_columns", NULL, NULL),
};

static bool has_news(const struct waiting *waiting)
{
	const struct result_part part = result_part_new(execution_info(waiting->execution));

	return !result_part_is_empty(&part);
}

static const struct waiting_rules rules = {
	.ended = handle_waiting_ended,
	.has_news = has_news,
	.settle_ms = SETTLE_MS,
};

/* Return the reason against it; NULL: none. */
static const char *check_arguments(const struct execution_info *info,
				   struct json_value *const *values)
{
	const bool is_sized = values[WRITE_ROWS] || values[WRITE_COLUMNS];

	if (info->state == EXECUTION_OVER)
		return "Nothing was typed: the execution has ended. read_output shows its last "
		       "output and how it ended.";
	if (is_sized && !(values[WRITE_ROWS] && values[WRITE_COLUMNS]))
		return "Give both `tty_rows` and `tty_columns`, or none of them.";
	if (is_sized && !info->is_terminal)
		return "The execution has no terminal to resize. Start it with `tty` set to true.";
	return NULL;
}

static const char *const write_problems[] = {
	[EXECUTION_WRITE_CLOSED] = "Nothing was typed: the execution's standard input is closed. "
				   "Start it with `interactive` or `tty` to type to it.",
	[EXECUTION_WRITE_FULL] = "Nothing was typed: 12 MiB of input wait to be read by "
				 "executions. Call again when they are read.",
};

/* Write the data. NULL: it was written; otherwise the reason. */
static const char *type_data(struct execution *execution, const struct json_value *data,
			     bool is_last)
{
	enum execution_write done;

	if (!data && !is_last)
		return NULL;
	done = execution_write(execution, data ? data->text : NULL, data ? data->size : 0, is_last);
	return done == EXECUTION_WRITE_DONE ? NULL : write_problems[done];
}

static void send_input(struct call *call, const struct json_document *document,
		       struct json_value *const *values)
{
	struct execution *execution = handle_find(call, values[WRITE_HANDLE]);
	const char *problem;

	if (!execution)
		return;
	problem = check_arguments(execution_info(execution), values);
	if (!problem && values[WRITE_ROWS] &&
	    !execution_resize(execution, (uint32_t)tool_integer(values[WRITE_ROWS], 0),
			      (uint32_t)tool_integer(values[WRITE_COLUMNS], 0)))
		problem = "The terminal is closed.";
	if (!problem)
		problem = type_data(execution, values[WRITE_DATA], tool_boolean(values[WRITE_EOF]));
	if (problem)
		call_fail(call, "%s", problem);
	else
		waiting_begin(memory_get_zeroed(1, sizeof(struct waiting)), call, execution, &rules,
			      (uint32_t)tool_integer(values[WRITE_WAIT], WAIT_MS_WRITE));
}

const struct tool tool_send_input = {
	.name = "send_input",
	.title = "Type to an execution",
	.description =
		"Type to an execution that was started with `tty` or `interactive`, and return "
		"the new output after up to `wait_ms`. End a line with \\n; in a terminal "
		"\\u0003 is Ctrl-C.",
	TOOL_PARAMS(params),
	.handler = send_input,
};
