/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts about output: the shown part, the omitted part and how to get it, and that an
 * execution goes on.
 */
#include <inttypes.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "frontend/denial_hints.h"
#include "frontend/denials.h"
#include "frontend/denials_network.h"
#include "frontend/outcome_json.h"
#include "io/clock.h"
#include "io/excerpt.h"
#include "mcp/core/result.h"

/* With less time left than this, a result says how to have more. */
#define SOON_MS 30000

const char *result_stream_name(enum output_stream stream)
{
	return stream == OUTPUT_OUT ? "stdout" : "stderr";
}

static bool is_over(const struct execution_info *info)
{
	return info->state == EXECUTION_OVER;
}

static const struct output *stream_of(const struct execution_info *info, size_t stream)
{
	return &info->log.streams[stream];
}

/* In a running execution, half a character at the end waits for its other half. */
static uint64_t end_of(const struct execution_info *info, size_t stream, uint64_t from)
{
	const struct output *output = stream_of(info, stream);

	return is_over(info) ? output->total : excerpt_whole(output, from, output->total);
}

struct result_part result_part_all(const struct execution_info *info)
{
	struct result_part part = { .from = { 0 } };

	for (size_t i = 0; i < OUTPUT_STREAMS; i++)
		part.to[i] = end_of(info, i, 0);
	return part;
}

struct result_part result_part_new(const struct execution_info *info)
{
	struct result_part part = { .from = { 0 } };

	for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
		part.from[i] = info->cursor[i];
		part.to[i] = end_of(info, i, part.from[i]);
	}
	return part;
}

bool result_part_is_empty(const struct result_part *part)
{
	return part->from[OUTPUT_OUT] == part->to[OUTPUT_OUT] &&
	       part->from[OUTPUT_ERR] == part->to[OUTPUT_ERR];
}

static void put_counts(const struct execution_info *info, struct buffer *text)
{
	const uint64_t out = info->log.streams[OUTPUT_OUT].total;

	buffer_format(text, "stdout has %" PRIu64 " byte%s, stderr %" PRIu64, out,
		      out == 1 ? "" : "s", info->log.streams[OUTPUT_ERR].total);
}

/* Say how to get the omitted output. */
static void say_cut(const struct execution_info *info, const bool is_cut[OUTPUT_STREAMS],
		    const uint64_t omitted[OUTPUT_STREAMS], struct buffer *text)
{
	const char *joint = " · ";

	buffer_append_text(text, "[output cut: ");
	put_counts(info, text);
	for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
		if (!is_cut[i])
			continue;
		buffer_format(
			text, "%sread_output(handle=\"%s\", stream=\"%s\", offset=%" PRIu64 ")",
			joint, info->handle, result_stream_name((enum output_stream)i), omitted[i]);
		joint = " and ";
	}
	buffer_append_text(text, " shows what was omitted]\n");
}

/* Share the room between both streams: one gets the part that the other does not need. */
static void put_output(const struct execution_info *info, const struct result_part *part,
		       size_t room, struct result *ret)
{
	const struct excerpt out = { stream_of(info, OUTPUT_OUT), part->from[OUTPUT_OUT],
				     part->to[OUTPUT_OUT] };
	const struct excerpt err = { stream_of(info, OUTPUT_ERR), part->from[OUTPUT_ERR],
				     part->to[OUTPUT_ERR] };
	const size_t half = room / 2;
	const size_t out_size = excerpt_text_size(&out, room);
	const size_t err_size = excerpt_text_size(&err, room);
	bool is_cut[OUTPUT_STREAMS] = { false, false };
	uint64_t omitted[OUTPUT_STREAMS] = { 0, 0 };

	is_cut[OUTPUT_OUT] = excerpt_append(&out, err_size < half ? room - err_size : half,
					    &ret->text, &omitted[OUTPUT_OUT]);
	buffer_end_line(&ret->text);
	if (err.to > err.from) {
		buffer_append_text(&ret->text, "[stderr]\n");
		is_cut[OUTPUT_ERR] = excerpt_append(&err, out_size < half ? room - out_size : half,
						    &ret->text, &omitted[OUTPUT_ERR]);
		buffer_end_line(&ret->text);
	}
	ret->is_truncated = is_cut[OUTPUT_OUT] || is_cut[OUTPUT_ERR];
	if (ret->is_truncated)
		say_cut(info, is_cut, omitted, &ret->text);
}

static void say_dropped(const struct execution_info *info, struct result *ret)
{
	buffer_append_text(&ret->text, "[the log was dropped to make room for other executions': ");
	put_counts(info, &ret->text);
	buffer_append_text(&ret->text, "]\n");
	ret->is_truncated = true;
}

static uint64_t us_since(int64_t then_ms)
{
	const int64_t now = clock_steady_ms();

	return now > then_ms ? (uint64_t)(now - then_ms) * 1000 : 0;
}

static void say_running(const struct execution_info *info, bool is_silent, struct buffer *text)
{
	const int64_t left_ms = info->ends_ms - clock_steady_ms();

	buffer_append_text(text, "[still running after ");
	result_put_duration(text, us_since(info->started_ms));
	if (is_silent)
		buffer_append_text(text, " · no new output");
	buffer_format(text, " · handle %s", info->handle);
	if (info->ends_ms > 0) {
		buffer_append_text(text, " · will be killed in ");
		result_put_duration(text, left_ms > 0 ? (uint64_t)left_ms * 1000 : 0);
		if (info->has_most_time)
			buffer_append_text(text, ", the most of its profile");
		else if (left_ms < SOON_MS)
			buffer_append_text(text, " (timeout_ms gives more)");
	}
	buffer_append_text(text, " · read_output(handle, wait_ms) to go on, ");
	if (info->is_input_open)
		buffer_append_text(text, "send_input to type, ");
	buffer_append_text(text, "kill_execution to end]");
}

static bool has_printed(const struct execution_info *info)
{
	return info->log.streams[OUTPUT_OUT].total > 0 || info->log.streams[OUTPUT_ERR].total > 0;
}

/* Copy the end of a stream, for hints. */
static size_t read_tail(const struct execution_info *info, enum output_stream stream,
			char ret[HINT_BYTES])
{
	const struct output *output = stream_of(info, stream);

	return output_read(output, output->total > HINT_BYTES ? output->total - HINT_BYTES : 0, ret,
			   HINT_BYTES);
}

/* Describe denials and, for a failed execution, the hints in its last errors. */
static const struct denial_views *describe_denials(const struct execution_info *info,
						   const struct result *result)
{
	static struct denial_views views; /* too large to be cleared each time */
	static char errors[HINT_BYTES], output[HINT_BYTES];
	const struct hint_source source = {
		.plan = result->plan,
		.profile = info->label.profile,
		.cwd = info->label.cwd[0] ? info->label.cwd : NULL,
		.command = info->label.command,
		.exit_code = info->done->exit_code,
		.is_timeout = info->done->verdict == VERDICT_TIMEOUT,
		.is_tool = true,
		.is_persistent = info->label.sandbox[0] != '\0',
		.is_service = result->is_service,
		.is_counted = result->limits == LIMITS_CGROUP,
		.peak_bytes = info->done->peak_bytes,
		.tail = errors,
		.size = read_tail(info, OUTPUT_ERR, errors),
		.output = output,
		.output_size = read_tail(info, OUTPUT_OUT, output),
	};

	denials_describe(result->plan, info->label.profile, info->done, &views);
	denials_add_network(&source, info->network, &views);
	if (denial_hints_apply(info->done))
		denial_hints_add(&source, &views);
	return &views;
}

/* Put the hints in at most two lines. */
static void put_hints(const struct execution_info *info, struct result *ret)
{
	char lines[DENIALS_TEXT_MAX];

	/* a successful command did not need the denied operations; _meta has them for programs */
	if (info->done->verdict == VERDICT_EXITED && info->done->exit_code == 0)
		return;
	denials_put_hints(describe_denials(info, ret), lines);
	buffer_append_text(&ret->text, lines);
}

/* A server that was started with '&' is gone, although the command succeeded. */
static void append_left_behind(const struct ipc_execution_done *done, struct buffer *text)
{
	if (done->verdict != VERDICT_EXITED || done->left_behind == 0)
		return;
	buffer_format(text,
		      done->left_behind == 1 ? "[%" PRIu32 " background process was"
					     : "[%" PRIu32 " background processes were",
		      done->left_behind);
	buffer_append_text(text, " ended with the command: run a server as a command of its own "
				 "with yield_ms 0]\n");
}

static void put_last_line(const struct execution_info *info, bool is_silent, struct result *ret)
{
	struct buffer *text = &ret->text;

	if (!is_over(info)) {
		say_running(info, is_silent, text);
		return;
	}
	put_hints(info, ret);
	append_left_behind(info->done, text);
	buffer_append_text(text, "[");
	result_put_verdict(info, ret->plan, text);
	if (is_silent)
		buffer_append_text(text, has_printed(info) ? " · no new output" : " · no output");
	buffer_append_text(text, "]");
}

/* Put the reason why the command did not run. */
static bool put_failure(const struct execution_info *info, struct result *ret)
{
	if (!info->refused && (!info->done || info->done->stage == STAGE_NONE))
		return false;
	ret->is_error = true;
	result_put_failure(info, ret->plan, &ret->text);
	return true;
}

static bool is_failed(const struct execution_info *info)
{
	return info->done &&
	       (info->done->verdict >= VERDICT_COUNT || info->done->verdict == VERDICT_INTERNAL);
}

void result_of_execution(const struct execution_info *info, const struct result_part *part,
			 size_t room, struct result *ret)
{
	if (put_failure(info, ret))
		return;
	ret->is_error = is_failed(info);
	if (info->is_log_dropped)
		say_dropped(info, ret);
	else
		put_output(info, part, room, ret);
	put_last_line(info, result_part_is_empty(part), ret);
}

void result_of_stream(const struct execution_info *info, enum output_stream stream, uint64_t offset,
		      size_t room, struct result *ret)
{
	const char *name = result_stream_name(stream);
	const uint64_t total = stream_of(info, stream)->total;
	struct excerpt excerpt = { stream_of(info, stream), offset, total };
	struct buffer shown = { 0 };
	uint64_t from, to;

	if (put_failure(info, ret))
		return;
	ret->is_error = is_failed(info);
	if (offset > total)
		excerpt.from = total;
	excerpt.to = end_of(info, stream, excerpt.from);
	excerpt_append_first(&excerpt, room, &shown, &from, &to);
	if (info->is_log_dropped)
		say_dropped(info, ret);
	else if (from > excerpt.from)
		buffer_format(&ret->text,
			      "[bytes %" PRIu64 " to %" PRIu64
			      " of %s are not kept: the log has the beginning and the end]\n",
			      excerpt.from, from - 1, name);
	buffer_append(&ret->text, shown.bytes, shown.size);
	buffer_done(&shown);
	buffer_end_line(&ret->text);
	if (offset > total)
		buffer_format(&ret->text, "[%s has only %" PRIu64 " byte%s so far]\n", name, total,
			      total == 1 ? "" : "s");
	else if (to > from)
		buffer_format(&ret->text,
			      "[%s from %" PRIu64 " to before %" PRIu64 " of %" PRIu64 " bytes · ",
			      name, from, to, total);
	if (offset <= total && to > from)
		buffer_format(&ret->text,
			      to < total ? "more: offset=%" PRIu64 "]\n"
					 : "all so far: offset=%" PRIu64 "]\n",
			      to);
	ret->is_truncated = to < total;
	put_last_line(info, to == from, ret);
}

void result_put_meta(struct json_writer *writer, const struct result *result,
		     const struct execution_info *info, const struct posture *posture, bool is_kept)
{
	const struct outcome_facts facts = {
		.done = info->done,
		.timings = &info->timings,
		.denials = info->done ? describe_denials(info, result) : NULL,
		.wall_us = us_since(info->started_ms),
		.stdout_bytes = info->log.streams[OUTPUT_OUT].total,
		.stderr_bytes = info->log.streams[OUTPUT_ERR].total,
		.is_truncated = result->is_truncated,
		.limits = posture->limits,
		.landlock_abi = posture->landlock_abi,
		.profile = info->label.profile,
		.posture = posture_find(posture, info->label.profile),
	};

	json_open_object(writer, "msp/execution");
	if (is_kept) {
		json_put_text(writer, "handle", info->handle);
		json_put_text(writer, "state", info->done ? "ended" : "running");
	}
	outcome_put(writer, &facts);
	json_close_object(writer);
}
