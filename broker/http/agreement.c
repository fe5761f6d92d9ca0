/* SPDX-License-Identifier: Apache-2.0 */
#include "http/agreement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/headers.h"
#include "lib/heap/memory.h"
#include "mcp/core/era.h"
#include "mcp/core/request.h"
#include "mcp/tools/tools.h"

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
	text = memory_get(strlen(tool->schema));
	memcpy(text, tool->schema, strlen(tool->schema));
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

enum agreement agreement_find(const struct inbound *inbound, const struct json_document *document,
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
