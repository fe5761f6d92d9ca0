/* SPDX-License-Identifier: Apache-2.0
 *
 * Common functions of the tools for an execution: find it by its handle, and answer with its
 * output.
 */
#ifndef BROKER_MCP_TOOLS_TOOL_HANDLE_H
#define BROKER_MCP_TOOLS_TOOL_HANDLE_H

#include "mcp/core/call.h"
#include "mcp/core/result.h"
#include "mcp/core/waiting.h"
#include "mcp/tools/tools.h"

/* Find the execution that the call names; NULL: the call has failed with a remedy. */
struct execution *handle_find(struct call *call, const struct json_value *handle);

/* Return an empty result of the call. */
struct result handle_result(const struct call *call);

/* Fail the call: the execution existed, and its session has ended it. */
void handle_fail_gone(struct call *call);

/* Answer the call with this part of the output, and record it as shown. False: no client has the
 * handle (`is_new`), and the answer shows all output, so it gives no handle either. */
bool handle_answer(struct call *call, struct execution *execution, const struct result_part *part,
		   size_t room, bool is_new);

/* The `ended` of waiting_rules for a call that shows new output; frees `waiting`. */
void handle_waiting_ended(struct waiting *waiting, enum waiting_end end);

/* Answer with a finished text, and with the handle if `is_kept`. Frees the text. */
void handle_answer_result(struct call *call, const struct execution *execution,
			  struct result *result, bool is_kept);

#endif
