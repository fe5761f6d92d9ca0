/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/request.h"

#include <string.h>

#include "io/text.h"
#include "mcp/core/ability.h"

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

struct json_value *request_param(const struct request *request, const char *name)
{
	struct json_value *value = json_member(request->document, request->message->params, name);

	return value && value->kind != JSON_NULL ? value : NULL;
}

static void refuse_kind(const struct request *request, const char *name, const char *wanted)
{
	struct buffer text = { 0 };

	buffer_format(&text, "Invalid params: %s must be %s", name, wanted);
	request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
	buffer_done(&text);
}

struct json_value *request_string(const struct request *request, const char *name)
{
	struct json_value *value = request_param(request, name);

	if (!json_is(value, JSON_STRING)) {
		refuse_kind(request, name, "a string");
		return NULL;
	}
	json_decode(value);
	return value;
}

bool request_object(const struct request *request, const char *name, struct json_value **ret)
{
	struct json_value *value = request_param(request, name);

	if (value && value->kind != JSON_OBJECT) {
		refuse_kind(request, name, "an object");
		return false;
	}
	*ret = value;
	return true;
}

/* A modern client declares its abilities with each request; earlier requests do not count. */
unsigned int request_abilities(const struct request *request)
{
	if (request->era == ERA_LEGACY)
		return request->session->abilities;
	return ability_read(
		request->document,
		json_member(request->document, request->message->meta, META_CAPABILITIES));
}

void request_refuse_with(const struct request *request, enum rpc_code code,
			 const struct buffer *text, const struct buffer *data)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	message_put_error(&writer, &request->message->id, code, text, data);
	exchange_answer(request->exchange, &line, code);
	buffer_done(&line);
}

void request_refuse(const struct request *request, enum rpc_code code, const char *text,
		    const struct json_value *value)
{
	struct buffer message = { 0 };

	buffer_append_text(&message, text);
	if (value) {
		buffer_append_text(&message, ": ");
		text_quote(&message, value->text, value->size, QUOTE_BYTES);
	}
	request_refuse_with(request, code, &message, NULL);
	buffer_done(&message);
}

void request_open_result(const struct request *request, struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->writer.out = &answer->line;
	message_open_result(&answer->writer, &request->message->id, request->era);
}

void answer_put_caching(struct answer *answer, enum era era, uint32_t ttl_ms)
{
	if (era != ERA_MODERN)
		return;
	json_put_number(&answer->writer, "ttlMs", ttl_ms);
	json_put_text(&answer->writer, "cacheScope", "private");
}

void request_put_caching(const struct request *request, struct answer *answer)
{
	answer_put_caching(answer, request->era, ANSWER_TTL_MS);
}

void request_close_result(const struct request *request, struct answer *answer)
{
	if (request->era == ERA_MODERN) {
		message_open_meta(&answer->writer, request->era);
		message_close_meta(&answer->writer);
	}
	message_close_result(&answer->writer);
	exchange_answer(request->exchange, &answer->line, 0);
	buffer_done(&answer->line);
}

void request_answer_empty(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	request_close_result(request, &answer);
}
