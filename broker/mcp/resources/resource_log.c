/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/utf8.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/resources/subscriptions.h"

/* A readable log of both streams together, with room left for the lines around them. */
#define TEXT_BYTES (RESOURCE_BYTES_MAX - 4096)

/* Decimal digits of an offset; longer numbers are invalid. */
#define OFFSET_DIGITS 15

#define LOG_URI "sandbox://{id}/log/{execution}"
#define STREAM_URI LOG_URI "/{stream}"
#define PIECE_URI STREAM_URI "/{offset}"

/* Indexes of the variables in all three templates. */
enum log_variable {
	LOG_SANDBOX,
	LOG_EXECUTION,
	LOG_STREAM,
	LOG_OFFSET,
};

/* --- what a URI means ----------------------------------------------------------------------- */

static struct execution *find_execution(const struct session *session,
					const struct resource_values *values)
{
	char handle[2 * RESOURCE_VALUE_MAX];
	const int size = snprintf(handle, sizeof(handle), "%s-%s", values->value[LOG_SANDBOX],
				  values->value[LOG_EXECUTION]);

	return executions_find(session->host->executions, session->principal, handle, (size_t)size);
}

static bool find_stream(const struct resource_values *values, enum output_stream *ret)
{
	for (enum output_stream stream = 0; stream < OUTPUT_STREAMS; stream++) {
		if (strcmp(values->value[LOG_STREAM], result_stream_name(stream)) == 0) {
			*ret = stream;
			return true;
		}
	}
	return false;
}

/* Read an offset; an absent one is 0. */
static bool read_offset(const char *text, uint64_t *ret)
{
	const size_t digits = strspn(text, "0123456789");

	*ret = strtoull(text, NULL, 10);
	return digits <= OFFSET_DIGITS && text[digits] == '\0';
}

static bool log_exists(const struct session *session, const struct resource_values *values)
{
	return find_execution(session, values) != NULL;
}

static bool stream_exists(const struct session *session, const struct resource_values *values)
{
	const struct execution *execution = find_execution(session, values);
	enum output_stream stream;
	uint64_t offset;

	return execution && find_stream(values, &stream) &&
	       read_offset(values->value[LOG_OFFSET], &offset) &&
	       offset <= execution_info(execution)->log.streams[stream].total;
}

/* Put the URI of a stream of a log from an offset on. */
static void put_piece(const struct execution_info *info, enum output_stream stream, uint64_t offset,
		      struct buffer *ret)
{
	buffer_format(ret, "sandbox://%s/log/%" PRIu32 "/%s/%" PRIu64, info->sandbox, info->number,
		      result_stream_name(stream), offset);
}

/* --- lists ---------------------------------------------------------------------------------- */

static void describe_log(const struct execution_info *info, const struct resource_walk *walk)
{
	struct resource_entry entry = { .has_size = true };

	(void)snprintf(entry.values.value[LOG_SANDBOX], RESOURCE_VALUE_MAX, "%s", info->sandbox);
	(void)snprintf(entry.values.value[LOG_EXECUTION], RESOURCE_VALUE_MAX, "%" PRIu32,
		       info->number);
	buffer_append_text(&entry.name, info->handle);
	buffer_append_text(&entry.title, "Log of: ");
	buffer_append_text(&entry.title, info->label.command);
	entry.size = info->log.streams[OUTPUT_OUT].total + info->log.streams[OUTPUT_ERR].total;
	if (info->state == EXECUTION_OVER) /* a running execution may change at any time */
		entry.modified_ms = clock_date_ms() - (clock_steady_ms() - info->over_ms);
	resources_put(walk, &entry);
}

static void list_logs(const struct session *session, struct resource_walk *walk)
{
	const struct execution_owner owner = session_owner(session);
	const struct execution *execution = NULL;

	while ((execution = executions_older(session->host->executions, &owner, execution))) {
		if (resources_wants(walk))
			describe_log(execution_info(execution), walk);
	}
}

/* --- the readable log ------------------------------------------------------------------------ */

/* Return the bytes kept from `offset` on without a gap, at most `size`; the caller frees them. */
static struct buffer read_span(const struct output *output, uint64_t offset, size_t size)
{
	struct buffer span = { .bytes = memory_get(size), .room = size };

	span.size = output_read(output, offset, span.bytes, size);
	return span;
}

static void say_missing(const char *name, uint64_t size, struct buffer *text)
{
	buffer_end_line(text);
	buffer_format(text, "[%" PRIu64 " byte%s of %s %s not kept]\n", size, size == 1 ? "" : "s",
		      name, size == 1 ? "is" : "are");
}

static void say_rest(const struct execution_info *info, enum output_stream stream, uint64_t offset,
		     struct buffer *text)
{
	buffer_end_line(text);
	buffer_format(text,
		      "[%s has %" PRIu64 " bytes; this is as far as byte %" PRIu64 ", read on at ",
		      result_stream_name(stream), info->log.streams[stream].total, offset);
	put_piece(info, stream, offset, text);
	buffer_append_text(text, "]\n");
}

/* Put the kept part of a stream in at most `room` bytes of text, and the lines about its gap: there
 * is one gap at most. */
static void put_stream(const struct execution_info *info, enum output_stream stream, size_t room,
		       struct buffer *text)
{
	const struct output *output = &info->log.streams[stream];
	uint64_t offset = 0;

	while (offset < output->total) {
		const uint64_t kept = output_kept_from(output, offset);
		const size_t start = text->size;
		struct buffer span;
		size_t fits;

		if (kept > offset)
			say_missing(result_stream_name(stream), kept - offset, text);
		if (kept == output->total)
			return;
		span = read_span(output, kept, room);
		fits = text_fit_first(span.bytes, span.size, room, TEXT_CONTENTS);
		text_append(text, span.bytes, fits, TEXT_CONTENTS);
		buffer_done(&span);
		offset = kept + fits;
		room -= text->size - start < room ? text->size - start : room;
		if (fits == 0 || room == 0) {
			say_rest(info, stream, offset, text);
			return;
		}
	}
}

/* Share the room between both streams: one gets the part that the other does not need. */
static size_t room_of(const struct execution_info *info, enum output_stream stream)
{
	const uint64_t other =
		info->log.streams[stream == OUTPUT_OUT ? OUTPUT_ERR : OUTPUT_OUT].total;
	const size_t half = TEXT_BYTES / 2;

	/* a byte is shown as four at most */
	return other < half / 4 ? TEXT_BYTES - (size_t)other * 4 : half;
}

static void put_state(const struct execution_info *info, const struct plan *plan,
		      struct buffer *text)
{
	buffer_append_text(text, "[");
	if (info->state == EXECUTION_OVER)
		result_put_verdict(info, plan, text);
	else
		buffer_append_text(text, "still running");
	buffer_append_text(text, "]\n");
}

static void read_log(struct call *call, const struct resource *resource)
{
	const struct execution_info *info =
		execution_info(find_execution(call->session, &resource->values));
	struct buffer text = { 0 };

	put_stream(info, OUTPUT_OUT, room_of(info, OUTPUT_OUT), &text);
	buffer_end_line(&text);
	if (info->log.streams[OUTPUT_ERR].total > 0) {
		buffer_append_text(&text, "[stderr]\n");
		put_stream(info, OUTPUT_ERR, room_of(info, OUTPUT_ERR), &text);
		buffer_end_line(&text);
	}
	put_state(info, &call->session->host->plan, &text);
	resources_answer(call, resource, &text, NULL);
	buffer_done(&text);
}

/* --- a stream, byte for byte ---------------------------------------------------------------- */

/* Drop the half character at the end of a piece that is text otherwise. */
static void drop_half_character(struct buffer *span)
{
	const size_t half = text_unfinished(span->bytes, span->size);

	if (half < span->size && utf8_is_valid(span->bytes, span->size - half))
		span->size -= half;
}

/* Write where the piece begins and ends in the stream, and where to go on. */
static void put_meta(const struct execution_info *info, enum output_stream stream, uint64_t offset,
		     size_t size, struct buffer *ret)
{
	const struct output *output = &info->log.streams[stream];
	const uint64_t next = output_kept_from(output, offset + size);
	struct json_writer writer = { .out = ret };
	struct buffer uri = { 0 };

	json_open_object(&writer, NULL);
	json_open_object(&writer, "msp/log");
	json_put_number(&writer, "offset", offset);
	json_put_number(&writer, "size", size);
	json_put_number(&writer, "total", output->total);
	json_put_bool(&writer, "running", info->state != EXECUTION_OVER);
	if (next < output->total) {
		put_piece(info, stream, next, &uri);
		json_put_string(&writer, "next", uri.bytes, uri.size);
	}
	json_close_object(&writer);
	json_close_object(&writer);
	buffer_done(&uri);
}

/* Refuse bytes that have been dropped. */
static void refuse_missing(struct call *call, const struct execution_info *info,
			   enum output_stream stream, uint64_t offset, uint64_t kept)
{
	struct buffer text = { 0 };

	buffer_format(&text, "The %s of %s is not kept from byte %" PRIu64 " on",
		      result_stream_name(stream), info->handle, offset);
	if (kept < info->log.streams[stream].total) {
		buffer_append_text(&text, "; read on at ");
		put_piece(info, stream, kept, &text);
	} else {
		buffer_append_text(&text, " to its end; run the command again if you need it");
	}
	call_refuse(call, RPC_INVALID_PARAMS, text.bytes, NULL);
	buffer_done(&text);
}

static void read_stream(struct call *call, const struct resource *resource)
{
	const struct execution_info *info =
		execution_info(find_execution(call->session, &resource->values));
	enum output_stream stream = OUTPUT_OUT;
	struct buffer span, meta = { 0 };
	const struct output *output;
	uint64_t offset, kept;

	/* both have been validated */
	(void)find_stream(&resource->values, &stream);
	(void)read_offset(resource->values.value[LOG_OFFSET], &offset);
	output = &info->log.streams[stream];
	kept = output_kept_from(output, offset);
	if (kept > offset) {
		refuse_missing(call, info, stream, offset, kept);
		return;
	}
	span = read_span(output, offset, RESOURCE_BYTES_MAX);
	if (offset + span.size < output->total)
		drop_half_character(&span);
	put_meta(info, stream, offset, span.size, &meta);
	resources_answer(call, resource, &span, &meta);
	buffer_done(&span);
	buffer_done(&meta);
}

/* --- completion ------------------------------------------------------------------------------- */

/* Return true for the first execution of its sandbox in the list. */
static bool is_first(const struct executions *executions, const struct execution_owner *owner,
		     const struct execution *execution)
{
	const struct execution *other = NULL;

	while ((other = executions_older(executions, owner, other)) != execution) {
		if (strcmp(execution_info(other)->sandbox, execution_info(execution)->sandbox) == 0)
			return false;
	}
	return true;
}

/* Offer the numbers of one sandbox's executions, or the ids of the sandboxes. */
static void offer_executions(const struct session *session, const char *sandbox,
			     struct completion *completion)
{
	const struct executions *executions = session->host->executions;
	const struct execution_owner owner = session_owner(session);
	const struct execution *execution = NULL;
	char number[16];

	while ((execution = executions_older(executions, &owner, execution))) {
		const struct execution_info *info = execution_info(execution);

		(void)snprintf(number, sizeof(number), "%" PRIu32, info->number);
		if (sandbox && strcmp(info->sandbox, sandbox) == 0)
			completion_offer(completion, number);
		if (!sandbox && is_first(executions, &owner, execution))
			completion_offer(completion, info->sandbox);
	}
}

static void complete_log(const struct session *session, size_t place,
			 const struct resource_values *known, struct completion *completion)
{
	if (place == LOG_SANDBOX)
		offer_executions(session, NULL, completion);
	else if (place == LOG_EXECUTION)
		offer_executions(session, known->value[LOG_SANDBOX], completion);
	else if (place == LOG_STREAM)
		for (enum output_stream stream = 0; stream < OUTPUT_STREAMS; stream++)
			completion_offer(completion, result_stream_name(stream));
}

/* --- what changes --------------------------------------------------------------------------- */

/* Its output, end or removal changes every resource of its log. */
static void on_event(struct execution_watch *watch, struct execution *execution,
		     enum execution_event event)
{
	struct host *host =
		(struct host *)(void *)((char *)watch - offsetof(struct host, log_watch));
	const struct execution_info *info = execution_info(execution);
	struct buffer uri = { 0 };
	size_t whole;

	if (event == EXECUTION_STARTED || info->is_file || !host->subscriptions)
		return;
	buffer_format(&uri, "sandbox://%s/log/%" PRIu32, info->sandbox, info->number);
	whole = uri.size;
	host_resource_updated(host, uri.bytes, uri.size);
	for (enum output_stream stream = 0; stream < OUTPUT_STREAMS; stream++) {
		uri.size = whole;
		buffer_append_text(&uri, "/");
		buffer_append_text(&uri, result_stream_name(stream));
		host_resource_updated(host, uri.bytes, uri.size);
	}
	buffer_done(&uri);
}

void resource_log_watch(struct host *host)
{
	host->log_watch.notify = on_event;
	executions_watch(host->executions, &host->log_watch);
}

const struct resource_provider resource_log = {
	.uri_template = LOG_URI,
	.name = "log",
	.title = "Log of an execution",
	.description = "The kept output of an execution: its standard output, its standard error "
		       "under [stderr], and how it ended. The handle ID-N of a result names it; "
		       "lines in brackets say which bytes are missing and where to read on. Logs "
		       "are kept for an hour after the execution ends.",
	.mime_type = "text/plain",
	.priority = 0.3,
	.list = list_logs,
	.exists = log_exists,
	.read = read_log,
	.complete = complete_log,
};

const struct resource_provider resource_log_stream = {
	.uri_template = STREAM_URI,
	.name = "log_stream",
	.title = "One stream of an execution",
	.description = "The bytes of an execution's stdout or stderr from the beginning, at most "
		       "128 KiB; _meta says where to go on.",
	.mime_type = "text/plain",
	.priority = 0.2,
	.exists = stream_exists,
	.read = read_stream,
	.complete = complete_log,
};

const struct resource_provider resource_log_piece = {
	.uri_template = PIECE_URI,
	.name = "log_piece",
	.title = "A piece of one stream of an execution",
	.description = "The bytes of a stream from an offset on, for logs that exceed one answer "
		       "or still grow.",
	.mime_type = "text/plain",
	.priority = 0.1,
	.is_piece = true,
	.exists = stream_exists,
	.read = read_stream,
	.complete = complete_log,
};
