/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/session.h"

#include <string.h>

#include "io/lines.h"
#include "mcp/core/bridges.h"
#include "mcp/core/call.h"
#include "mcp/core/events.h"
#include "mcp/core/host_answers.h"
#include "mcp/core/message.h"
#include "mcp/resources/subscriptions.h"

/* The reference implementation's bound. */
#define BATCH_MESSAGES_MAX 100U

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

void session_init(struct session *session, struct host *host, uint32_t principal,
		  struct exchange *channel)
{
	memset(session, 0, sizeof(*session));
	session->host = host;
	session->principal = principal;
	session->number = ++host->last_session;
	session->channel = channel;
	session->log_level = LOG_LEVEL_INFO;
	session->next = host->sessions;
	host->sessions = session;
}

struct execution_owner session_owner(const struct session *session)
{
	const struct execution_owner owner = {
		.principal = session->principal,
		.session = session->owns_executions ? session->number : 0,
	};

	return owner;
}

void session_done(struct session *session)
{
	const struct execution_owner owner = session_owner(session);
	struct session **link = &session->host->sessions;

	while (session->calls)
		call_cancel(session->calls);
	event_session_over(session);
	if (session->owns_executions) {
		executions_end_owner(session->host->executions, &owner);
		host_answers_forget(session->host, &owner);
		bridges_end(session->host, &owner);
	}
	while (*link != session)
		link = &(*link)->next;
	*link = session->next;
}

static void refuse_text(struct exchange *exchange, const struct rpc_id *id, enum rpc_code code,
			const char *text)
{
	struct buffer message = { 0 }, answer = { 0 };
	struct json_writer writer = { .out = &answer };

	buffer_append_text(&message, text);
	message_put_error(&writer, id, code, &message, NULL);
	exchange_answer(exchange, &answer, code);
	buffer_done(&message);
	buffer_done(&answer);
}

static void take_batch(struct session *session, struct exchange *exchange,
		       const struct json_document *document)
{
	const struct json_value *top = json_top(document);
	struct exchange *batch;

	if (!era_has_batches(session->version)) {
		refuse_text(exchange, NULL, RPC_INVALID_REQUEST,
			    "Invalid request: batches belong to protocol version 2025-03-26 only");
		return;
	}
	if (top->count == 0 || top->count > BATCH_MESSAGES_MAX) {
		refuse_text(exchange, NULL, RPC_INVALID_REQUEST,
			    "Invalid request: a batch holds 1 to 100 messages");
		return;
	}
	batch = exchange_new_batch(exchange);
	for (struct json_value *v = json_first(document, top); v; v = json_next(document, v))
		event_message(session, batch, true, document, v);
	exchange_release(batch);
}

/* Refuse JSON that breaks our rules. Its id tells the client which request failed. */
static void refuse_document(struct exchange *exchange, const struct json_document *document,
			    enum json_error error)
{
	struct json_value *id = json_member(document, json_top(document), "id");
	struct rpc_id read = { 0 };

	if (id)
		(void)rpc_id_read(id, &read); /* on failure the id is null */
	refuse_text(exchange, &read, json_problems[error].code, json_problems[error].text);
	rpc_id_done(&read);
}

void session_take_document(struct session *session, struct exchange *exchange,
			   const struct json_document *document, enum json_error error)
{
	if (error)
		refuse_document(exchange, document, error);
	else if (json_is(json_top(document), JSON_ARRAY))
		take_batch(session, exchange, document);
	else
		event_message(session, exchange, false, document, json_top(document));
}

void session_take_text(struct session *session, struct exchange *exchange, char *text, size_t size)
{
	struct json_document document;
	enum json_error error;

	if (size == 0)
		return;
	error = json_read(&document, text, size);
	session_take_document(session, exchange, &document, error);
	json_done(&document);
}

void session_refuse_long(struct exchange *exchange)
{
	_Static_assert(LINE_BYTES_MAX == 10485760, "the text below names it");
	refuse_text(exchange, NULL, RPC_INVALID_REQUEST,
		    "Invalid request: the line is longer than 10485760 bytes");
}
