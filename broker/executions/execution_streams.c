/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_execution.h"
#include "executions/execution_parts.h"
#include "frontend/network_watch.h"
#include "frontend/nonblocking.h"
#include "lib/heap/memory.h"

#define READ_BYTES ((size_t)64 << 10)

/* Control-D: a terminal reads it at the beginning of a line as the end of input. */
#define END_OF_TRANSMISSION "\004"

static void drop_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static struct event *make_event(const struct execution *execution, int fd, short what,
				event_callback_fn call, void *argument)
{
	struct event *event = event_new(execution->executions->base, fd, (short)(what | EV_PERSIST),
					call, argument);

	if (!event)
		give_up("memory for events");
	return event;
}

static void add_event(struct event *event)
{
	if (event_add(event, NULL) != 0)
		give_up("watching a pipe");
}

static void close_stream(struct stream *stream)
{
	drop_event(&stream->event);
	fd_close(&stream->fd);
}

bool execution_streams_closed(const struct execution *execution)
{
	return execution->streams[OUTPUT_OUT].fd < 0 && execution->streams[OUTPUT_ERR].fd < 0 &&
	       execution->network < 0;
}

static void close_network(struct execution *execution)
{
	drop_event(&execution->network_event);
	fd_close(&execution->network);
}

void execution_close_streams(struct execution *execution)
{
	for (size_t i = 0; i < OUTPUT_STREAMS; i++)
		close_stream(&execution->streams[i]);
	close_network(execution);
}

void execution_close_input(struct execution *execution)
{
	drop_event(&execution->input_event);
	if (execution->info.is_terminal)
		execution->input_fd = -1;
	fd_close(&execution->input_fd);
	execution->executions->input_bytes -= execution->input.size;
	buffer_done(&execution->input);
	execution->input_written = 0;
	execution->info.is_input_open = false;
}

static void append_input(struct execution *execution, const char *bytes, size_t size)
{
	buffer_append(&execution->input, bytes, size);
	execution->executions->input_bytes += size;
}

void execution_streams_init(struct execution *execution, const struct execution_order *order)
{
	execution->input_fd = execution->network = -1;
	for (size_t i = 0; i < OUTPUT_STREAMS; i++)
		execution->streams[i] =
			(struct stream){ -1, NULL, execution, (enum output_stream)i };
	append_input(execution, order->input, order->input_size);
	execution->info.is_terminal = order->is_terminal;
	execution->info.is_input_open = order->keeps_input || execution->info.is_terminal;
	execution->ends_input = !execution->info.is_input_open;
}

/* The profile's limit counts both streams. Output that arrives until the workload is dead is kept
 * too. */
static void count_output(struct execution *execution, uint64_t size)
{
	if (size <= execution->output_left) {
		execution->output_left -= size;
		return;
	}
	execution->output_left = UINT64_MAX;
	execution_ask_end(execution, END_OUTPUT);
}

static void on_output(evutil_socket_t fd, short what, void *argument)
{
	static char bytes[READ_BYTES]; /* one thread */
	struct stream *stream = argument;
	struct execution *execution = stream->execution;
	const ssize_t size = read(fd, bytes, sizeof(bytes));

	if (size > 0) {
		output_add(&execution->info.log, stream->which, bytes, (size_t)size);
		executions_fit_logs(execution->executions, execution);
		count_output(execution, (uint64_t)size);
		execution_notify(execution, EXECUTION_PRINTED);
		return;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* EIO: every process has closed the terminal */
	if (execution->info.is_terminal)
		execution_close_input(execution);
	close_stream(stream);
	execution_streams_changed(execution);
}

/* Free written bytes when they are half of the buffer, so that each byte moves once. */
static void drop_written(struct execution *execution)
{
	if (execution->input_written < execution->input.size - execution->input_written)
		return;
	execution->executions->input_bytes -= execution->input_written;
	buffer_drop(&execution->input, execution->input_written);
	execution->input_written = 0;
	if (execution->input.size == 0)
		buffer_done(&execution->input);
}

static void on_input(evutil_socket_t fd, short what, void *argument)
{
	struct execution *execution = argument;
	const ssize_t size = write(fd, execution->input.bytes + execution->input_written,
				   execution->input.size - execution->input_written);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size < 0) { /* the workload closed its input, so the rest is dropped */
		execution_close_input(execution);
		return;
	}
	execution->input_written += (size_t)size;
	drop_written(execution);
	if (execution->input.size > 0)
		return;
	(void)event_del(execution->input_event);
	if (execution->ends_input)
		execution_close_input(execution);
}

static void set_nonblocking(int fd)
{
	if (fd_set_nonblocking(fd, true) != 0)
		bug("a pipe that cannot be made nonblocking");
}

static void open_stream(struct stream *stream, int fd)
{
	set_nonblocking(fd);
	stream->fd = fd;
	stream->event = make_event(stream->execution, fd, EV_READ, on_output, stream);
	add_event(stream->event);
}

static void open_input(struct execution *execution, int fd)
{
	execution->input_fd = fd;
	if (execution->ends_input && execution->input.size == 0) {
		execution_close_input(execution);
		return;
	}
	set_nonblocking(fd);
	execution->input_event = make_event(execution, fd, EV_WRITE, on_input, execution);
	if (execution->input.size > 0)
		add_event(execution->input_event);
}

static void on_network(evutil_socket_t fd, short what, void *argument)
{
	struct execution *execution = argument;

	if (!network_watch_take(fd, execution->network_denials))
		return;
	execution->info.network = execution->network_denials;
	close_network(execution);
	execution_streams_changed(execution);
}

void execution_ask_network(struct execution *execution)
{
	execution->network =
		network_watch_execution(execution->executions->client, execution->request);
	if (execution->network < 0)
		return;
	execution->network_denials = memory_get_zeroed(1, sizeof(*execution->network_denials));
	execution->network_event =
		make_event(execution, execution->network, EV_READ, on_network, execution);
	add_event(execution->network_event);
}

void execution_open_pipes(struct execution *execution, const int fds[3])
{
	open_input(execution, fds[0]);
	open_stream(&execution->streams[OUTPUT_OUT], fds[1]);
	open_stream(&execution->streams[OUTPUT_ERR], fds[2]);
}

void execution_open_terminal(struct execution *execution, int terminal)
{
	open_stream(&execution->streams[OUTPUT_OUT], terminal);
	open_input(execution, terminal);
}

/* Return true if the workload has closed its end. */
static bool is_refused(const struct execution *execution)
{
	struct pollfd input = { .fd = execution->input_fd, .events = POLLOUT };

	return execution->input_fd >= 0 && !execution->info.is_terminal && poll(&input, 1, 0) > 0 &&
	       (input.revents & POLLERR) != 0;
}

enum execution_write execution_write(struct execution *execution, const char *bytes, size_t size,
				     bool is_last)
{
	if (!execution->info.is_input_open || is_refused(execution))
		return EXECUTION_WRITE_CLOSED;
	if (!execution_room_for_input(execution->executions, execution->info.owner.principal, size))
		return EXECUTION_WRITE_FULL;
	append_input(execution, bytes, size);
	if (is_last && execution->info.is_terminal) {
		append_input(execution, END_OF_TRANSMISSION, strlen(END_OF_TRANSMISSION));
	} else if (is_last) {
		execution->ends_input = true;
		execution->info.is_input_open = false;
	}
	if (execution->input_event && execution->input.size > 0)
		add_event(execution->input_event);
	else if (execution->input_event && execution->ends_input)
		execution_close_input(execution);
	return EXECUTION_WRITE_DONE;
}

bool execution_resize(struct execution *execution, uint32_t rows, uint32_t columns)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
				      .ws_col = (unsigned short)columns };

	return execution->info.is_terminal && execution->streams[OUTPUT_OUT].fd >= 0 &&
	       ioctl(execution->streams[OUTPUT_OUT].fd, TIOCSWINSZ, &size) == 0;
}

/* --- requests about an execution that runs -------------------------------------------------- */

void execution_ask_end(struct execution *execution, enum end_reason reason)
{
	if (execution->is_end_asked || execution->is_draining)
		return;
	execution->is_end_asked = true;
	/* if the supervisor is gone, every execution ends with it */
	(void)supervisor_execution_end(execution->executions->client, execution->request, reason);
}

void execution_kill(struct execution *execution)
{
	if (execution->info.state != EXECUTION_OVER)
		execution_ask_end(execution, END_CANCELLED);
}

bool execution_signal(struct execution *execution, uint32_t signal)
{
	return execution->info.state == EXECUTION_RUNNING && !execution->is_draining &&
	       supervisor_execution_signal(execution->executions->client, execution->request,
					   signal) == 0;
}

bool execution_extend(struct execution *execution, uint32_t wall_ms)
{
	if (execution->info.state != EXECUTION_RUNNING || execution->is_draining ||
	    supervisor_execution_extend(execution->executions->client, execution->request,
					wall_ms) != 0)
		return false;
	execution->wanted_ms = wall_ms;
	execution->extensions++;
	return true;
}
