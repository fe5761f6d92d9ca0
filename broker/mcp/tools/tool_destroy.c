/* SPDX-License-Identifier: Apache-2.0
 *
 * destroy_sandbox: end the executions in a persistent sandbox, and remove its files.
 */
#include <string.h>

#include "common/ipc/ipc_persistent.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/errand.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"
#include "mcp/tools/params.h"

static const struct tool_param params[] = { ROW_SANDBOX };

struct destruction {
	struct errand errand; /* first */
	struct ipc_sandbox_end wanted;
};

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	const struct destruction *destruction = (struct destruction *)errand;
	const char *called = destruction->wanted.sandbox;
	struct buffer text = { 0 };

	resource_diff_forget(errand->call->session, called);
	buffer_format(&text,
		      "The sandbox \"%s\" is removed with its files and checkpoints, and its "
		      "executions were ended. Its forks remain.",
		      text_quoted(called, strlen(called), QUOTE_BYTES));
	errand_answer(errand, &text, false);
}

static const struct errand_rules rules = { .answered = on_answer };

static void destroy_sandbox(struct call *call, const struct json_document *document,
			    struct json_value *const *values)
{
	struct destruction *destruction = memory_get_zeroed(1, sizeof(*destruction));
	struct ipc_sandbox_end *wanted = &destruction->wanted;

	wanted->how = SANDBOX_END_DESTROY;
	tool_copy_text(values[0], wanted->sandbox, sizeof(wanted->sandbox));
	destruction->errand.subjects.sandbox = wanted->sandbox;
	errand_begin(&destruction->errand, call, &rules);
	errand_ask(&destruction->errand, sandbox_end, NULL, wanted, -1);
}

const struct tool tool_destroy_sandbox = {
	.name = "destroy_sandbox",
	.title = "Destroy a persistent sandbox",
	.description = "Remove a persistent sandbox with its files and checkpoints, and end its "
		       "executions. Changes that were not applied are lost: check first.",
	TOOL_PARAMS(params),
	.is_destructive = true,
	.handler = destroy_sandbox,
};
