/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_status.h"

#include "mcp/core/call.h"

static void answer_status(struct call *call, const struct json_document *document,
			  struct json_value *const *values)
{
	struct buffer text = { 0 };

	(void)document;
	(void)values;
	buffer_append_text(&text, call->session->host->refusal);
	call_answer_text(call, &text, false);
	buffer_done(&text);
}

static const struct tool tool_status = {
	.name = "msp_status",
	.title = "Why nothing can be run",
	.description = "msp refuses to run anything on this machine. Returns what is missing and "
		       "how the user can fix it. Call it first, and tell the user.",
	.is_read_only = true,
	.is_idempotent = true,
	.handler = answer_status,
};

static const struct tool *const tools[] = { &tool_status, NULL };
static const struct prompt *const prompts[] = { NULL };
static const struct resource_provider *const resources[] = { NULL };

const struct catalog catalog_refused = { tools, prompts, resources, 0 };
