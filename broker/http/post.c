/* SPDX-License-Identifier: Apache-2.0 */
#include "http/post.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/headers.h"
#include "http/http.h"
#include "http/ladder.h"
#include "http/legacy.h"
#include "io/clock.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"
#include "mcp/core/call.h"
#include "mcp/core/era.h"
#include "mcp/core/message.h"
#include "mcp/core/request.h"
#include "mcp/methods.h"
#include "mcp/tools/tools.h"

/* --- the era, and headers that repeat the body ---------------------------------------------- */

/* Finds the era of a POST, and compares its headers with its body. The modern era repeats parts of
 * the body in headers, which proxies between client and server rely on; a server that let the two
 * differ would do something else than the proxy let through. */

enum agreement {
	AGREEMENT_LEGACY,
	AGREEMENT_MODERN,
	AGREEMENT_NONE, /* refused: see struct disagreement */
};

struct disagreement {
	enum rpc_code code;
	struct buffer text; /* the caller frees it with buffer_done() */
};

#define VERSION_HEADER "MCP-Protocol-Version"
#define PARAM_HEADER "Mcp-Param-"
#define PARAM_KEYWORD "x-mcp-header"

/* "Mcp-Param-" and the longest name in a tool's schema. */
#define HEADER_NAME_MAX 80

struct question {
	const struct inbound *inbound;
	const struct json_document *document;
	const struct message *message;
	struct disagreement *why;
};

static bool report_disagreement(const struct question *question, const char *header,
				const char *problem)
{
	question->why->code = RPC_HEADER_MISMATCH;
	question->why->text.size = 0;
	buffer_format(&question->why->text, "Header mismatch: %s %s", header, problem);
	return false;
}

/* Return a value of the body in the form of a header. */
static struct buffer as_header(struct json_value *value)
{
	struct buffer text = { 0 };

	if (value->kind == JSON_STRING)
		json_decode(value);
	if (value->kind == JSON_TRUE || value->kind == JSON_FALSE)
		buffer_append_text(&text, value->kind == JSON_TRUE ? "true" : "false");
	else
		buffer_append(&text, value->text, value->size);
	return text;
}

/* Return true if the header equals `value`. NULL or null: the header must be absent. */
static bool header_agrees(const struct question *question, const char *header,
			  struct json_value *value)
{
	const char *given = inbound_header(question->inbound, header);
	struct buffer said = { 0 }, meant = { 0 };
	bool is_same;

	if (!value || value->kind == JSON_NULL)
		return !given ||
		       report_disagreement(question, header, "is present, but its value is not");
	if (!given)
		return report_disagreement(question, header, "is missing");
	if (!header_decode(given, &said)) {
		buffer_done(&said);
		return report_disagreement(question, header, "is not valid base64");
	}
	meant = as_header(value);
	is_same = said.size == meant.size &&
		  (said.size == 0 || memcmp(said.bytes, meant.bytes, said.size) == 0);
	buffer_done(&said);
	buffer_done(&meant);
	return is_same || report_disagreement(question, header, "differs from the body");
}

/* The parameter of each request that Mcp-Name repeats. */
static const struct {
	const char *method;
	const char *param;
} names[] = {
	{ "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
	{ "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
};

static bool name_agrees(const struct question *question)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct json_value *value =
			json_member(question->document, question->message->params, names[i].param);

		if (json_equals(question->message->method, names[i].method))
			return !json_is(value, JSON_STRING) || /* the method reports a wrong type */
			       header_agrees(question, "Mcp-Name", value);
	}
	return true;
}

/* Check one property of a tool's schema. */
static bool property_agrees(const struct question *question, const struct json_document *schema,
			    const struct json_value *property)
{
	struct json_value *wanted = json_member(schema, property, PARAM_KEYWORD);
	struct json_value *value =
		json_first(question->document,
			   json_member(question->document, question->message->params, "arguments"));
	char header[HEADER_NAME_MAX];

	if (!json_is(wanted, JSON_STRING))
		return true;
	json_decode(wanted);
	while (value && (value->key_size != property->key_size ||
			 memcmp(value->key, property->key, value->key_size) != 0))
		value = json_next(question->document, value);
	(void)snprintf(header, sizeof(header), PARAM_HEADER "%.*s", (int)wanted->size,
		       wanted->text);
	return header_agrees(question, header, value);
}

/* Check the arguments that the tool's schema wants repeated. Only a schema that is written out has
 * any. */
static bool params_agree(const struct question *question)
{
	const struct tool *tool = NULL;
	struct json_document schema;
	const struct json_value *properties, *property;
	bool agree = true;
	char *text;

	if (json_equals(question->message->method, "tools/call"))
		tool = tools_find(
			question->inbound->http->host,
			json_member(question->document, question->message->params, "name"));
	if (!tool || !tool->schema || !strstr(tool->schema, PARAM_KEYWORD))
		return true;
	text = memory_text(tool->schema, strlen(tool->schema));
	if (json_read(&schema, text, strlen(tool->schema)) != JSON_OK)
		bug("a schema of ours that is no JSON");
	properties = json_member(&schema, json_top(&schema), "properties");
	for (property = json_first(&schema, properties); property && agree;
	     property = json_next(&schema, property))
		agree = property_agrees(question, &schema, property);
	json_done(&schema);
	free(text);
	return agree;
}

static bool version_agrees(const struct question *question)
{
	struct json_value *version =
		era_claimed_version(question->document, question->message->meta);

	return !json_is(version, JSON_STRING) || header_agrees(question, VERSION_HEADER, version);
}

/* Check that the claim is complete. The session itself refuses an unknown version, and names the
 * versions it speaks. */
static enum era_check check_claim(const struct question *question)
{
	struct json_value *version;
	const char *problem;
	const enum era_check check =
		era_check_claim(question->document, question->message->meta, &problem, &version);

	if (check == ERA_META_INVALID) {
		question->why->code = RPC_INVALID_PARAMS;
		buffer_append_text(&question->why->text, problem);
	}
	return check;
}

static enum agreement check_modern(const struct question *question)
{
	const bool is_request = question->message->kind == MESSAGE_REQUEST;
	enum era_check check;

	if (!version_agrees(question))
		return AGREEMENT_NONE;
	check = check_claim(question);
	if (check == ERA_META_INVALID)
		return AGREEMENT_NONE;
	if (check == ERA_FINE && is_request &&
	    (!header_agrees(question, "Mcp-Method", question->message->method) ||
	     !name_agrees(question) || !params_agree(question)))
		return AGREEMENT_NONE;
	return AGREEMENT_MODERN;
}

static enum agreement agreement_find(const struct inbound *inbound,
				     const struct json_document *document,
				     const struct message *message, struct disagreement *ret)
{
	const struct question question = { inbound, document, message, ret };
	const char *version = inbound_header(inbound, VERSION_HEADER);
	const bool is_named = version && era_knows_modern(version);
	const bool is_claimed = era_is_claimed(document, message->meta);
	struct json_value *requested;
	const char *problem;

	if (message->kind == MESSAGE_INVALID && !json_is(json_top(document), JSON_ARRAY))
		return AGREEMENT_MODERN; /* every session refuses it */
	if (is_named && json_is(json_top(document), JSON_ARRAY)) {
		ret->code = RPC_INVALID_REQUEST;
		buffer_append_text(&ret->text, "Invalid request: this version has no batches");
		return AGREEMENT_NONE;
	}
	if (!is_claimed && !(is_named && message->kind == MESSAGE_REQUEST))
		return AGREEMENT_LEGACY;
	/* a handshake may have a _meta of another kind */
	if (!is_named && json_equals(message->method, "initialize") &&
	    era_check_claim(document, message->meta, &problem, &requested) != ERA_FINE)
		return AGREEMENT_LEGACY;
	return check_modern(&question);
}

/* --- posts ---------------------------------------------------------------------------------- */

/* An answer that takes longer becomes a stream, so that the client and proxies see that the server
 * works on it. */
static const struct timeval plain_time = { .tv_sec = 1 };

static struct post *post_of(struct exchange *exchange)
{
	return (struct post *)exchange;
}

static void start_stream(struct post *post)
{
	const struct replay_id id = { .stream = post->stream };

	post->is_streaming = true;
	legacy_start_stream(post->legacy, post->connection, &id, "");
}

/* Events are numbered and kept, even if no client is there to read them. */
static void number_stream(struct post *post)
{
	if (post->legacy && post->stream == 0)
		post->stream = ++post->legacy->last_stream;
}

static void say_event(struct exchange *exchange, const struct buffer *message)
{
	struct post *post = post_of(exchange);
	struct buffer out = { 0 };
	struct replay_id id;

	number_stream(post);
	id = (struct replay_id){ post->stream, ++post->last_event };
	if (post->legacy)
		legacy_keep(post->legacy, &id, message);
	if (!post->connection)
		return;
	if (!post->is_streaming)
		start_stream(post);
	event_append(&out, post->legacy ? &id : NULL, message->bytes, message->size);
	connection_stream(post->connection, out.bytes, out.size);
	buffer_done(&out);
}

static int status_of(const struct post *post, int code)
{
	if (post->refused_status)
		return post->refused_status;
	switch (code) {
	case RPC_PARSE_ERROR:
	case RPC_INVALID_REQUEST:
	case RPC_HEADER_MISMATCH:
	case RPC_CAPABILITY_MISSING:
	case RPC_UNSUPPORTED_VERSION:
		return 400;
	case RPC_METHOD_NOT_FOUND:
		return post->has_own ? 404 : 200;
	default:
		return 200;
	}
}

/* Detach the connection, which goes on without the POST. */
static struct connection *leave_connection(struct post *post)
{
	struct connection *connection = post->connection;

	post->connection = NULL;
	return connection;
}

static void answer_request(struct exchange *exchange, const struct buffer *text, int code)
{
	struct post *post = post_of(exchange);

	post->is_answered = true;
	if (!post->connection || post->is_streaming) {
		say_event(exchange, text);
		return;
	}
	if (post->makes_session && code == 0)
		connection_add_header(post->connection, "Mcp-Session-Id", post->legacy->id);
	connection_reply(leave_connection(post), status_of(post, code), HTTP_JSON, text);
}

void post_leave_session(struct post *post)
{
	CHAIN_REMOVE(post->legacy->posts, post, next);
	post->legacy->used_ms = clock_steady_ms();
	post->legacy = NULL;
}

static void post_done(struct exchange *exchange)
{
	struct post *post = post_of(exchange);

	if (post->connection && post->is_streaming)
		connection_end_stream(leave_connection(post));
	else if (post->connection) /* send no answer to it */
		connection_reply(leave_connection(post), 202, NULL, NULL);
	if (post->timer)
		event_free(post->timer);
	if (post->has_own)
		session_done(&post->own);
	if (post->legacy)
		post_leave_session(post);
	free(post);
}

static bool is_behind(const struct exchange *exchange)
{
	const struct post *post = (const struct post *)exchange;

	return post->connection && connection_is_behind(post->connection);
}

static const struct exchange_kind post_kind = { say_event, answer_request, post_done, is_behind };

static void client_gone(void *owner)
{
	struct post *post = owner;

	post->connection = NULL;
	post->is_streaming = false;
	exchange_hold(&post->exchange);
	while (post->has_own && post->own.calls)
		call_cancel(post->own.calls);
	exchange_release(&post->exchange);
}

void post_attach(struct post *post, struct connection *connection)
{
	if (post->connection) {
		connection_set_owner(post->connection, NULL, NULL);
		connection_doom(leave_connection(post)); /* the client has given up the request */
	}
	post->connection = connection;
	post->is_streaming = true;
	connection_set_owner(connection, client_gone, post);
}

static void on_patience(evutil_socket_t fd, short what, void *argument)
{
	struct post *post = argument;

	if (!post->connection || post->is_streaming)
		return;
	number_stream(post);
	start_stream(post);
}

static void wait_for_answer(struct post *post)
{
	if (!post->connection || post->is_streaming)
		return;
	post->timer = evtimer_new(post->http->host->base, on_patience, post);
	if (!post->timer || event_add(post->timer, &plain_time) != 0)
		give_up("a timer");
}

static struct post *post_new(const struct inbound *inbound)
{
	struct post *post = memory_get_zeroed(1, sizeof(*post));

	exchange_init(&post->exchange, &post_kind);
	post->http = inbound->http;
	post->connection = inbound->connection;
	connection_set_owner(post->connection, client_gone, post);
	return post;
}

static void join_session(struct post *post, struct legacy *legacy)
{
	post->legacy = legacy;
	post->next = legacy->posts;
	legacy->posts = post;
}

static void refuse_post(struct post *post, const struct rpc_id *id, const struct disagreement *why)
{
	post->refused_status = 400;
	exchange_refuse(&post->exchange, id, why->code, why->text.bytes, NULL);
}

/* Take a document as the only message of its own session. */
static void take_alone(struct post *post, const struct inbound *inbound,
		       const struct json_document *document)
{
	post->has_own = true;
	session_init(&post->own, post->http->host, inbound->principal, NULL);
	methods_take_document(&post->own, &post->exchange, document, JSON_OK);
}

static void take_initialize(struct post *post, const struct inbound *inbound,
			    const struct json_document *document)
{
	struct legacy *legacy = legacy_new(inbound->http, inbound->principal);

	if (!legacy) {
		trouble_note(&inbound->http->connections.troubles, TROUBLE_SESSIONS);
		inbound_refuse(inbound, 503,
			       "This client's share of the 256 sessions is in use; end one with "
			       "DELETE, or wait");
		(void)leave_connection(post);
		return;
	}
	join_session(post, legacy);
	post->makes_session = true;
	methods_take_document(&legacy->session, &post->exchange, document, JSON_OK);
	if (!legacy->session.version)
		legacy_end(legacy);
}

/* Take a document of the legacy era into an existing session. */
static void take_in_session(struct post *post, const struct inbound *inbound,
			    const struct json_document *document)
{
	const char *version = inbound_header(inbound, "MCP-Protocol-Version");
	struct legacy *legacy;

	if (version && !era_knows_legacy(version)) {
		inbound_refuse(inbound, 400, "Unsupported MCP-Protocol-Version");
		(void)leave_connection(post);
		return;
	}
	legacy = legacy_find(inbound);
	if (!legacy) {
		(void)leave_connection(post);
		return;
	}
	join_session(post, legacy);
	methods_take_document(&legacy->session, &post->exchange, document, JSON_OK);
}

/* Decide whether the document has a session of its own or belongs to a legacy one. */
static void route_post(struct post *post, const struct inbound *inbound,
		       const struct json_document *document)
{
	struct disagreement why = { 0 };
	struct message message;
	enum agreement agreement;

	message_read(document, json_top(document), &message);
	if (message.kind == MESSAGE_INVALID && !json_is(json_top(document), JSON_ARRAY))
		post->refused_status = 400;
	agreement = agreement_find(inbound, document, &message, &why);
	if (agreement == AGREEMENT_NONE)
		refuse_post(post, &message.id, &why);
	else if (agreement == AGREEMENT_MODERN)
		take_alone(post, inbound, document);
	else if (message.kind == MESSAGE_REQUEST && json_equals(message.method, "initialize"))
		take_initialize(post, inbound, document);
	else
		take_in_session(post, inbound, document);
	buffer_done(&why.text);
	message_done(&message);
}

void post_take(const struct inbound *inbound)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(inbound->request);
	const size_t size = evbuffer_get_length(body);
	struct post *post = post_new(inbound);
	char *text = memory_get(size);
	struct json_document document;
	enum json_error error;

	if (evbuffer_remove(body, text, size) != (int)size)
		bug("a body that is not as long as it is");
	error = json_read(&document, text, size);
	if (error)
		methods_take_document(NULL, &post->exchange, &document, error);
	else
		route_post(post, inbound, &document);
	json_done(&document);
	free(text);
	wait_for_answer(post);
	exchange_release(&post->exchange);
}
