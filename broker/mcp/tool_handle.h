/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tools about an execution have in common: finding it by its handle, and answering with
 * what it printed.
 */
#ifndef BROKER_MCP_TOOL_HANDLE_H
#define BROKER_MCP_TOOL_HANDLE_H

#include "mcp/call.h"
#include "mcp/result.h"
#include "mcp/tools.h"
#include "mcp/waiting.h"

/* The parameter of every such tool. Of a handle that is none, a bit more is read than one has. */
#define HANDLE_PARAM                                                                               \
	{                                                                                          \
		.name = "handle", .kind = PARAM_TEXT, .is_required = true, .bytes_max = 64,        \
		.description = "The handle that run_command or run_code returned."                 \
	}

/* The execution that the call means; NULL: the call has failed with what to do. */
struct execution *handle_find(struct call *call, const struct json_value *handle);

/* It was there, and its session has ended it. */
void handle_fail_gone(struct call *call);

/* Answer the call with this part of the output, and note that it has been shown. */
void handle_answer(struct call *call, struct execution *execution, const struct result_part *part,
		   size_t room);

/* The same for the end of an execution whose handle nobody was given. False: the answer gives none
 * either, for it shows everything. */
bool handle_answer_end(struct call *call, struct execution *execution,
		       const struct result_part *part);

/* For waiting_rules of a call that shows what is new; they free `waiting`. */
void handle_waiting_ended(struct waiting *waiting, enum waiting_end end);
void handle_waiting_cancelled(struct waiting *waiting);

/* Answer with a finished text; `is_kept`: and with the handle. Frees the text. */
void handle_answer_result(struct call *call, const struct execution *execution,
			  struct result *result, bool is_kept);

#endif
