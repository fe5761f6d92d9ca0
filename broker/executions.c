/* SPDX-License-Identifier: Apache-2.0 */
#include "executions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/names.h"
#include "memory.h"

#define READ_BYTES ((size_t)64 << 10)

/* Pipes close when the sandbox dies, which is before or right after execution_done. */
static const struct timeval drain_time = { .tv_usec = 500000 };

enum execution_state {
	EXECUTION_ASKED,
	EXECUTION_RUNNING,
	EXECUTION_DRAINING, /* done; its pipes may still hold output */
};

struct stream {
	int fd;
	struct event *event;
	struct execution *execution;
	struct output output;
};

struct execution {
	struct executions *executions;
	uint64_t request;
	enum execution_state state;
	execution_finished *finished; /* NULL: cancelled */
	void *owner;
	struct stream out;
	struct stream err;
	int input_fd;
	struct event *input_event;
	char *input;
	size_t input_size;
	size_t input_written;
	struct event *drain_timer;
	struct ipc_execution_done done;
	bool is_lost;         /* it ran without us: no room for its streams */
	uint64_t output_left; /* of the profile's limit */
};

struct executions {
	struct event_base *base;
	struct supervisor_client *client;
	void (*queued)(void *context);
	void *context;
	uint64_t last_request;
	size_t input_bytes;
	struct execution *slots[EXECUTIONS_MAX];
};

struct executions *executions_new(struct event_base *base, struct supervisor_client *client,
				  void (*queued)(void *context), void *context)
{
	struct executions *executions = memory_get_zeroed(1, sizeof(*executions));

	executions->base = base;
	executions->client = client;
	executions->queued = queued;
	executions->context = context;
	return executions;
}

static void drop_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static struct event *watch(struct execution *execution, int fd, short what, event_callback_fn call,
			   void *argument)
{
	struct event *event = event_new(execution->executions->base, fd, (short)(what | EV_PERSIST),
					call, argument);

	if (!event || event_add(event, NULL) != 0)
		give_up("watching a pipe");
	return event;
}

static void close_stream(struct stream *stream)
{
	drop_event(&stream->event);
	fd_close(&stream->fd);
}

static void close_input(struct execution *execution)
{
	drop_event(&execution->input_event);
	fd_close(&execution->input_fd);
	execution->executions->input_bytes -= execution->input_size;
	free(execution->input);
	execution->input = NULL;
	execution->input_size = 0;
}

static void release(struct execution *execution)
{
	struct executions *executions = execution->executions;

	close_stream(&execution->out);
	close_stream(&execution->err);
	close_input(execution);
	drop_event(&execution->drain_timer);
	for (size_t i = 0; i < EXECUTIONS_MAX; i++) {
		if (executions->slots[i] == execution)
			executions->slots[i] = NULL;
	}
	free(execution);
}

struct executions *executions_free(struct executions *executions)
{
	if (!executions)
		return NULL;
	for (size_t i = 0; i < EXECUTIONS_MAX; i++) {
		if (executions->slots[i])
			release(executions->slots[i]);
	}
	free(executions);
	return NULL;
}

static struct execution *find(struct executions *executions, uint64_t request)
{
	for (size_t i = 0; i < EXECUTIONS_MAX; i++) {
		if (executions->slots[i] && executions->slots[i]->request == request)
			return executions->slots[i];
	}
	return NULL;
}

static struct execution **find_slot(struct executions *executions)
{
	for (size_t i = 0; i < EXECUTIONS_MAX; i++) {
		if (!executions->slots[i])
			return &executions->slots[i];
	}
	return NULL;
}

static struct execution *create(struct executions *executions, const struct execution_order *order)
{
	struct execution *execution = memory_get_zeroed(1, sizeof(*execution));

	execution->executions = executions;
	execution->request = ++executions->last_request;
	execution->finished = order->finished;
	execution->owner = order->owner;
	execution->out.fd = execution->err.fd = execution->input_fd = -1;
	execution->out.execution = execution->err.execution = execution;
	if (order->input_size > 0) {
		execution->input = memory_get(order->input_size);
		memcpy(execution->input, order->input, order->input_size);
		execution->input_size = order->input_size;
		executions->input_bytes += order->input_size;
	}
	return execution;
}

static int ask(struct executions *executions, const struct execution_order *order, uint64_t request)
{
	if (order->code) {
		order->code->request = request;
		return supervisor_code_start(executions->client, order->code, order->code_fd);
	}
	if (!order->command)
		bug("an order for nothing");
	order->command->request = request;
	return supervisor_execution_start(executions->client, order->command);
}

static enum execution_start start_error(int error)
{
	if (error == -ENOBUFS)
		return EXECUTION_QUEUE_FULL;
	return error == -EPROTO ? EXECUTION_TOO_LONG : EXECUTION_LOST;
}

static void tell_queued(struct executions *executions)
{
	if (supervisor_has_queued(executions->client))
		executions->queued(executions->context);
}

enum execution_start executions_start(struct executions *executions,
				      const struct execution_order *order,
				      struct execution **ret_execution)
{
	struct execution **slot = find_slot(executions);
	int code_fd = order->code ? order->code_fd : -1;
	int error;

	if (!slot || order->input_size > INPUT_BYTES_MAX - executions->input_bytes) {
		fd_close(&code_fd);
		return slot ? EXECUTION_INPUT_FULL : EXECUTION_TOO_MANY;
	}
	*slot = create(executions, order);
	error = ask(executions, order, (*slot)->request);
	if (error) {
		release(*slot);
		return start_error(error);
	}
	*ret_execution = *slot;
	tell_queued(executions);
	return EXECUTION_STARTED;
}

void executions_cancel(struct executions *executions, struct execution *execution)
{
	execution->finished = NULL;
	if (execution->state == EXECUTION_DRAINING) {
		release(execution);
		return;
	}
	close_stream(&execution->out);
	close_stream(&execution->err);
	close_input(execution);
	/* when the supervisor is gone, everything ends anyway */
	(void)supervisor_execution_end(executions->client, execution->request, END_CANCELLED);
	tell_queued(executions);
}

static void finish(struct execution *execution, const struct ipc_execution_refused *refused)
{
	const struct execution_outcome outcome = {
		.done = refused ? NULL : &execution->done,
		.refused = refused,
		.out = &execution->out.output,
		.err = &execution->err.output,
	};

	if (execution->finished)
		execution->finished(execution->owner, &outcome);
	release(execution);
}

static void finish_when_drained(struct execution *execution)
{
	if (execution->state == EXECUTION_DRAINING && execution->out.fd < 0 &&
	    execution->err.fd < 0)
		finish(execution, NULL);
}

static void on_drain_time(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	finish(argument, NULL);
}

/* The profile's limit counts both streams; what comes until the workload is dead is kept too. */
static void count_output(struct execution *execution, uint64_t size)
{
	struct executions *executions = execution->executions;

	if (size <= execution->output_left) {
		execution->output_left -= size;
		return;
	}
	execution->output_left = UINT64_MAX; /* asked for once */
	/* when the supervisor is gone, everything ends anyway */
	(void)supervisor_execution_end(executions->client, execution->request, END_OUTPUT);
	tell_queued(executions);
}

static void on_output(evutil_socket_t fd, short what, void *argument)
{
	static char bytes[READ_BYTES]; /* one thread */
	struct stream *stream = argument;
	const ssize_t size = read(fd, bytes, sizeof(bytes));

	(void)what;
	if (size > 0) {
		output_add(&stream->output, bytes, (size_t)size);
		count_output(stream->execution, (uint64_t)size);
		return;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close_stream(stream);
	finish_when_drained(stream->execution);
}

static void on_input(evutil_socket_t fd, short what, void *argument)
{
	struct execution *execution = argument;
	const ssize_t size = write(fd, execution->input + execution->input_written,
				   execution->input_size - execution->input_written);

	(void)what;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size > 0)
		execution->input_written += (size_t)size;
	/* a workload that closed its input does not want the rest */
	if (size < 0 || execution->input_written == execution->input_size)
		close_input(execution);
}

static void open_stream(struct stream *stream, int fd)
{
	if (fd_set_nonblocking(fd, true) != 0)
		bug("a pipe that cannot be made nonblocking");
	stream->fd = fd;
	stream->event = watch(stream->execution, fd, EV_READ, on_output, stream);
}

static void open_input(struct execution *execution, int fd)
{
	execution->input_fd = fd;
	if (execution->input_size == 0) {
		close_input(execution);
		return;
	}
	if (fd_set_nonblocking(fd, true) != 0)
		bug("a pipe that cannot be made nonblocking");
	execution->input_event = watch(execution, fd, EV_WRITE, on_input, execution);
}

/* What it does without them is nobody's result: it is ended, and said to have failed. */
static void lose_streams(struct execution *execution)
{
	struct executions *executions = execution->executions;

	log_line("no room for the streams of an execution: it is ended");
	execution->is_lost = true;
	close_input(execution);
	/* when the supervisor is gone, everything ends anyway */
	(void)supervisor_execution_end(executions->client, execution->request, END_CANCELLED);
	tell_queued(executions);
}

bool executions_on_started(struct executions *executions,
			   const struct ipc_execution_started *started, const int fds[3])
{
	struct execution *execution = find(executions, started->request);

	if (!execution || execution->state != EXECUTION_ASKED || !execution->finished) {
		int copy[3] = { fds[0], fds[1], fds[2] };

		fd_close_all(copy, 3);
		if (!execution || execution->state != EXECUTION_ASKED)
			return false;
		execution->state = EXECUTION_RUNNING; /* cancelled: nobody reads */
		return true;
	}
	execution->state = EXECUTION_RUNNING;
	if (fds[0] < 0) {
		lose_streams(execution);
		return true;
	}
	execution->output_left = started->output_bytes > 0 ? started->output_bytes : UINT64_MAX;
	open_input(execution, fds[0]);
	open_stream(&execution->out, fds[1]);
	open_stream(&execution->err, fds[2]);
	return true;
}

bool executions_on_refused(struct executions *executions,
			   const struct ipc_execution_refused *refused)
{
	struct execution *execution = find(executions, refused->request);

	if (!execution || execution->state != EXECUTION_ASKED)
		return false;
	finish(execution, refused);
	return true;
}

bool executions_on_done(struct executions *executions, const struct ipc_execution_done *done)
{
	struct execution *execution = find(executions, done->request);

	if (!execution || execution->state != EXECUTION_RUNNING)
		return false;
	execution->state = EXECUTION_DRAINING;
	execution->done = *done;
	if (execution->is_lost)
		execution->done = (struct ipc_execution_done){ .request = done->request,
							       .verdict = VERDICT_INTERNAL,
							       .wall_us = done->wall_us };
	close_input(execution);
	if (!execution->finished || (execution->out.fd < 0 && execution->err.fd < 0)) {
		finish(execution, NULL);
		return true;
	}
	execution->drain_timer = evtimer_new(executions->base, on_drain_time, execution);
	if (!execution->drain_timer || event_add(execution->drain_timer, &drain_time) != 0)
		give_up("a timer");
	return true;
}

void executions_lose(struct executions *executions)
{
	for (size_t i = 0; i < EXECUTIONS_MAX; i++) {
		struct execution *execution = executions->slots[i];

		if (!execution)
			continue;
		if (execution->state != EXECUTION_DRAINING)
			execution->done =
				(struct ipc_execution_done){ .verdict = VERDICT_INTERNAL };
		finish(execution, NULL);
	}
}
