/* SPDX-License-Identifier: Apache-2.0 */
#include "io/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/log.h"
#include "io/lines.h"
#include "lib/heap/memory.h"

/* Queued bytes: above the first bound reading stops, below the second it goes on. */
#define QUEUE_HIGH_BYTES ((size_t)1 << 20)
#define QUEUE_LOW_BYTES ((size_t)256 << 10)

/* While reading is stopped, an end of input goes unnoticed: check at this interval. After the end
 * of input, a client that takes no byte for as long gets no more. */
static const struct timeval stall_time = { .tv_sec = 1 };

static const struct timeval no_time = { 0 };

/* Linux, Documentation/admin-guide/devices.txt: null, zero, full, random */
#define MEMORY_DEVICES 1U

enum client_state {
	CLIENT_NEW,
	CLIENT_READING,
	CLIENT_STALLED,  /* it does not read its answers */
	CLIENT_FLUSHING, /* its input has ended */
	CLIENT_ENDED,
};

struct client {
	const struct client_handlers *handlers;
	void *context;
	enum client_state state;
	int in;
	int out;
	bool is_file;    /* `in` is a file */
	bool is_stuck;   /* no byte was written since the stall timer's last tick */
	bool is_writing; /* waiting for `out` to become writable */
	struct event *readable;
	struct event *writable;
	struct event *timer;
	struct lines lines;
	struct buffer queue;
	size_t written; /* bytes of the queue */
};

static void on_readable(evutil_socket_t fd, short what, void *argument);
static void on_writable(evutil_socket_t fd, short what, void *argument);
static void on_timer(evutil_socket_t fd, short what, void *argument);

/* Return true for descriptors that never block and that epoll refuses: files, and the memory
 * devices, such as /dev/null. */
static bool is_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	return S_ISREG(status.st_mode) ||
	       (S_ISCHR(status.st_mode) && major(status.st_rdev) == MEMORY_DEVICES);
}

struct client *client_new(struct event_base *base, int in, int out,
			  const struct client_handlers *handlers, void *context)
{
	struct client *client = memory_get_zeroed(1, sizeof(*client));

	client->handlers = handlers;
	client->context = context;
	client->in = in;
	client->out = out;
	client->is_file = is_file(in);
	client->readable = event_new(base, in, EV_READ | EV_PERSIST, on_readable, client);
	client->writable = event_new(base, out, EV_WRITE | EV_PERSIST, on_writable, client);
	client->timer = evtimer_new(base, on_timer, client);
	if (!client->readable || !client->writable || !client->timer)
		give_up("memory for events");
	return client;
}

struct client *client_free(struct client *client)
{
	if (!client)
		return NULL;
	event_free(client->readable);
	event_free(client->writable);
	event_free(client->timer);
	lines_done(&client->lines);
	buffer_done(&client->queue);
	free(client);
	return NULL;
}

static size_t pending_bytes(const struct client *client)
{
	return client->queue.size - client->written;
}

static void end_client(struct client *client)
{
	if (client->state == CLIENT_ENDED)
		return;
	client->state = CLIENT_ENDED;
	(void)event_del(client->readable);
	(void)event_del(client->writable);
	(void)event_del(client->timer);
	client->handlers->on_end(client->context);
}

/* Report an error, unless it only means that the client is gone. */
static void log_failure(const char *what)
{
	if (errno != EPIPE && errno != ECONNRESET)
		log_line("%s: %s", what, errno_text(errno));
}

static void set_timer(struct client *client, const struct timeval *time)
{
	if (event_add(client->timer, time) != 0)
		give_up("a timer");
}

static void wait_readable(struct client *client)
{
	if (client->is_file) /* the timer reads it in every round of the loop */
		set_timer(client, &no_time);
	else if (event_add(client->readable, NULL) != 0)
		give_up("watching the client's input");
}

static void wait_writable(struct client *client, bool is_wanted)
{
	if (client->is_writing == is_wanted)
		return;
	client->is_writing = is_wanted;
	if (!is_wanted)
		(void)event_del(client->writable);
	else if (event_add(client->writable, NULL) !=
		 0) /* a descriptor that epoll refuses never blocks */
		give_up("watching the client's output");
}

/* A pipe or socket that is writable takes PIPE_BUF bytes without blocking. */
static ssize_t write_some(const struct client *client)
{
	struct pollfd out = { .fd = client->out, .events = POLLOUT };
	const size_t size = pending_bytes(client) < PIPE_BUF ? pending_bytes(client) : PIPE_BUF;
	const int ready = poll(&out, 1, 0);

	if (ready <= 0)
		return ready < 0 && errno != EINTR ? -1 : 0;
	const ssize_t written = write(client->out, client->queue.bytes + client->written, size);
	if (written < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return written;
}

static void flush_queue(struct client *client)
{
	ssize_t written = 1;

	while (pending_bytes(client) > 0 && written > 0) {
		written = write_some(client);
		if (written < 0) {
			log_failure("writing to the client");
			end_client(client);
			return;
		}
		client->written += (size_t)written;
		client->is_stuck &= written == 0;
	}
	if (client->written > QUEUE_LOW_BYTES || pending_bytes(client) == 0) {
		buffer_drop(&client->queue, client->written);
		client->written = 0;
	}
	wait_writable(client, pending_bytes(client) > 0);
}

static void stall_reading(struct client *client)
{
	client->state = CLIENT_STALLED;
	client->is_stuck = false;
	(void)event_del(client->readable);
	set_timer(client, &stall_time);
}

static void take_lines(struct client *client)
{
	enum lines_event event = LINES_LINE;
	size_t size = 0;
	char *line = NULL;

	while (client->state == CLIENT_READING && event != LINES_NONE) {
		event = lines_next(&client->lines, &line, &size);
		if (event == LINES_LINE)
			client->handlers->on_line(client->context, line, size);
		else if (event == LINES_TOO_LONG)
			client->handlers->on_long_line(client->context);
		if (client->state == CLIENT_READING && pending_bytes(client) > QUEUE_HIGH_BYTES)
			stall_reading(client);
	}
}

/* Drop the rest of an unfinished line. */
static void end_of_input(struct client *client)
{
	(void)event_del(client->readable);
	client->state = CLIENT_FLUSHING;
	client->is_stuck = true;
	if (pending_bytes(client) > 0)
		set_timer(client, &stall_time);
	else
		end_client(client);
}

static void read_some(struct client *client)
{
	size_t room;
	char *space = lines_space(&client->lines, &room);
	const ssize_t size = read(client->in, space, room);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		if (size < 0)
			log_failure("reading from the client");
		end_of_input(client);
		return;
	}
	lines_added(&client->lines, (size_t)size);
	take_lines(client);
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
	read_some(argument);
}

static void on_writable(evutil_socket_t fd, short what, void *argument)
{
	struct client *client = argument;

	flush_queue(client);
	if (client->state == CLIENT_FLUSHING && pending_bytes(client) == 0)
		end_client(client);
	if (client->state == CLIENT_STALLED && pending_bytes(client) < QUEUE_LOW_BYTES) {
		client->state = CLIENT_READING;
		(void)event_del(client->timer);
		take_lines(client);
		if (client->state == CLIENT_READING)
			wait_readable(client);
	}
}

static bool has_hung_up(const struct client *client)
{
	struct pollfd in = { .fd = client->in, .events = POLLRDHUP };

	return poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

static void on_timer(evutil_socket_t fd, short what, void *argument)
{
	struct client *client = argument;

	if (client->state == CLIENT_FLUSHING || client->state == CLIENT_STALLED) {
		if (client->is_stuck && (client->state == CLIENT_FLUSHING || has_hung_up(client))) {
			end_client(client);
			return;
		}
		client->is_stuck = true;
		set_timer(client, &stall_time);
	} else if (client->state == CLIENT_READING) {
		read_some(client);
		if (client->state == CLIENT_READING)
			set_timer(client, &no_time);
	}
}

void client_open(struct client *client)
{
	if (client->state != CLIENT_NEW)
		return;
	client->state = CLIENT_READING;
	wait_readable(client);
}

void client_send(struct client *client, const struct buffer *line)
{
	if (client->state == CLIENT_ENDED)
		return;
	buffer_append(&client->queue, line->bytes, line->size);
	buffer_append(&client->queue, "\n", 1);
	flush_queue(client);
}

bool client_is_behind(const struct client *client)
{
	return pending_bytes(client) > QUEUE_LOW_BYTES;
}
