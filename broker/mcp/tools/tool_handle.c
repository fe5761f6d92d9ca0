/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_handle.h"

#include <stdlib.h>

#include "io/text.h"

struct execution *handle_find(struct call *call, const struct json_value *handle)
{
	const struct session *session = call->session;
	struct execution *execution = executions_find(session->host->executions, session->principal,
						      handle->text, handle->size);

	if (!execution)
		call_fail(
			call,
			"There is no execution with the handle \"%s\". Handles work until an hour "
			"after the execution ended. list_sandboxes shows the valid ones.",
			text_quoted(handle->text, handle->size, QUOTE_BYTES));
	return execution;
}

void handle_fail_gone(struct call *call)
{
	call_fail(call, "The execution was ended with its session.");
}

void handle_answer_result(struct call *call, const struct execution *execution,
			  struct result *result, bool is_kept)
{
	const struct execution_info *info = execution_info(execution);
	struct answer answer;

	call_open_result(call, &answer);
	call_put_text(&answer, &result->text, result->is_error);
	if (!info->refused) {
		call_open_meta(call, &answer);
		result_put_meta(&answer.writer, result, info, &call->session->host->posture,
				is_kept);
		json_close_object(&answer.writer);
	}
	call_close_result(call, &answer);
	buffer_done(&result->text);
}

static void note_shown(struct execution *execution, const struct result_part *part)
{
	for (size_t i = 0; i < OUTPUT_STREAMS; i++)
		execution_set_cursor(execution, (enum output_stream)i, part->to[i]);
}

struct result handle_result(const struct call *call)
{
	const struct host *host = call->session->host;

	return (struct result){ .plan = &host->plan,
				.is_service = host->posture.is_service,
				.limits = host->posture.limits };
}

bool handle_answer(struct call *call, struct execution *execution, const struct result_part *part,
		   size_t room, bool is_new)
{
	struct result result = handle_result(call);
	bool is_kept;

	result_of_execution(execution_info(execution), part, room, &result);
	note_shown(execution, part);
	is_kept = !is_new || result.is_truncated;
	handle_answer_result(call, execution, &result, is_kept);
	return is_kept;
}

void handle_waiting_ended(struct waiting *waiting, enum waiting_end end)
{
	struct result_part part;

	if (end == WAITING_GONE) {
		handle_fail_gone(waiting->call);
	} else {
		part = result_part_new(execution_info(waiting->execution));
		(void)handle_answer(waiting->call, waiting->execution, &part, RESULT_TEXT_BYTES,
				    false);
	}
	free(waiting);
}
