/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/list and tools/call: the published form of a tool's table, and the dispatch of a call to
 * its handler. Argument checks are in arguments.c; each tool is in a file of its own.
 */
#include "mcp/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/workspace_mode.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/asking/ask.h"
#include "mcp/core/request.h"

static void put_names(struct json_writer *writer, const struct tool_param *param,
		      const struct posture *posture)
{
	size_t size;
	const char *name = tool_param_name(param, posture, 0, &size);

	if (!name || param->is_unlisted)
		return;
	json_open_array(writer, "enum");
	for (size_t i = 0; name; name = tool_param_name(param, posture, ++i, &size))
		json_put_string(writer, NULL, name, size);
	json_close_array(writer);
}

static void put_description(struct json_writer *writer, const struct tool_param *param,
			    const struct host *host)
{
	struct buffer text = { 0 };

	if (param->description)
		buffer_append_text(&text, param->description);
	if (param->describe)
		param->describe(&text, host);
	if (text.size > 0)
		json_put_string(writer, "description", text.bytes, text.size);
	buffer_done(&text);
}

static void put_param(struct json_writer *writer, const struct tool_param *param,
		      const struct host *host)
{
	static const char *const types[] = {
		[PARAM_TEXT] = "string", [PARAM_BYTES] = "string",    [PARAM_LIST] = "array",
		[PARAM_MAP] = "object",  [PARAM_INTEGER] = "integer", [PARAM_BOOLEAN] = "boolean",
		[PARAM_NAME] = "string",
	};

	json_open_object(writer, param->name);
	json_put_text(writer, "type", types[param->kind]);
	if (param->kind == PARAM_LIST || param->kind == PARAM_MAP) {
		json_open_object(writer,
				 param->kind == PARAM_LIST ? "items" : "additionalProperties");
		json_put_text(writer, "type", "string");
		json_close_object(writer);
	}
	if (param->kind == PARAM_INTEGER && param->maximum <= PUBLISHED_MAX)
		json_put_signed(writer, "maximum", param->maximum);
	if (param->kind == PARAM_NAME)
		put_names(writer, param, &host->posture);
	if (param->standard)
		json_put_raw(writer, "default", param->standard, strlen(param->standard));
	put_description(writer, param, host);
	json_close_object(writer);
}

/* Leave it out when empty: older JSON Schema does not allow an empty list. */
static void put_required(struct json_writer *writer, const struct tool *tool)
{
	bool is_open = false;

	for (size_t i = 0; i < tool->param_count; i++) {
		if (!tool->params[i].is_required)
			continue;
		if (!is_open)
			json_open_array(writer, "required");
		is_open = true;
		json_put_text(writer, NULL, tool->params[i].name);
	}
	if (is_open)
		json_close_array(writer);
}

static void put_schema(struct json_writer *writer, const struct tool *tool, const struct host *host)
{
	if (tool->schema) {
		json_put_raw(writer, "inputSchema", tool->schema, strlen(tool->schema));
		return;
	}
	json_open_object(writer, "inputSchema");
	json_put_text(writer, "type", "object");
	json_open_object(writer, "properties");
	for (size_t i = 0; i < tool->param_count; i++) {
		if (tool_param_is_published(&tool->params[i], &host->posture))
			put_param(writer, &tool->params[i], host);
	}
	json_close_object(writer);
	put_required(writer, tool);
	json_put_bool(writer, "additionalProperties", false);
	json_close_object(writer);
}

/* Return true if a profile lets its sandboxes write to a directory of the host. */
static bool may_write_host(const struct plan *plan)
{
	for (uint32_t i = 0; plan->bytes && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (!plan_is_internal(plan, profile) && profile->workspace_mode == WORKSPACE_WRITE)
			return true;
	}
	return false;
}

static void put_tool(struct json_writer *writer, const struct tool *tool, const struct host *host)
{
	const bool is_destructive =
		tool->is_destructive || (tool->is_destructive_here && may_write_host(&host->plan));
	const bool is_open = host->posture.has_hosts;

	json_open_object(writer, NULL);
	json_put_text(writer, "name", tool->name);
	json_put_text(writer, "title", tool->title);
	json_put_text(writer, "description",
		      is_open && tool->description_hosts ? tool->description_hosts
							 : tool->description);
	put_schema(writer, tool, host);
	json_open_object(writer, "annotations");
	json_put_bool(writer, "readOnlyHint", tool->is_read_only);
	json_put_bool(writer, "destructiveHint", is_destructive);
	json_put_bool(writer, "idempotentHint", tool->is_idempotent);
	json_put_bool(writer, "openWorldHint",
		      tool->is_open_world || (tool->is_open_world_here && is_open));
	json_close_object(writer);
	json_close_object(writer);
}

static bool is_offered(const struct host *host, const struct tool *tool)
{
	return !tool->is_offered || tool->is_offered(host);
}

/* Walk through the tools that the host offers, from `at` on, which moves behind the one that is
 * returned. NULL: it was the last. */
static const struct tool *next_offered(const struct host *host, const struct tool *const **at)
{
	while (**at && !is_offered(host, **at))
		++*at;
	return **at ? *(*at)++ : NULL;
}

static void put_tools(struct page *page, const struct session *session)
{
	const struct tool *const *at = session->host->catalog->tools;
	const struct tool *tool;

	while ((tool = next_offered(session->host, &at))) {
		if (page_takes(page))
			put_tool(page->writer, tool, session->host);
	}
}

void tools_list(const struct request *request)
{
	page_answer(request, "tools", ANSWER_TTL_MS, put_tools);
}

const struct tool *tools_find(const struct host *host, struct json_value *name)
{
	const struct tool *const *at = host->catalog->tools;

	while (*at && !json_equals(name, (*at)->name))
		at++;
	return *at && is_offered(host, *at) ? *at : NULL;
}

static void refuse_unknown(const struct request *request, const struct json_value *name)
{
	const struct host *host = request->session->host;
	const struct tool *const *at = host->catalog->tools;
	const struct tool *tool;
	struct buffer text = { 0 };

	buffer_format(&text, "Unknown tool: %s. The tools are: ",
		      text_quoted(name->text, name->size, QUOTE_BYTES));
	for (size_t i = 0; (tool = next_offered(host, &at)); i++)
		buffer_format(&text, "%s%s", i ? ", " : "", tool->name);
	request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
}

static void run_tool(struct call *call, const struct tool *tool,
		     const struct json_document *document, struct json_value *arguments)
{
	struct json_value **values = memory_get_zeroed(tool->param_count + 1, sizeof(*values));
	const unsigned int missing = tool->needs & ~call->abilities;
	struct buffer problem = { 0 };

	if (tool->schema)
		values[0] = arguments;
	if (missing)
		call_refuse_abilities(call, missing);
	else if (tool->schema || tool_take_arguments(tool, call->session->host, document, arguments,
						     values, &problem))
		tool->handler(call, document, values);
	else
		call_fail(call, "%s", problem.bytes);
	buffer_done(&problem);
	free(values);
}

static void run_again(struct call *call, const struct json_document *document,
		      struct json_value *arguments)
{
	run_tool(call, ask_row(call), document, arguments);
}

static const struct asker asker = { .method = "tools/call", .run = run_again, .is_tool = true };

static void start_call(const struct request *request, const struct tool *tool,
		       const struct json_value *name, struct json_value *arguments)
{
	if (tool->may_ask)
		ask_run(request, &asker, tool, name, arguments);
	else
		run_tool(call_new(request), tool, request->document, arguments);
}

void tools_call(const struct request *request)
{
	struct json_value *name = request_string(request, "name");
	struct json_value *arguments;
	const struct tool *tool;

	if (!name || !request_object(request, "arguments", &arguments))
		return;
	tool = tools_find(request->session->host, name);
	if (tool)
		start_call(request, tool, name, arguments);
	else
		refuse_unknown(request, name);
}
