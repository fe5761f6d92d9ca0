/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/executions.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/log.h"
#include "common/text/names.h"
#include "executions/execution_parts.h"
#include "frontend/network_watch.h"
#include "io/clock.h"
#include "io/random_id.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

/* Pipes close when the sandbox dies, shortly before or after execution_done. */
static const struct timeval drain_time = { .tv_usec = 500000 };

/* A deadline that comes so much before the wanted one is the last that the profile allows. */
#define EXTENDED_LESS_MS 1000

/* Interval between two looks for expired executions. */
static const struct timeval expiry_time = { .tv_sec = 60 };

static void on_expiry(evutil_socket_t fd, short what, void *argument)
{
	executions_expire(argument, clock_steady_ms());
}

struct executions *executions_new(struct event_base *base, struct supervisor_client *client)
{
	struct executions *executions = memory_get_zeroed(1, sizeof(*executions));

	executions->base = base;
	executions->live_max = EXECUTIONS_MAX;
	executions->client = client;
	executions->expiry = event_new(base, -1, EV_PERSIST, on_expiry, executions);
	if (!executions->expiry || event_add(executions->expiry, &expiry_time) != 0)
		give_up("a timer");
	return executions;
}

/* --- the table -------------------------------------------------------------------------------- */

static void free_execution(struct execution *execution)
{
	free(execution->refused);
	free(execution->network_denials);
	free(execution);
}

/* Take an execution out of the table; free it once no notification about it is in progress. */
static void execution_remove(struct execution *execution)
{
	struct executions *executions = execution->executions;

	execution_close_streams(execution);
	execution_close_input(execution);
	if (execution->drain_timer)
		event_free(execution->drain_timer);
	output_log_drop(&execution->info.log);
	while (execution->watches.first)
		execution_unwatch(execution->watches.first);
	if (execution->info.state == EXECUTION_OVER)
		executions->kept_count--;
	else
		executions->live_count--;
	if (execution->previous)
		execution->previous->next = execution->next;
	else
		executions->first = execution->next;
	if (execution->next)
		execution->next->previous = execution->previous;
	else
		executions->last = execution->previous;
	execution->is_removed = true;
	if (execution->notifying == 0)
		free_execution(execution);
}

struct executions *executions_free(struct executions *executions)
{
	if (!executions)
		return NULL;
	while (executions->first)
		execution_remove(executions->first);
	while (executions->watches.first)
		execution_unwatch(executions->watches.first);
	event_free(executions->expiry);
	free(executions);
	return NULL;
}

static struct execution *find_by_request(const struct executions *executions, uint64_t request)
{
	struct execution *execution = executions->last;

	while (execution &&
	       (execution->request != request || execution->info.state == EXECUTION_OVER))
		execution = execution->previous;
	return execution;
}

static void set_handle(struct execution_info *info)
{
	(void)snprintf(info->handle, sizeof(info->handle), "%s-%u", info->sandbox, info->number);
}

/* In persistent sandboxes numbers are unique across all of them, so that none has to be
 * remembered. */
static void name_execution(struct executions *executions, const struct execution_order *order,
			   struct execution_info *info)
{
	info->is_file = order->type == IPC_TYPE_file_start;
	info->is_persistent = order->sandbox != NULL;
	if (info->is_file) { /* has no name of its own */
		(void)snprintf(info->sandbox, sizeof(info->sandbox), "%s", order->sandbox);
		return;
	}
	if (order->sandbox) {
		info->number = ++executions->last_number;
		(void)snprintf(info->sandbox, sizeof(info->sandbox), "%s", order->sandbox);
	} else {
		random_id_make(info->sandbox);
		info->number = 1; /* the only execution of its sandbox */
	}
	set_handle(info);
}

/* The sandbox was asked for by a name that belonged to another sandbox at the lookup. Its handle
 * was given to no client yet. */
static void correct_sandbox(struct execution_info *info,
			    const struct ipc_execution_started *started)
{
	if (!started->sandbox[0] || strcmp(info->sandbox, started->sandbox) == 0)
		return;
	memcpy(info->sandbox, started->sandbox, sizeof(info->sandbox));
	memcpy(info->label.profile, started->profile, sizeof(started->profile));
	set_handle(info);
}

static struct execution *create_execution(struct executions *executions,
					  const struct execution_order *order)
{
	struct execution *execution = memory_get_zeroed(1, sizeof(*execution));

	execution->executions = executions;
	execution->request = ++executions->client->last_request;
	execution->info.owner = order->owner;
	execution->info.label = *order->label;
	execution->asked_us = order->asked_us;
	execution->info.started_ms = execution->used_ms = clock_steady_ms();
	execution->info.limit_ms = order->timeout_ms;
	name_execution(executions, order, &execution->info);
	execution_streams_init(execution, order);
	execution->previous = executions->last;
	if (executions->last)
		executions->last->next = execution;
	else
		executions->first = execution;
	executions->last = execution;
	executions->live_count++;
	return execution;
}

/* --- watches
 * ----------------------------------------------------------------------------------- */

static void set_watch(struct execution_watches *watches, struct execution_watch *watch)
{
	watch->list = watches;
	watch->next = watches->first;
	watches->first = watch;
}

void execution_watch(struct execution *execution, struct execution_watch *watch)
{
	set_watch(&execution->watches, watch);
}

void executions_watch(struct executions *executions, struct execution_watch *watch)
{
	set_watch(&executions->watches, watch);
}

/* The walks in progress are on the stack; there are few. */
static struct execution_walk *walks;

void execution_unwatch(struct execution_watch *watch)
{
	if (!watch->list)
		return;
	for (struct execution_walk *walk = walks; walk; walk = walk->outer) {
		if (walk->next == watch)
			walk->next = watch->next;
	}
	CHAIN_REMOVE(watch->list->first, watch, next);
	watch->list = NULL;
}

static void notify_watches(const struct execution_watches *watches, struct execution *execution,
			   enum execution_event event)
{
	struct execution_walk walk = { watches->first, walks };

	walks = &walk;
	while (walk.next) {
		struct execution_watch *watch = walk.next;

		walk.next = watch->next;
		watch->notify(watch, execution, event);
	}
	walks = walk.outer;
}

/* A watcher may remove the execution; it stays in memory for the caller. */
static void announce_event(struct execution *execution, enum execution_event event)
{
	execution->notifying++;
	notify_watches(&execution->watches, execution, event);
	notify_watches(&execution->executions->watches, execution, event);
	execution->notifying--;
}

static void free_removed(struct execution *execution)
{
	if (execution->is_removed && execution->notifying == 0)
		free_execution(execution);
}

void execution_notify(struct execution *execution, enum execution_event event)
{
	announce_event(execution, event);
	free_removed(execution);
}

/* --- requests to the supervisor
 * ----------------------------------------------------------------- */

static enum execution_start start_error(int error)
{
	if (error == -ENOBUFS)
		return EXECUTION_START_QUEUE_FULL;
	return error == -EPROTO ? EXECUTION_START_TOO_LONG : EXECUTION_START_LOST;
}

enum execution_start executions_start(struct executions *executions,
				      const struct execution_order *order,
				      struct execution **ret_execution)
{
	const enum execution_start room = execution_room(executions, order);
	int code_fd = order->code_fd;
	struct execution *execution;
	int error;

	if (room != EXECUTION_START_DONE) {
		fd_close(&code_fd);
		return room;
	}
	if (order->type != IPC_TYPE_execution_start && order->type != IPC_TYPE_code_start &&
	    order->type != IPC_TYPE_file_start)
		bug("an order for nothing");
	execution = create_execution(executions, order);
	order->wanted->request = execution->request;
	error = supervisor_request_of(executions->client, order->type, order->wanted, code_fd);
	if (error) {
		execution_remove(execution);
		return start_error(error);
	}
	*ret_execution = execution;
	return EXECUTION_START_DONE;
}

/* --- lookups ---------------------------------------------------------------------------------- */

struct execution *executions_find(struct executions *executions, uint32_t principal,
				  const char *handle, size_t size)
{
	for (struct execution *e = executions->last; e; e = e->previous) {
		if (e->is_abandoned || e->info.is_file || e->info.owner.principal != principal ||
		    strlen(e->info.handle) != size ||
		    sodium_memcmp(e->info.handle, handle, size) != 0)
			continue;
		e->used_ms = clock_steady_ms();
		return e;
	}
	return NULL;
}

bool execution_owner_is(const struct execution_owner *owner, const struct execution_owner *other)
{
	return owner->principal == other->principal && owner->session == other->session;
}

static bool belongs_to_owner(const struct execution *execution, const struct execution_owner *owner)
{
	return !execution->is_abandoned && execution_owner_is(&execution->info.owner, owner);
}

/* Return this owner's next execution before `newer`. */
static struct execution *older_of(const struct executions *executions,
				  const struct execution_owner *owner,
				  const struct execution *newer)
{
	struct execution *execution = newer ? newer->previous : executions->last;

	while (execution && !belongs_to_owner(execution, owner))
		execution = execution->previous;
	return execution;
}

struct execution *executions_older(const struct executions *executions,
				   const struct execution_owner *owner,
				   const struct execution *newer)
{
	struct execution *execution = older_of(executions, owner, newer);

	while (execution && execution->info.is_file)
		execution = older_of(executions, owner, execution);
	return execution;
}

const struct execution_info *execution_info(const struct execution *execution)
{
	return &execution->info;
}

void execution_set_cursor(struct execution *execution, enum output_stream stream, uint64_t offset)
{
	execution->info.cursor[stream] = offset;
}

/* --- the end ---------------------------------------------------------------------------------- */

void execution_discard(struct execution *execution)
{
	if (execution->is_removed || execution->is_abandoned)
		return;
	execution->is_abandoned = true;
	announce_event(execution, EXECUTION_GONE);
	if (execution->info.state == EXECUTION_OVER || execution->is_draining) {
		execution_remove(execution);
		return;
	}
	while (execution->watches.first)
		execution_unwatch(execution->watches.first);
	execution_ask_end(execution, END_CANCELLED);
	execution_close_streams(execution);
	execution_close_input(execution);
	output_log_drop(&execution->info.log);
}

void executions_end_owner(struct executions *executions, const struct execution_owner *owner)
{
	struct execution *execution;

	while ((execution = older_of(executions, owner, NULL)))
		execution_discard(execution);
}

static void finish_execution(struct execution *execution)
{
	struct executions *executions = execution->executions;
	struct execution_info *info = &execution->info;

	if (execution->is_abandoned) {
		execution_remove(execution);
		return;
	}
	execution_close_streams(execution);
	execution_close_input(execution);
	if (execution->drain_timer)
		event_free(execution->drain_timer);
	execution->drain_timer = NULL;
	output_log_close(&info->log);
	info->refused = execution->refused;
	info->done = execution->refused ? NULL : &execution->done;
	timings_set(&info->timings, &execution->done, 0, execution->asked_us, clock_now_us());
	info->state = EXECUTION_OVER;
	info->over_ms = execution->used_ms = clock_steady_ms();
	executions->live_count--;
	executions->kept_count++;
	announce_event(execution, EXECUTION_ENDED);
	if (execution->is_removed)
		free_removed(execution);
	else
		executions_fit_kept(executions, execution);
}

void execution_streams_changed(struct execution *execution)
{
	if (execution->is_draining && execution_streams_closed(execution))
		finish_execution(execution);
}

static void on_drain_time(evutil_socket_t fd, short what, void *argument)
{
	finish_execution(argument);
}

/* --- the supervisor's answers ----------------------------------------------------------------- */

static bool is_asked(const struct execution *execution, bool is_terminal)
{
	return execution && execution->info.state == EXECUTION_ASKED &&
	       execution->info.is_terminal == is_terminal;
}

static void set_started(struct execution *execution, const struct ipc_execution_started *started)
{
	struct execution_info *info = &execution->info;

	info->state = EXECUTION_RUNNING;
	execution->output_left = started->output_bytes > 0 ? started->output_bytes : UINT64_MAX;
	info->log.bytes_max = started->log_bytes < OUTPUT_MEMORY_MAX ? (size_t)started->log_bytes
								     : OUTPUT_MEMORY_MAX;
	if (info->is_file)
		info->log.bytes_max = FILE_OUTPUT_MAX;
	if (started->wall_ms > 0)
		info->ends_ms = clock_steady_ms() + (int64_t)started->wall_ms;
}

/* Without its streams the result of an execution is lost: end it and report a failure. */
static void lose_streams(struct execution *execution)
{
	log_line("ended an execution: no room for its streams");
	execution->is_lost = true;
	execution_close_input(execution);
	execution_ask_end(execution, END_CANCELLED);
}

/* Take the streams of an execution that has started: three pipes, or a terminal. */
static bool take_streams(struct executions *executions, const struct ipc_execution_started *started,
			 const int *fds, size_t count)
{
	struct execution *execution = find_by_request(executions, started->request);
	const bool is_expected = is_asked(execution, count == 1);
	int unused[3];

	if (!is_expected || execution->is_abandoned) { /* no reader is left */
		memcpy(unused, fds, count * sizeof(*fds));
		fd_close_all(unused, count);
	}
	if (!is_expected)
		return false;
	correct_sandbox(&execution->info, started);
	set_started(execution, started);
	if (execution->is_abandoned)
		return true;
	if (fds[0] < 0)
		lose_streams(execution);
	else if (count == 1)
		execution_open_terminal(execution, fds[0]);
	else
		execution_open_pipes(execution, fds);
	execution_notify(execution, EXECUTION_STARTED);
	return true;
}

bool executions_on_started(struct executions *executions,
			   const struct ipc_execution_started *started, const int fds[3])
{
	return take_streams(executions, started, fds, 3);
}

bool executions_on_tty(struct executions *executions, const struct ipc_execution_tty *tty,
		       int terminal)
{
	const struct ipc_execution_started started = { .request = tty->request,
						       .output_bytes = tty->output_bytes,
						       .log_bytes = tty->log_bytes,
						       .wall_ms = tty->wall_ms };

	return take_streams(executions, &started, &terminal, 1);
}

bool executions_on_extended(struct executions *executions,
			    const struct ipc_execution_extended *extended)
{
	struct execution *execution = find_by_request(executions, extended->request);
	const int64_t ends_ms = clock_steady_ms() + (int64_t)extended->wall_ms;

	if (!execution || execution->extensions == 0 || execution->is_draining)
		return false;
	execution->extensions--;
	if (ends_ms > execution->info.ends_ms)
		execution->info.limit_ms = (uint64_t)(ends_ms - execution->info.started_ms);
	execution->info.ends_ms = ends_ms;
	execution->info.has_most_time = extended->wall_ms + EXTENDED_LESS_MS < execution->wanted_ms;
	execution_notify(execution, EXECUTION_EXTENDED);
	return true;
}

bool executions_on_refused(struct executions *executions,
			   const struct ipc_execution_refused *refused)
{
	struct execution *execution = find_by_request(executions, refused->request);

	if (!execution || execution->info.state != EXECUTION_ASKED)
		return false;
	execution->refused = memory_get(sizeof(*refused));
	*execution->refused = *refused;
	finish_execution(execution);
	return true;
}

/* An execution with a terminal can end before the terminal arrives: the failed step made it end. */
static bool can_be_done(const struct execution *execution)
{
	return execution && !execution->is_draining &&
	       (execution->info.state == EXECUTION_RUNNING || is_asked(execution, true));
}

bool executions_on_done(struct executions *executions, const struct ipc_execution_done *done)
{
	struct execution *execution = find_by_request(executions, done->request);

	if (!can_be_done(execution))
		return false;
	execution->is_draining = true;
	execution->info.state = EXECUTION_RUNNING;
	execution->done = *done;
	if (execution->is_lost)
		execution->done = (struct ipc_execution_done){ .request = done->request,
							       .verdict = VERDICT_INTERNAL,
							       .wall_us = done->wall_us };
	execution_close_input(execution);
	if (done->has_refusals && !execution->is_abandoned && !execution->info.is_file)
		execution_ask_network(execution);
	if (execution->is_abandoned || execution_streams_closed(execution)) {
		finish_execution(execution);
		return true;
	}
	execution->drain_timer = evtimer_new(executions->base, on_drain_time, execution);
	if (!execution->drain_timer || event_add(execution->drain_timer, &drain_time) != 0)
		give_up("a timer");
	return true;
}

static struct execution *find_live(const struct executions *executions)
{
	struct execution *execution = executions->first;

	while (execution && execution->info.state == EXECUTION_OVER)
		execution = execution->next;
	return execution;
}

void executions_lose(struct executions *executions)
{
	struct execution *live;

	while ((live = find_live(executions))) {
		if (!live->is_draining)
			live->done = (struct ipc_execution_done){ .verdict = VERDICT_INTERNAL };
		finish_execution(live);
	}
}
