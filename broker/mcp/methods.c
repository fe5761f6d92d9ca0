/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of methods, and the dispatch of a message to its row. Each method is in the file of
 * its subject.
 */
#include "mcp/methods.h"

#include "io/lines.h"
#include "io/text.h"
#include "mcp/asking/ask.h"
#include "mcp/asking/tasks.h"
#include "mcp/core/call.h"
#include "mcp/core/request.h"
#include "mcp/lifecycle.h"
#include "mcp/prompts/completion.h"
#include "mcp/prompts/prompts.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"
#include "mcp/tools/tools.h"

struct method {
	const char *name;
	unsigned int eras;
	bool is_alone; /* not allowed in a batch */
	/* Answer the request, or make a call of it. */
	void (*run)(const struct request *request);
};

#define ERA_BOTH (ERA_LEGACY | ERA_MODERN)

static const struct method methods[] = {
	{ "initialize", ERA_LEGACY, true, lifecycle_initialize },
	{ "ping", ERA_LEGACY, false, lifecycle_ping },
	{ "server/discover", ERA_MODERN, false, lifecycle_discover },
	{ "tools/list", ERA_BOTH, false, tools_list },
	{ "tools/call", ERA_BOTH, false, tools_call },
	{ "prompts/list", ERA_BOTH, false, prompts_list },
	{ "prompts/get", ERA_BOTH, false, prompts_get },
	{ "resources/list", ERA_BOTH, false, resources_list },
	{ "resources/templates/list", ERA_BOTH, false, resources_list_templates },
	{ "resources/read", ERA_BOTH, false, resources_read },
	{ "resources/subscribe", ERA_LEGACY, false, subscriptions_subscribe },
	{ "resources/unsubscribe", ERA_LEGACY, false, subscriptions_unsubscribe },
	{ "subscriptions/listen", ERA_MODERN, true, subscriptions_listen },
	{ "completion/complete", ERA_BOTH, false, completion_complete },
	{ "logging/setLevel", ERA_LEGACY, false, lifecycle_set_level },
	{ "tasks/get", ERA_MODERN, false, tasks_get },
	{ "tasks/update", ERA_MODERN, false, tasks_update },
	{ "tasks/cancel", ERA_MODERN, false, tasks_cancel },
};

static const struct method *find_method(const struct request *request)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if ((methods[i].eras & request->era) != 0 &&
		    json_equals(request->message->method, methods[i].name))
			return &methods[i];
	}
	return NULL;
}

static void refuse_version(const struct request *request, const struct json_value *version)
{
	struct buffer text = { 0 }, data = { 0 };
	struct json_writer writer = { .out = &data };

	buffer_format(&text, "Unsupported protocol version: %s",
		      text_quoted(version->text, version->size, QUOTE_BYTES));
	json_open_object(&writer, NULL);
	era_put_versions(&writer, "supported");
	json_put_string(&writer, "requested", version->text,
			text_fit_first(version->text, version->size, QUOTE_BYTES, TEXT_JUDGED));
	json_close_object(&writer);
	request_refuse_with(request, RPC_UNSUPPORTED_VERSION, &text, &data);
}

/* Find the era. False: the request has been refused. */
static bool classify_request(struct request *request)
{
	const struct message *message = request->message;
	const bool is_initialize = json_equals(message->method, "initialize");
	struct json_value *version = NULL;
	const char *problem;
	enum era_check check;

	request->era = ERA_LEGACY;
	if (!era_is_claimed(request->document, message->meta))
		return true;
	check = era_check_claim(request->document, message->meta, &problem, &version);
	if (check != ERA_FINE && is_initialize) /* a handshake may have a _meta of another kind */
		return true;
	request->era = ERA_MODERN;
	if (check == ERA_META_INVALID)
		request_refuse(request, RPC_INVALID_PARAMS, problem, NULL);
	else if (check == ERA_VERSION_UNSUPPORTED)
		refuse_version(request, version);
	return check == ERA_FINE;
}

static void take_request(struct request *request)
{
	const struct method *method;

	if (call_find(request->session, &request->message->id)) {
		request_refuse(request, RPC_INVALID_REQUEST,
			       "Invalid request: the id belongs to a request in flight", NULL);
		return;
	}
	if (!classify_request(request))
		return;
	method = find_method(request);
	if (!method)
		request_refuse(request, RPC_METHOD_NOT_FOUND, "Method not found",
			       request->message->method);
	else if (method->is_alone && request->is_batched)
		request_refuse(request, RPC_INVALID_REQUEST,
			       "Invalid request: not allowed in a batch", request->message->method);
	else if (!call_has_room(request->session))
		request_refuse(request, RPC_INVALID_REQUEST,
			       "This client's share of the 4096 requests in flight is reached; ask "
			       "again when one is answered",
			       NULL);
	else
		method->run(request);
}

static void take_message(struct session *session, struct exchange *exchange, bool is_batched,
			 const struct json_document *document, struct json_value *value)
{
	struct message message;
	struct request request = { .session = session,
				   .exchange = exchange,
				   .document = document,
				   .message = &message,
				   .era = ERA_LEGACY,
				   .is_batched = is_batched };

	message_read(document, value, &message);
	if (message.kind == MESSAGE_INVALID)
		request_refuse(&request, message.code, message.problem, NULL);
	else if (message.kind == MESSAGE_REQUEST)
		take_request(&request);
	else if (message.kind == MESSAGE_NOTIFICATION &&
		 json_equals(message.method, "notifications/cancelled"))
		lifecycle_cancelled(&request); /* the others need no action */
	else if (message.kind == MESSAGE_RESPONSE)
		ask_take_response(session, document, value);
	message_done(&message);
}

/* --- texts ---------------------------------------------------------------------------------- */

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

static void take_batch(struct session *session, struct exchange *exchange,
		       const struct json_document *document)
{
	const struct json_value *top = json_top(document);
	struct exchange *batch;

	if (!era_has_batches(session->version)) {
		exchange_refuse(
			exchange, NULL, RPC_INVALID_REQUEST,
			"Invalid request: batches belong to protocol version 2025-03-26 only",
			NULL);
		return;
	}
	if (top->count == 0 || top->count > BATCH_MESSAGES_MAX) {
		exchange_refuse(exchange, NULL, RPC_INVALID_REQUEST,
				"Invalid request: a batch holds 1 to 100 messages", NULL);
		return;
	}
	batch = exchange_new_batch(exchange);
	for (struct json_value *v = json_first(document, top); v; v = json_next(document, v))
		take_message(session, batch, true, document, v);
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
	exchange_refuse(exchange, &read, json_problems[error].code, json_problems[error].text,
			NULL);
	rpc_id_done(&read);
}

void methods_take_document(struct session *session, struct exchange *exchange,
			   const struct json_document *document, enum json_error error)
{
	if (error)
		refuse_document(exchange, document, error);
	else if (json_is(json_top(document), JSON_ARRAY))
		take_batch(session, exchange, document);
	else
		take_message(session, exchange, false, document, json_top(document));
}

void methods_take_text(struct session *session, struct exchange *exchange, char *text, size_t size)
{
	struct json_document document;
	enum json_error error;

	if (size == 0)
		return;
	error = json_read(&document, text, size);
	methods_take_document(session, exchange, &document, error);
	json_done(&document);
}

void methods_refuse_long(struct exchange *exchange)
{
	_Static_assert(LINE_BYTES_MAX == 10485760, "the text below names it");
	exchange_refuse(exchange, NULL, RPC_INVALID_REQUEST,
			"Invalid request: the line is longer than 10485760 bytes", NULL);
}
