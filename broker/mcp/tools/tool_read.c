/* SPDX-License-Identifier: Apache-2.0
 *
 * read_output: an execution's new output, collected until the end or the deadline, or its output
 * from an offset on. An answer costs the model a turn, so a line alone is no reason for one.
 */
#include <stdlib.h>

#include "io/prompt.h"
#include "lib/heap/memory.h"
#include "mcp/core/waiting.h"
#include "mcp/tools/params.h"
#include "mcp/tools/tool_handle.h"

enum read_param {
	READ_HANDLE,
	READ_OFFSET,
	READ_WAIT,
	READ_STREAM,
	READ_BYTES,
	READ_TIMEOUT,
};

/* The most bytes that a client may request at once, and the largest offset that a JSON number holds
 * exactly. */
#define READ_BYTES_MAX 100000

/* A prompt in a terminal is one if nothing follows for this many milliseconds. */
#define PROMPT_MS 500

static const char *const stream_names[] = { "stdout", "stderr", NULL };

static const struct tool_param params[] = {
	[READ_HANDLE] = ROW_HANDLE,
	[READ_OFFSET] = ROW_OFFSET(OFFSET_OF_BYTES_MAX, NULL,
				   "Read one stream from this byte on. Omitted: new output."),
	[READ_WAIT] = ROW_WAIT("wait_ms", WAIT_MS_DEFAULT, NULL),
	[READ_STREAM] = { .name = "stream",
			  .kind = PARAM_NAME,
			  .names = stream_names,
			  .description = "Omitted: both, or stdout with an offset." },
	[READ_BYTES] = ROW_LIMIT("max_bytes", READ_BYTES_MAX, RESULT_TEXT_BYTES, NULL),
	[READ_TIMEOUT] = ROW_TIMEOUT(
		"Let it run so long from now, within the profile's most from its start.", NULL),
};

struct reading {
	struct waiting waiting; /* first */
	size_t room;
	bool is_one; /* one stream, `stream`; else both */
	enum output_stream stream;
	bool has_offset;
	uint64_t offset;
	uint32_t wait_ms;
};

static struct result_part part_of(const struct reading *reading)
{
	struct result_part part = result_part_new(execution_info(reading->waiting.execution));

	for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
		if (reading->is_one && reading->stream != i)
			part.to[i] = part.from[i];
	}
	return part;
}

/* Return whether a page is full: more output would be cut, or is for the next call. Output from
 * before the cursor was in an answer or cut out of it, so that nobody waits for it. */
static bool is_full(const struct waiting *waiting)
{
	const struct reading *reading = (const struct reading *)waiting;
	const struct execution_info *info = execution_info(waiting->execution);
	const uint64_t total = info->log.streams[reading->stream].total;
	const struct result_part part = part_of(reading);
	uint64_t bytes = 0;

	if (reading->has_offset)
		return total > reading->offset &&
		       (reading->offset < info->cursor[reading->stream] ||
			total - reading->offset >= reading->room);
	for (size_t i = 0; i < OUTPUT_STREAMS; i++)
		bytes += part.to[i] - part.from[i];
	return bytes >= reading->room;
}

/* Return whether the new output ends with a terminal's prompt, so that the program waits. */
static bool has_prompt(const struct waiting *waiting)
{
	const struct reading *reading = (const struct reading *)waiting;
	const struct execution_info *info = execution_info(waiting->execution);
	const struct output *output = &info->log.streams[OUTPUT_OUT];
	const uint64_t shown = reading->has_offset ? reading->offset : info->cursor[OUTPUT_OUT];
	const uint64_t begin =
		output->total > PROMPT_BYTES_MAX ? output->total - PROMPT_BYTES_MAX : 0;
	char end[PROMPT_BYTES_MAX];

	if (!info->is_terminal || output->total <= shown)
		return false;
	return prompt_is_at_end(end, output_read(output, begin, end, sizeof(end)));
}

static void answer_output(struct reading *reading)
{
	struct execution *execution = reading->waiting.execution;
	const struct result_part part = part_of(reading);
	struct result result = handle_result(reading->waiting.call);

	if (!reading->has_offset) {
		(void)handle_answer(reading->waiting.call, execution, &part, reading->room, false);
		return;
	}
	result_of_stream(execution_info(execution), reading->stream, reading->offset, reading->room,
			 &result);
	handle_answer_result(reading->waiting.call, execution, &result, true);
}

static void on_ended(struct waiting *waiting, enum waiting_end end)
{
	if (end == WAITING_GONE)
		handle_fail_gone(waiting->call);
	else
		answer_output((struct reading *)waiting);
	free(waiting);
}

static const struct waiting_rules rules = {
	.ended = on_ended,
	.is_full = is_full,
	.has_news = has_prompt,
	.settle_ms = PROMPT_MS,
};

/* The deadline has moved, or the execution is over: now the output. */
static void on_extended(struct waiting *waiting, enum waiting_end end)
{
	const struct reading *reading = (const struct reading *)waiting;

	waiting->ends_at_start = false;
	if (end == WAITING_GONE)
		on_ended(waiting, end);
	else
		waiting_begin(waiting, waiting->call, waiting->execution, &rules, reading->wait_ms);
}

static const struct waiting_rules extension_rules = { .ended = on_extended };

/* Move the deadline of a running execution first. */
static void begin_extension(struct call *call, struct execution *execution, uint32_t timeout_ms,
			    struct reading *reading)
{
	if (!execution_extend(execution, timeout_ms)) {
		free(reading);
		call_fail(call, "The time limit was not moved: the execution is starting or "
				"ending. Call again in a moment.");
		return;
	}
	reading->waiting.ends_at_start = true;
	waiting_begin(&reading->waiting, call, execution, &extension_rules, 0);
}

static void read_output(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	struct execution *execution = handle_find(call, values[READ_HANDLE]);
	struct json_value *stream = values[READ_STREAM];
	struct reading *reading;

	if (!execution)
		return;
	reading = memory_get_zeroed(1, sizeof(*reading));
	reading->room = (size_t)tool_integer(values[READ_BYTES], RESULT_TEXT_BYTES);
	reading->has_offset = values[READ_OFFSET] != NULL;
	reading->offset = (uint64_t)tool_integer(values[READ_OFFSET], 0);
	reading->is_one = reading->has_offset || stream;
	reading->stream = stream && json_equals(stream, "stderr") ? OUTPUT_ERR : OUTPUT_OUT;
	reading->wait_ms = (uint32_t)tool_integer(values[READ_WAIT], WAIT_MS_DEFAULT);
	if (values[READ_TIMEOUT] && execution_info(execution)->state != EXECUTION_OVER)
		begin_extension(call, execution, (uint32_t)tool_integer(values[READ_TIMEOUT], 0),
				reading);
	else
		waiting_begin(&reading->waiting, call, execution, &rules, reading->wait_ms);
}

const struct tool tool_read_output = {
	.name = "read_output",
	.title = "Read an execution's output",
	.description =
		"Return an execution's output since the last call, collected for `wait_ms` or "
		"until "
		"the end; earlier only if a page is full or a terminal shows a prompt. 0 returns "
		"at once. Call it again until the last line is a verdict such as [exit 0 · 31.2 "
		"s]. With `offset` it reads one stream from that byte on, such as the middle of a "
		"cut output. Output is kept for an hour after its last use.",
	TOOL_PARAMS(params),
	.is_read_only = true,
	.handler = read_output,
};
