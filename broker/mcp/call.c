/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/call.h"

#include <stdlib.h>

#include "memory.h"

struct call *call_new(struct session *session, struct batch *batch, struct rpc_id *id, enum era era)
{
	struct call *call = memory_get_zeroed(1, sizeof(*call));

	call->session = session;
	call->batch = batch;
	call->id = *id;
	*id = (struct rpc_id){ 0 };
	call->era = era;
	batch_hold(batch);
	call->next = session->calls;
	session->calls = call;
	return call;
}

void call_drop(struct call *call)
{
	struct call **link = &call->session->calls;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	batch_release(call->session, call->batch);
	rpc_id_done(&call->id);
	free(call);
}

struct call *call_find(struct session *session, const struct rpc_id *id)
{
	struct call *call = session->calls;

	while (call && !rpc_id_equals(&call->id, id))
		call = call->next;
	return call;
}

void call_cancel(struct call *call)
{
	executions_cancel(call->session->executions, call->execution);
	call_drop(call);
}

/* One text block, and what the result says about itself. `outcome` NULL: nothing ran. */
static void answer(struct call *call, const struct result *result,
		   const struct execution_outcome *outcome)
{
	const bool has_run = outcome && outcome->done;
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	message_open_result(&writer, &call->id, call->era);
	json_open_array(&writer, "content");
	json_open_object(&writer, NULL);
	json_put_text(&writer, "type", "text");
	json_put_string(&writer, "text", result->text.bytes, result->text.size);
	json_close_object(&writer);
	json_close_array(&writer);
	json_put_bool(&writer, "isError", result->is_error);
	if (call->era == ERA_MODERN || has_run) {
		message_open_meta(&writer, call->era);
		if (has_run)
			result_put_meta(&writer, result, &call->label, &call->session->posture,
					outcome);
		message_close_meta(&writer);
	}
	message_close_result(&writer);
	session_answer(call->session, call->batch, &line);
	buffer_done(&line);
	call_drop(call);
}

void call_fail(struct call *call, const struct buffer *problem)
{
	const struct result result = { .text = *problem, .is_error = true };

	answer(call, &result, NULL);
}

static void on_finished(void *owner, const struct execution_outcome *outcome)
{
	struct call *call = owner;
	struct result result = { .is_error = false };

	call->execution = NULL;
	if (outcome->refused)
		result_of_refusal(&call->label, outcome->refused, &result);
	else
		result_of_execution(&call->label, outcome, &result);
	answer(call, &result, outcome);
	buffer_done(&result.text);
}

static const char *const start_problems[] = {
	[EXECUTION_TOO_MANY] = "Too many executions are running: 1024 at once is the most. Nothing "
			       "was run. Wait until one ends, or cancel one, and call again.",
	[EXECUTION_INPUT_FULL] =
		"The `stdin` of all running calls together is limited to 12 MiB. Nothing was "
		"run. Wait until one ends, or pass less, and call again.",
	[EXECUTION_QUEUE_FULL] = "Too many requests are waiting to be started. Nothing was run. "
				 "Wait a moment and call again.",
	[EXECUTION_TOO_LONG] = "The arguments and environment are too long for one execution. "
			       "Nothing was run. Pass large data in `stdin`, or shorten it.",
	[EXECUTION_LOST] = "The supervisor cannot be reached. Nothing was run. The server ends; "
			   "have the client start it again.",
};

void call_execute(struct call *call, struct execution_order *order)
{
	struct buffer problem = { 0 };
	enum execution_start start;

	order->finished = on_finished;
	order->owner = call;
	start = executions_start(call->session->executions, order, &call->execution);
	if (start == EXECUTION_STARTED)
		return;
	buffer_append_text(&problem, start_problems[start]);
	call_fail(call, &problem);
	buffer_done(&problem);
}
