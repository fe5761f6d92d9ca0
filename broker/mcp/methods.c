/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/methods.h"

#include "mcp/call.h"
#include "mcp/guide.h"
#include "mcp/message.h"
#include "mcp/tools.h"
#include "text.h"

/* What is cached holds as long as the process; a client that keeps it over a restart with another
 * configuration shall not do so for long. */
#define TTL_MS 300000
#define QUOTE_BYTES 100

struct request {
	struct session *session;
	struct batch *batch;
	const struct json_document *document;
	struct message *message;
	enum era era;
};

static void send_error(const struct request *request, enum rpc_code code, const struct buffer *text,
		       const struct buffer *data)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	message_put_error(&writer, &request->message->id, code, text, data);
	session_answer(request->session, request->batch, &line);
	buffer_done(&line);
}

/* "Text" or "Text: value" */
static void refuse(const struct request *request, enum rpc_code code, const char *text,
		   const struct json_value *value)
{
	struct buffer message = { 0 };

	buffer_append_text(&message, text);
	if (value) {
		buffer_append_text(&message, ": ");
		text_quote(&message, value->text, value->size, QUOTE_BYTES);
	}
	send_error(request, code, &message, NULL);
	buffer_done(&message);
}

static void put_guide(struct json_writer *writer, const struct session *session)
{
	struct buffer guide = { 0 };

	guide_append(&guide, &session->posture);
	json_put_string(writer, "instructions", guide.bytes, guide.size);
	buffer_done(&guide);
}

/* Tools only, and their list never changes. */
static void put_capabilities(struct json_writer *writer)
{
	json_open_object(writer, "capabilities");
	json_open_object(writer, "tools");
	json_close_object(writer);
	json_close_object(writer);
}

static void put_caching(struct json_writer *writer)
{
	json_put_number(writer, "ttlMs", TTL_MS);
	json_put_text(writer, "cacheScope", "private");
}

static void write_initialize(const struct request *request, struct json_writer *writer)
{
	struct session *session = request->session;

	session->version = era_negotiate(
		json_member(request->document, request->message->params, "protocolVersion"));
	json_put_text(writer, "protocolVersion", session->version);
	put_capabilities(writer);
	era_put_server(writer, "serverInfo");
	put_guide(writer, session);
}

static void write_ping(const struct request *request, struct json_writer *writer)
{
	(void)request;
	(void)writer;
}

static void write_discover(const struct request *request, struct json_writer *writer)
{
	era_put_versions(writer, "supportedVersions");
	put_capabilities(writer);
	put_guide(writer, request->session);
	put_caching(writer);
}

static void write_tools_list(const struct request *request, struct json_writer *writer)
{
	tools_put_list(writer, "tools", &request->session->posture);
	if (request->era == ERA_MODERN)
		put_caching(writer);
}

/* The list fits into one page, so no cursor was ever given out. */
static const char *check_tools_list(const struct request *request)
{
	struct json_value *cursor =
		json_member(request->document, request->message->params, "cursor");

	if (!cursor || cursor->kind == JSON_NULL || json_equals(cursor, ""))
		return NULL;
	return "Invalid params: the cursor is not one that this server gave out";
}

static void refuse_tool(const struct request *request, const struct json_value *name)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "Unknown tool: ");
	text_quote(&text, name->text, name->size, QUOTE_BYTES);
	buffer_append_text(&text, ". The tools are: ");
	tools_append_names(&text);
	send_error(request, RPC_INVALID_PARAMS, &text, NULL);
	buffer_done(&text);
}

static void start_call(const struct request *request, const struct tool *tool,
		       struct json_value *arguments)
{
	struct json_value *values[TOOL_PARAMS_MAX];
	struct buffer problem = { 0 };
	struct call *call =
		call_new(request->session, request->batch, &request->message->id, request->era);

	if (tool_take_arguments(tool, request->document, arguments, values, &problem))
		tool->handler(call, request->document, values);
	else
		call_fail(call, &problem);
	buffer_done(&problem);
}

static void run_tools_call(const struct request *request)
{
	const struct json_document *document = request->document;
	struct json_value *name = json_member(document, request->message->params, "name");
	struct json_value *arguments = json_member(document, request->message->params, "arguments");
	const struct tool *tool;

	if (!json_is(name, JSON_STRING)) {
		refuse(request, RPC_INVALID_PARAMS, "Invalid params: name must be a string", NULL);
		return;
	}
	tool = tool_find(name);
	if (!tool) {
		refuse_tool(request, name);
		return;
	}
	if (arguments && arguments->kind != JSON_OBJECT && arguments->kind != JSON_NULL) {
		refuse(request, RPC_INVALID_PARAMS, "Invalid params: arguments must be an object",
		       NULL);
		return;
	}
	start_call(request, tool, arguments);
}

static void take_cancelled(const struct request *request)
{
	struct json_value *id =
		json_member(request->document, request->message->params, "requestId");
	struct rpc_id read = { 0 };
	struct call *call;

	if (!id || !rpc_id_read(id, &read))
		return;
	call = call_find(request->session, &read);
	if (call)
		call_cancel(call);
	rpc_id_done(&read);
}

/* A method either writes its result's members after an optional check, or runs on its own. */
struct method {
	const char *name;
	unsigned int eras;
	bool is_alone; /* not in a batch */
	const char *(*check)(const struct request *request);
	void (*write)(const struct request *request, struct json_writer *writer);
	void (*run)(const struct request *request);
};

static const struct method methods[] = {
	{ "initialize", ERA_LEGACY, true, NULL, write_initialize, NULL },
	{ "ping", ERA_LEGACY, false, NULL, write_ping, NULL },
	{ "server/discover", ERA_MODERN, false, NULL, write_discover, NULL },
	{ "tools/list", ERA_LEGACY | ERA_MODERN, false, check_tools_list, write_tools_list, NULL },
	{ "tools/call", ERA_LEGACY | ERA_MODERN, false, NULL, NULL, run_tools_call },
};

/* Every other notification is ignored; notifications/initialized has nothing to say to us. */
static const struct {
	const char *name;
	void (*take)(const struct request *request);
} notifications[] = {
	{ "notifications/cancelled", take_cancelled },
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

static void run_method(const struct request *request, const struct method *method)
{
	const char *problem = method->check ? method->check(request) : NULL;
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	if (method->is_alone && request->batch) {
		refuse(request, RPC_INVALID_REQUEST, "Invalid request: not allowed in a batch",
		       request->message->method);
		return;
	}
	if (problem) {
		refuse(request, RPC_INVALID_PARAMS, problem, NULL);
		return;
	}
	if (method->run) {
		method->run(request);
		return;
	}
	message_open_result(&writer, &request->message->id, request->era);
	method->write(request, &writer);
	if (request->era == ERA_MODERN) {
		message_open_meta(&writer, request->era);
		message_close_meta(&writer);
	}
	message_close_result(&writer);
	session_answer(request->session, request->batch, &line);
	buffer_done(&line);
}

static void refuse_version(const struct request *request, const struct json_value *version)
{
	struct buffer text = { 0 }, data = { 0 };
	struct json_writer writer = { .out = &data };

	buffer_append_text(&text, "Unsupported protocol version: ");
	text_quote(&text, version->text, version->size, QUOTE_BYTES);
	json_open_object(&writer, NULL);
	era_put_versions(&writer, "supported");
	json_put_string(&writer, "requested", version->text,
			text_fit_first(version->text, version->size, QUOTE_BYTES));
	json_close_object(&writer);
	send_error(request, RPC_UNSUPPORTED_VERSION, &text, &data);
	buffer_done(&text);
	buffer_done(&data);
}

/* Decide the era; false: the request has been refused. */
static bool classify(struct request *request)
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
	if (check != ERA_FINE && is_initialize) /* the handshake, with a _meta of some other kind */
		return true;
	request->era = ERA_MODERN;
	if (check == ERA_META_INVALID)
		refuse(request, RPC_INVALID_PARAMS, problem, NULL);
	else if (check == ERA_VERSION_UNSUPPORTED)
		refuse_version(request, version);
	return check == ERA_FINE;
}

static void take_request(struct request *request)
{
	const struct method *method;

	if (call_find(request->session, &request->message->id)) {
		refuse(request, RPC_INVALID_REQUEST,
		       "Invalid request: the id belongs to a request in flight", NULL);
		return;
	}
	if (!classify(request))
		return;
	method = find_method(request);
	if (method)
		run_method(request, method);
	else
		refuse(request, RPC_METHOD_NOT_FOUND, "Method not found", request->message->method);
}

static void take_notification(const struct request *request)
{
	for (size_t i = 0; i < sizeof(notifications) / sizeof(notifications[0]); i++) {
		if (json_equals(request->message->method, notifications[i].name))
			notifications[i].take(request);
	}
}

void methods_take(struct session *session, struct batch *batch,
		  const struct json_document *document, struct json_value *value)
{
	struct message message;
	struct request request = { session, batch, document, &message, ERA_LEGACY };

	message_read(document, value, &message);
	if (message.kind == MESSAGE_INVALID)
		refuse(&request, message.code, message.problem, NULL);
	else if (message.kind == MESSAGE_REQUEST)
		take_request(&request);
	else if (message.kind == MESSAGE_NOTIFICATION)
		take_notification(&request);
	message_done(&message);
}
