/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/message.h"

#include <inttypes.h>
#include <string.h>

#include "lib/heap/buffer.h"
#include "lib/json/string.h"

static void mark_invalid(struct message *message, enum rpc_code code, const char *problem)
{
	message->kind = MESSAGE_INVALID;
	message->code = code;
	message->problem = problem;
}

/* Take a parameter that must be an object; JSON null counts as absent. False: another type. */
static bool take_object(struct json_value *value, struct json_value **ret)
{
	if (!value || value->kind == JSON_NULL)
		return true;
	*ret = value;
	return value->kind == JSON_OBJECT;
}

static void read_params(const struct json_document *document, struct json_value *value,
			struct message *message)
{
	const char *problem = NULL;

	if (!take_object(json_member(document, value, "params"), &message->params))
		problem = "Invalid params: params must be an object";
	else if (!take_object(json_member(document, message->params, "_meta"), &message->meta))
		problem = "Invalid params: params._meta must be an object";
	if (!problem)
		return;
	if (message->kind == MESSAGE_NOTIFICATION)
		message->kind = MESSAGE_IGNORED;
	else
		mark_invalid(message, RPC_INVALID_PARAMS, problem);
}

void message_read(const struct json_document *document, struct json_value *value,
		  struct message *ret)
{
	struct json_value *id;

	memset(ret, 0, sizeof(*ret));
	if (!json_is(value, JSON_OBJECT)) {
		mark_invalid(ret, RPC_INVALID_REQUEST,
			     "Invalid request: a message must be a JSON object");
		return;
	}
	if (!json_equals(json_member(document, value, "jsonrpc"), "2.0")) {
		mark_invalid(ret, RPC_INVALID_REQUEST,
			     "Invalid request: the member \"jsonrpc\" must be \"2.0\"");
		return;
	}
	ret->method = json_member(document, value, "method");
	if (!ret->method &&
	    (json_member(document, value, "result") || json_member(document, value, "error"))) {
		ret->kind = MESSAGE_RESPONSE;
		return;
	}
	id = json_member(document, value, "id");
	ret->kind = id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
	if (id && !rpc_id_read(id, &ret->id))
		mark_invalid(
			ret, RPC_INVALID_REQUEST,
			"Invalid request: the member \"id\" must be a string or an integer within "
			"+-(2^53-1)");
	else if (!json_is(ret->method, JSON_STRING))
		mark_invalid(ret, RPC_INVALID_REQUEST,
			     "Invalid request: the member \"method\" must be a string");
	else
		read_params(document, value, ret);
	if (ret->kind != MESSAGE_INVALID)
		json_decode(ret->method);
}

void message_done(struct message *message)
{
	rpc_id_done(&message->id);
}

static void open_answer(struct json_writer *writer, const struct rpc_id *id)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "jsonrpc", "2.0");
	if (id && id->raw.size > 0)
		json_put_raw(writer, "id", id->raw.bytes, id->raw.size);
	else
		json_put_raw(writer, "id", "null", 4);
}

void message_open_result(struct json_writer *writer, const struct rpc_id *id, enum era era,
			 const char *type)
{
	open_answer(writer, id);
	json_open_object(writer, "result");
	if (era == ERA_MODERN)
		json_put_text(writer, "resultType", type);
}

void message_open_meta(struct json_writer *writer, enum era era)
{
	json_open_object(writer, "_meta");
	if (era == ERA_MODERN)
		era_put_server(writer, "io.modelcontextprotocol/serverInfo");
}

void message_close(struct json_writer *writer)
{
	json_close_object(writer);
	json_close_object(writer);
}

void message_put_subscription(struct json_writer *writer, const struct rpc_id *id)
{
	json_put_raw(writer, "io.modelcontextprotocol/subscriptionId", id->raw.bytes, id->raw.size);
}

void message_put_request(struct json_writer *writer, const char *id, const char *method,
			 const struct buffer *params)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "jsonrpc", "2.0");
	json_put_text(writer, "id", id);
	json_put_text(writer, "method", method);
	if (params)
		json_put_raw(writer, "params", params->bytes, params->size);
	json_close_object(writer);
}

void message_open_notification(struct json_writer *writer, const char *method)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "jsonrpc", "2.0");
	json_put_text(writer, "method", method);
	json_open_object(writer, "params");
}

void message_put_error(struct buffer *line, const struct rpc_id *id, enum rpc_code code,
		       const char *text, const struct buffer *data)
{
	struct json_writer writer = { .out = line };

	open_answer(&writer, id);
	json_open_object(&writer, "error");
	json_put_signed(&writer, "code", code);
	json_put_text(&writer, "message", text);
	if (data)
		json_put_raw(&writer, "data", data->bytes, data->size);
	message_close(&writer);
}

/* --- ids ------------------------------------------------------------------------------------ */

static bool read_string(const struct json_value *value, struct rpc_id *ret)
{
	struct buffer *raw = &ret->raw, *meaning = &ret->meaning;
	bool unpaired;

	if (value->size > RPC_ID_BYTES_MAX)
		return false;
	buffer_append(raw, "\"", 1);
	buffer_append(raw, value->text, value->size);
	buffer_append(raw, "\"", 1);
	buffer_append(meaning, "s", 1);
	buffer_append(meaning, value->text, value->size);
	if (value->is_escaped) /* a copy: the value can be read again */
		meaning->size = 1 + json_string_decode(meaning->bytes + 1, value->size, &unpaired);
	return true;
}

static bool read_number(const struct json_value *value, struct rpc_id *ret)
{
	int64_t number;

	if (value->size > RPC_ID_BYTES_MAX || !json_integer(value, &number))
		return false;
	buffer_append(&ret->raw, value->text, value->size);
	buffer_format(&ret->meaning, "n%" PRId64, number);
	return true;
}

bool rpc_id_read(const struct json_value *value, struct rpc_id *ret)
{
	memset(ret, 0, sizeof(*ret));
	return json_is(value, JSON_STRING)   ? read_string(value, ret)
	       : json_is(value, JSON_NUMBER) ? read_number(value, ret)
					     : false;
}

bool rpc_id_equals(const struct rpc_id *left, const struct rpc_id *right)
{
	return left->meaning.size == right->meaning.size &&
	       memcmp(left->meaning.bytes, right->meaning.bytes, left->meaning.size) == 0;
}

void rpc_id_done(struct rpc_id *id)
{
	buffer_done(&id->raw);
	buffer_done(&id->meaning);
}

/* --- levels of a client's log --------------------------------------------------------------- */

static const char *const names[LOG_LEVEL_NONE] = {
	[LOG_LEVEL_DEBUG] = "debug",   [LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_ERROR] = "error",   [LOG_LEVEL_CRITICAL] = "critical",
	[LOG_LEVEL_ALERT] = "alert",   [LOG_LEVEL_EMERGENCY] = "emergency",
};

bool log_level_read(struct json_value *value, enum log_level *ret)
{
	for (enum log_level level = 0; level < LOG_LEVEL_NONE; level++) {
		if (json_equals(value, names[level])) {
			*ret = level;
			return true;
		}
	}
	return false;
}

const char *log_level_name(enum log_level level)
{
	return names[level];
}
