/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/lifecycle.h"

#include "mcp/call.h"
#include "mcp/guide.h"

static void put_guide(struct json_writer *writer, const struct request *request)
{
	struct buffer guide = { 0 };

	guide_append(&guide, &request->session->host->posture);
	json_put_string(writer, "instructions", guide.bytes, guide.size);
	buffer_done(&guide);
}

/* An object per capability; the lists never change while the process lives. */
static void put_capabilities(struct json_writer *writer)
{
	json_open_object(writer, "capabilities");
	json_open_object(writer, "tools");
	json_close_object(writer);
	json_close_object(writer);
}

void lifecycle_initialize(const struct request *request)
{
	struct session *session = request->session;
	struct answer answer;

	session->version = era_negotiate(request_param(request, "protocolVersion"));
	request_open_result(request, &answer);
	json_put_text(&answer.writer, "protocolVersion", session->version);
	put_capabilities(&answer.writer);
	era_put_server(&answer.writer, "serverInfo");
	put_guide(&answer.writer, request);
	request_close_result(request, &answer);
}

void lifecycle_ping(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	request_close_result(request, &answer);
}

void lifecycle_discover(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	era_put_versions(&answer.writer, "supportedVersions");
	put_capabilities(&answer.writer);
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
