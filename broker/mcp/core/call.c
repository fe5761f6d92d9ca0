/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/call.h"

#include <stdlib.h>

#include "common/clock.h"
#include "executions/share.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"

/* Interval between two notifications of progress. */
#define PROGRESS_MS 500

static enum log_level log_threshold(const struct request *request)
{
	enum log_level level = LOG_LEVEL_NONE;

	if (request->era == ERA_LEGACY)
		return request->session->log_level;
	(void)log_level_read(json_member(request->document, request->message->meta, META_LOG_LEVEL),
			     &level); /* without a known level no log message is sent */
	return level;
}

static void link_call(struct call *call)
{
	struct session *session = call->session;

	call->next = session->calls;
	session->calls = call;
	session->call_count++;
	session->host->call_count++;
}

bool call_has_room(const struct session *session)
{
	const struct host *host = session->host;
	size_t own = 0;

	if (share_is_plenty(host->call_count, CALLS_MAX))
		return true;
	for (const struct session *s = host->sessions; s; s = s->next)
		own += s->principal == session->principal ? s->call_count : 0;
	return share_allows(session->principal, own, host->call_count, CALLS_MAX, 1);
}

struct call *call_new(const struct request *request)
{
	struct session *session = request->session;
	struct call *call = memory_get_zeroed(1, sizeof(*call));

	call->session = session;
	call->exchange = request->exchange;
	call->id = request->message->id;
	request->message->id = (struct rpc_id){ 0 };
	call->era = request->era;
	call->begun_us = clock_now_us();
	call->log_level = log_threshold(request);
	call->abilities = request_abilities(request);
	call->progress.last = -1;
	(void)rpc_id_read(json_member(request->document, request->message->meta, "progressToken"),
			  &call->progress.token); /* another value asks for none */
	exchange_hold(call->exchange);
	link_call(call);
	return call;
}

static void unlink_call(struct call *call)
{
	CHAIN_REMOVE(call->session->calls, call, next);
	call->session->call_count--;
	call->session->host->call_count--;
}

void call_end(struct call *call)
{
	unlink_call(call);
	if (call->ask)
		call->end_ask(call);
	exchange_release(call->exchange);
	rpc_id_done(&call->id);
	rpc_id_done(&call->progress.token);
	free(call);
}

void call_move(struct call *call, struct session *session, struct exchange *exchange)
{
	unlink_call(call);
	exchange_hold(exchange);
	exchange_release(call->exchange);
	rpc_id_done(&call->id);
	rpc_id_done(&call->progress.token);
	call->log_level = LOG_LEVEL_NONE;
	call->exchange = exchange;
	call->session = session;
	link_call(call);
}

struct call *call_find(struct session *session, const struct rpc_id *id)
{
	struct call *call = session->calls;

	while (call && !rpc_id_equals(&call->id, id))
		call = call->next;
	return call;
}

void call_cancel(struct call *call)
{
	if (call->cancel)
		call->cancel(call);
	call_end(call);
}

void call_open_typed(struct call *call, struct answer *answer, const char *type)
{
	answer_begin(answer, &call->id, call->era, type);
}

void call_open_result(struct call *call, struct answer *answer)
{
	call_open_typed(call, answer, "complete");
}

void call_open_meta(struct call *call, struct answer *answer)
{
	message_open_meta(&answer->writer, call->era);
	answer->has_meta = true;
}

void call_put_answer(struct call *call, struct answer *answer)
{
	answer_send(answer, call->exchange, call->era);
}

void call_close_result(struct call *call, struct answer *answer)
{
	call_put_answer(call, answer);
	call_end(call);
}

void call_put_block(struct json_writer *writer, const struct buffer *text)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "type", "text");
	json_put_string(writer, "text", text->bytes, text->size);
	json_close_object(writer);
}

void call_put_text(struct answer *answer, const struct buffer *text, bool is_error)
{
	struct json_writer *writer = &answer->writer;

	json_open_array(writer, "content");
	call_put_block(writer, text);
	json_close_array(writer);
	json_put_bool(writer, "isError", is_error);
}

void call_answer_text(struct call *call, struct buffer *text, bool is_error)
{
	struct answer answer;

	if (is_error && call->is_plain) {
		call_refuse(call, RPC_INVALID_REQUEST, text->bytes, NULL);
	} else {
		call_open_result(call, &answer);
		call_put_text(&answer, text, is_error);
		call_close_result(call, &answer);
	}
	buffer_done(text);
}

void call_fail(struct call *call, const char *format, ...)
{
	struct buffer text = { 0 };
	va_list words;

	va_start(words, format);
	buffer_vformat(&text, format, words);
	va_end(words);
	call_answer_text(call, &text, true);
}

void call_fail_value(struct call *call, const char *argument, const struct json_value *value,
		     const char *rest)
{
	call_fail(call, "The argument `%s` is \"%s\", %s", argument,
		  text_quoted(value->text, value->size, QUOTE_BYTES), rest);
}

void call_refuse(struct call *call, enum rpc_code code, const char *text, const struct buffer *data)
{
	exchange_refuse(call->exchange, &call->id, code, text, data);
	call_end(call);
}

void call_say_progress(struct call *call, double progress, double total, const char *message)
{
	struct call_progress *state = &call->progress;
	const int64_t now = clock_steady_ms();
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	if (state->token.raw.size == 0 || progress <= state->last ||
	    (state->last_ms > 0 && now - state->last_ms < PROGRESS_MS))
		return;
	state->last = progress;
	state->last_ms = now;
	message_open_notification(&writer, "notifications/progress");
	json_put_raw(&writer, "progressToken", state->token.raw.bytes, state->token.raw.size);
	json_put_double(&writer, "progress", progress);
	if (total > 0)
		json_put_double(&writer, "total", total);
	if (message)
		json_put_text(&writer, "message", message);
	exchange_close(call->exchange, &writer);
}

void call_say_log(struct call *call, enum log_level level, const char *logger,
		  const struct buffer *data)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	if (level < call->log_level)
		return;
	message_open_notification(&writer, "notifications/message");
	json_put_text(&writer, "level", log_level_name(level));
	json_put_text(&writer, "logger", logger);
	json_put_raw(&writer, "data", data->bytes, data->size);
	exchange_close(call->exchange, &writer);
}
