/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/waiting.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "common/ipc/ipc_done.h"
#include "common/text/names.h"
#include "executions/executions.h"
#include "io/clock.h"
#include "lib/heap/memory.h"
#include "mcp/core/call.h"

/* --- debug messages about an execution ------------------------------------------------------ */

/* Debug messages in the client's log about an execution that a call waits for: its start and its
 * end, never its output. The call's answer has all that matters. */

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

static void execution_news_say(struct call *call, const struct execution *execution,
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

/* --- waiting -------------------------------------------------------------------------------- */

/* Milliseconds between two reports of progress. */
#define PROGRESS_MS 1000U

/* If progress arrives right before the answer, some clients report an unknown call; so stop
 * reporting this many milliseconds before it. */
#define PROGRESS_QUIET_MS 200U

static void drop_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void stop_waiting(struct waiting *waiting)
{
	execution_unwatch(&waiting->watch);
	drop_event(&waiting->limit);
	drop_event(&waiting->settling);
	drop_event(&waiting->progress);
	waiting->call->cancel = NULL;
	waiting->call->work = NULL;
	waiting->call->execution = NULL;
}

static void end_waiting(struct waiting *waiting, enum waiting_end how)
{
	stop_waiting(waiting);
	waiting->rules->ended(waiting, how);
}

static void cancel_waiting(struct call *call)
{
	struct waiting *waiting = call->work;

	stop_waiting(waiting);
	if (waiting->rules->cancelled)
		waiting->rules->cancelled(waiting);
	else
		free(waiting);
}

static void set_timer(struct waiting *waiting, struct event **timer, uint32_t ms,
		      event_callback_fn call)
{
	const struct timeval time = { .tv_sec = ms / 1000,
				      .tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	if (!*timer)
		*timer = evtimer_new(waiting->call->session->host->base, call, waiting);
	if (!*timer || event_add(*timer, &time) != 0)
		give_up("a timer");
}

static void on_limit(evutil_socket_t fd, short what, void *argument)
{
	end_waiting(argument, WAITING_TIME);
}

static void on_settled(evutil_socket_t fd, short what, void *argument)
{
	end_waiting(argument, WAITING_PRINTED);
}

static void on_progress(evutil_socket_t fd, short what, void *argument)
{
	struct waiting *waiting = argument;
	const struct output *streams = execution_info(waiting->execution)->log.streams;
	const uint64_t bytes = streams[OUTPUT_OUT].total + streams[OUTPUT_ERR].total;
	const int64_t ms = clock_steady_ms() - waiting->began_ms;
	char text[64];

	if (bytes < 1000)
		(void)snprintf(text, sizeof(text), "%" PRId64 " s, %" PRIu64 " byte%s of output",
			       ms / 1000, bytes, bytes == 1 ? "" : "s");
	else
		(void)snprintf(text, sizeof(text),
			       "%" PRId64 " s, %" PRIu64 ".%" PRIu64 " kB of output", ms / 1000,
			       bytes / 1000, bytes % 1000 / 100);
	if (ms + PROGRESS_QUIET_MS < waiting->limit_ms && !waiting->settling)
		call_say_progress(waiting->call, (double)ms / 1000, 0, text);
	set_timer(waiting, &waiting->progress, PROGRESS_MS, on_progress);
}

static bool has_news(const struct waiting *waiting)
{
	return waiting->rules->has_news && waiting->rules->has_news(waiting);
}

static bool is_full(const struct waiting *waiting)
{
	return waiting->rules->is_full && waiting->rules->is_full(waiting);
}

static void begin_settling(struct waiting *waiting)
{
	if (has_news(waiting))
		set_timer(waiting, &waiting->settling, waiting->rules->settle_ms, on_settled);
	else
		drop_event(&waiting->settling);
}

static void on_output(struct waiting *waiting)
{
	if (is_full(waiting))
		end_waiting(waiting, WAITING_PRINTED);
	else
		begin_settling(waiting);
}

static void on_event(struct execution_watch *watch, struct execution *execution,
		     enum execution_event event)
{
	struct waiting *waiting =
		(struct waiting *)(void *)((char *)watch - offsetof(struct waiting, watch));

	execution_news_say(waiting->call, execution, event);
	if (event == EXECUTION_ENDED)
		end_waiting(waiting, WAITING_OVER);
	else if (event == EXECUTION_GONE)
		end_waiting(waiting, WAITING_GONE);
	else if ((event == EXECUTION_STARTED || event == EXECUTION_EXTENDED) &&
		 waiting->ends_at_start)
		end_waiting(waiting, WAITING_STARTED);
	else if (event == EXECUTION_PRINTED)
		on_output(waiting);
}

void waiting_begin(struct waiting *waiting, struct call *call, struct execution *execution,
		   const struct waiting_rules *rules, uint32_t limit_ms)
{
	waiting->call = call;
	waiting->execution = execution;
	waiting->rules = rules;
	waiting->watch = (struct execution_watch){ .notify = on_event };
	waiting->limit = waiting->settling = waiting->progress = NULL;
	waiting->began_ms = clock_steady_ms();
	waiting->limit_ms = limit_ms;
	if (execution_info(execution)->state == EXECUTION_OVER) {
		rules->ended(waiting, WAITING_OVER);
		return;
	}
	if (limit_ms == 0 && !waiting->ends_at_start) {
		rules->ended(waiting, WAITING_TIME);
		return;
	}
	if (is_full(waiting)) {
		rules->ended(waiting, WAITING_PRINTED);
		return;
	}
	call->cancel = cancel_waiting;
	call->work = waiting;
	call->execution = execution;
	execution_watch(execution, &waiting->watch);
	if (!waiting->ends_at_start)
		set_timer(waiting, &waiting->limit, limit_ms, on_limit);
	if (call->progress.token.raw.size > 0 && !waiting->ends_at_start)
		set_timer(waiting, &waiting->progress, PROGRESS_MS, on_progress);
	begin_settling(waiting);
}
