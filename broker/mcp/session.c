/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/session.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "mcp/call.h"
#include "mcp/methods.h"
#include "memory.h"

/* What a reference implementation takes too. */
#define BATCH_MESSAGES_MAX 100U

/* A batch is answered by one array, when the last of its calls is over. */
struct batch {
	struct buffer answers;
	uint32_t open; /* calls, and the reading of the batch itself */
};

static const struct {
	enum rpc_code code;
	const char *text;
} json_problems[] = {
	[JSON_ERROR_UTF8] = { RPC_PARSE_ERROR, "Parse error: the line is not valid UTF-8" },
	[JSON_ERROR_SYNTAX] = { RPC_PARSE_ERROR, "Parse error: the line is not valid JSON" },
	[JSON_ERROR_DEPTH] = { RPC_INVALID_REQUEST, "Invalid request: nested deeper than 128" },
	[JSON_ERROR_DUPLICATE] = { RPC_INVALID_REQUEST,
				   "Invalid request: an object has the same key twice" },
	[JSON_ERROR_VALUES] = { RPC_INVALID_REQUEST, "Invalid request: more than 65536 values" },
};

void session_init(struct session *session, struct executions *executions,
		  void (*send)(void *context, const struct buffer *line), void *context)
{
	memset(session, 0, sizeof(*session));
	session->executions = executions;
	session->send = send;
	session->context = context;
}

void session_done(struct session *session)
{
	while (session->calls)
		call_drop(session->calls);
}

void session_answer(struct session *session, struct batch *batch, const struct buffer *answer)
{
	if (!batch) {
		session->send(session->context, answer);
		return;
	}
	buffer_append(&batch->answers, batch->answers.size ? "," : "[", 1);
	buffer_append(&batch->answers, answer->bytes, answer->size);
}

void batch_hold(struct batch *batch)
{
	if (batch)
		batch->open++;
}

void batch_release(struct session *session, struct batch *batch)
{
	if (!batch || --batch->open > 0)
		return;
	if (batch->answers.size > 0) {
		buffer_append(&batch->answers, "]", 1);
		session->send(session->context, &batch->answers);
	}
	buffer_done(&batch->answers);
	free(batch);
}

static void refuse_line(struct session *session, const struct rpc_id *id, enum rpc_code code,
			const char *text)
{
	struct buffer message = { 0 }, answer = { 0 };
	struct json_writer writer = { .out = &answer };

	buffer_append_text(&message, text);
	message_put_error(&writer, id, code, &message, NULL);
	session_answer(session, NULL, &answer);
	buffer_done(&message);
	buffer_done(&answer);
}

static void take_batch(struct session *session, const struct json_document *document,
		       struct json_value *top)
{
	struct batch *batch;

	if (!era_has_batches(session->version)) {
		refuse_line(session, NULL, RPC_INVALID_REQUEST,
			    "Invalid request: batches belong to protocol version 2025-03-26 only");
		return;
	}
	if (top->count == 0 || top->count > BATCH_MESSAGES_MAX) {
		refuse_line(session, NULL, RPC_INVALID_REQUEST,
			    "Invalid request: a batch holds 1 to 100 messages");
		return;
	}
	batch = memory_get_zeroed(1, sizeof(*batch));
	batch_hold(batch);
	for (struct json_value *v = json_first(document, top); v; v = json_next(document, v))
		methods_take(session, batch, document, v);
	batch_release(session, batch);
}

/* The text is JSON, but not one that we take. Its id tells the client which request failed. */
static void refuse_document(struct session *session, const struct json_document *document,
			    enum json_error error)
{
	struct json_value *id = json_member(document, json_top(document), "id");
	struct rpc_id read = { 0 };

	if (id)
		(void)rpc_id_read(id, &read); /* unreadable: null */
	refuse_line(session, &read, json_problems[error].code, json_problems[error].text);
	rpc_id_done(&read);
}

void session_take_line(struct session *session, char *line, size_t size)
{
	struct json_document document;
	enum json_error error;

	if (size == 0)
		return;
	error = json_read(&document, line, size);
	if (error)
		refuse_document(session, &document, error);
	else if (json_is(json_top(&document), JSON_ARRAY))
		take_batch(session, &document, json_top(&document));
	else
		methods_take(session, NULL, &document, json_top(&document));
	json_done(&document);
}

void session_take_long_line(struct session *session)
{
	_Static_assert(LINE_BYTES_MAX == 10485760, "the text below names it");
	refuse_line(session, NULL, RPC_INVALID_REQUEST,
		    "Invalid request: the line is longer than 10485760 bytes");
}
