/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/lifecycle.h"

#include "mcp/core/ability.h"
#include "mcp/core/call.h"
#include "mcp/guide.h"

static void put_guide(struct json_writer *writer, const struct request *request)
{
	struct buffer guide = { 0 };

	guide_append(&guide, request->session->host);
	json_put_string(writer, "instructions", guide.bytes, guide.size);
	buffer_done(&guide);
}

/* Claim list changes only for lists that change, so that clients do not listen in vain. */
static void open_list(struct json_writer *writer, const char *name, const struct catalog *offered,
		      enum host_list list)
{
	json_open_object(writer, name);
	if ((offered->changing & list) != 0)
		json_put_bool(writer, "listChanged", true);
}

static void put_empty(struct json_writer *writer, const char *name)
{
	json_open_object(writer, name);
	json_close_object(writer);
}

/* Write an object per capability; a list that is empty and stays so is no capability. The eras
 * differ only in extensions: modern requests name their log level, and subscribe to resources with
 * subscriptions/listen. */
static void put_capabilities(struct json_writer *writer, const struct catalog *offered,
			     enum era era)
{
	json_open_object(writer, "capabilities");
	open_list(writer, "tools", offered, LIST_TOOLS);
	json_close_object(writer);
	if (offered->prompts[0] || (offered->changing & LIST_PROMPTS) != 0) {
		open_list(writer, "prompts", offered, LIST_PROMPTS);
		json_close_object(writer);
	}
	if (offered->resources[0] || (offered->changing & LIST_RESOURCES) != 0) {
		open_list(writer, "resources", offered, LIST_RESOURCES);
		json_put_bool(writer, "subscribe", true);
		json_close_object(writer);
		put_empty(writer, "completions");
	}
	put_empty(writer, "logging");
	if (era == ERA_MODERN) {
		json_open_object(writer, "extensions");
		put_empty(writer, TASKS_EXTENSION);
		json_close_object(writer);
	}
	json_close_object(writer);
}

void lifecycle_initialize(const struct request *request)
{
	struct session *session = request->session;
	struct answer answer;

	session->version = era_negotiate(request_param(request, "protocolVersion"));
	session->abilities =
		ability_read(request->document, request_param(request, "capabilities")) &
		~(unsigned int)ABILITY_TASKS; /* only in the modern era */
	request_open_result(request, &answer);
	json_put_text(&answer.writer, "protocolVersion", session->version);
	put_capabilities(&answer.writer, session->host->catalog, ERA_LEGACY);
	era_put_server(&answer.writer, "serverInfo");
	put_guide(&answer.writer, request);
	request_close_result(request, &answer);
}

void lifecycle_ping(const struct request *request)
{
	request_answer_empty(request);
}

void lifecycle_set_level(const struct request *request)
{
	enum log_level level;

	if (!log_level_read(request_param(request, "level"), &level)) {
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Invalid params: level must be debug, info, notice, warning, error, "
			       "critical, alert or emergency",
			       NULL);
		return;
	}
	request->session->log_level = level;
	request_answer_empty(request);
}

void lifecycle_discover(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	era_put_versions(&answer.writer, "supportedVersions");
	put_capabilities(&answer.writer, request->session->host->catalog, ERA_MODERN);
	put_guide(&answer.writer, request);
	request_put_caching(request, &answer);
	request_close_result(request, &answer);
}

void lifecycle_cancelled(const struct request *request)
{
	struct json_value *id = request_param(request, "requestId");
	struct rpc_id read = { 0 };
	struct call *call;

	if (!id || !rpc_id_read(id, &read))
		return;
	call = call_find(request->session, &read);
	if (call)
		call_cancel(call);
	rpc_id_done(&read);
}
