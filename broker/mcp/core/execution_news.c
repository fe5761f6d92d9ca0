/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/execution_news.h"

#include "common/ipc_done.h"
#include "common/names.h"

#define LOGGER "msp.executions"

static void put_end(struct json_writer *writer, const struct execution_info *info)
{
	if (info->refused) {
		json_put_text(writer, "verdict", "refused");
		return;
	}
	json_put_text(writer, "verdict", verdict_name(info->done->verdict));
	if (info->done->verdict == VERDICT_EXITED)
		json_put_number(writer, "exit_code", info->done->exit_code);
	json_put_number(writer, "wall_ms", (info->done->wall_us + 500) / 1000);
}

void execution_news_say(struct call *call, const struct execution *execution,
			enum execution_event event)
{
	const struct execution_info *info = execution_info(execution);
	struct buffer data = { 0 };
	struct json_writer writer = { .out = &data };

	if (info->is_file || (event != EXECUTION_STARTED && event != EXECUTION_ENDED))
		return;
	json_open_object(&writer, NULL);
	json_put_text(&writer, "event", event == EXECUTION_STARTED ? "started" : "ended");
	json_put_text(&writer, "handle", info->handle);
	json_put_text(&writer, "profile", info->label.profile);
	if (event == EXECUTION_ENDED)
		put_end(&writer, info);
	json_close_object(&writer);
	call_say_log(call, LOG_LEVEL_DEBUG, LOGGER, &data);
	buffer_done(&data);
}
