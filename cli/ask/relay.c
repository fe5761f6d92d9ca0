/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Moves in one step before the loop looks at signals and the other streams again. */
#define MOVES_PER_STEP 16

/* After so many bytes a stream is a long one, and its pipes are made larger: the kernel's 64 kB
 * wake the next process for every few pages. Not all of them, and the caller's less than ours: what
 * a user's pipes may hold together is limited (pipe-user-pages-soft). */
#define LONG_STREAM_BYTES ((uint64_t)1 << 20)
#define OWN_PIPE_BYTES (1 << 20)
#define CALLERS_PIPE_BYTES (1 << 18)

/* A terminal or unknown device takes at least this much at once when poll(2) says it takes any. */
#define SMALL_WRITE ((size_t)256)

enum relay_end relay_end_of(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return RELAY_FILE; /* closed: the first read or write says so */
	if (S_ISFIFO(status.st_mode))
		return RELAY_PIPE;
	if (S_ISSOCK(status.st_mode))
		return RELAY_SOCKET;
	return S_ISCHR(status.st_mode) && isatty(fd) ? RELAY_TERMINAL : RELAY_FILE;
}

/* splice(2) needs a pipe at one end and must not wait at the other. Towards a socket or a terminal
 * it may wait; from a terminal too. */
static bool can_splice(const struct relay *relay)
{
	const bool from = relay->source_end == RELAY_OWN || relay->source_end == RELAY_PIPE;
	const bool to = relay->sink_end == RELAY_OWN || relay->sink_end == RELAY_PIPE;

	if (from)
		return to || relay->sink_end == RELAY_FILE;
	return to && relay->source_end == RELAY_FILE;
}

void relay_init(struct relay *relay, int source, enum relay_end source_end, int sink,
		enum relay_end sink_end)
{
	memset(relay, 0, sizeof(*relay));
	relay->source = source;
	relay->source_end = source_end;
	relay->sink = sink;
	relay->sink_end = sink_end;
	relay->state = RELAY_SOURCE;
	relay->uses_splice = can_splice(relay);
}

bool relay_is_over(const struct relay *relay)
{
	return relay->state >= RELAY_ENDED;
}

void relay_poll(const struct relay *relay, bool watch_sink, struct pollfd entries[2])
{
	const bool is_over = relay_is_over(relay);
	const bool waits_for_sink = relay->state == RELAY_SINK;

	entries[0] = (struct pollfd){ .fd = -1 };
	entries[1] = (struct pollfd){ .fd = -1 };
	if (is_over)
		return;
	if (waits_for_sink)
		entries[1] = (struct pollfd){ .fd = relay->sink, .events = POLLOUT };
	else
		entries[0] = (struct pollfd){ .fd = relay->source, .events = POLLIN };
	if (!waits_for_sink && watch_sink)
		entries[1] = (struct pollfd){ .fd = relay->sink };
}

static enum relay_state fail_relay(struct relay *relay, int error)
{
	relay->error = error;
	return RELAY_FAILED;
}

/* EAGAIN from splice does not say which end it was: not the one that poll has just reported. */
static enum relay_state other_end(const struct relay *relay)
{
	return relay->state == RELAY_SOURCE ? RELAY_SINK : RELAY_SOURCE;
}

/* The master of a terminal whose last user is gone says EIO, and so does a terminal that was hung
 * up: that is their end of file. */
static bool is_hangup(enum relay_end end, int error)
{
	return error == EIO && end != RELAY_FILE;
}

/* Enlarge a pipe, but never beyond the user's limit; none is made smaller. */
static void enlarge_pipe(int fd, enum relay_end end)
{
	const int bytes = end == RELAY_OWN ? OWN_PIPE_BYTES : CALLERS_PIPE_BYTES;
	const int now = fcntl(fd, F_GETPIPE_SZ);

	if (now > 0 && now < bytes)
		(void)fcntl(fd, F_SETPIPE_SZ, bytes);
}

static void count_bytes(struct relay *relay, size_t bytes)
{
	const bool was_short = relay->taken < LONG_STREAM_BYTES;

	relay->taken += bytes;
	if (was_short && relay->taken >= LONG_STREAM_BYTES) {
		enlarge_pipe(relay->source, relay->source_end);
		enlarge_pipe(relay->sink, relay->sink_end);
	}
}

static enum relay_state splice_once(struct relay *relay, bool *ret_is_moved)
{
	const ssize_t moved = splice(relay->source, NULL, relay->sink, NULL, 1 << 20,
				     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (moved > 0) {
		count_bytes(relay, (size_t)moved);
		*ret_is_moved = true;
		return RELAY_SOURCE;
	}
	if (moved == 0)
		return RELAY_ENDED;
	if (errno == EAGAIN)
		return other_end(relay);
	if (errno == EINTR)
		return relay->state;
	if (errno == EPIPE)
		return RELAY_BROKEN;
	if (is_hangup(relay->source_end, errno))
		return RELAY_ENDED;
	if (errno != EINVAL)
		return fail_relay(relay, errno);
	/* This pair cannot be spliced (an O_APPEND file, a device): copy from here on. */
	relay->uses_splice = false;
	return relay->state;
}

static ssize_t read_some(const struct relay *relay)
{
	if (relay->source_end == RELAY_SOCKET)
		return recv(relay->source, relay->buffer, RELAY_BUFFER_BYTES, MSG_DONTWAIT);
	return read(relay->source, relay->buffer, RELAY_BUFFER_BYTES);
}

static void add_tail(struct relay_tail *tail, const uint8_t *bytes, size_t size)
{
	const size_t most = sizeof(tail->bytes);
	const size_t added = size < most ? size : most;
	const size_t kept = tail->size < most - added ? tail->size : most - added;

	memmove(tail->bytes, tail->bytes + tail->size - kept, kept);
	memcpy(tail->bytes + kept, bytes + size - added, added);
	tail->size = kept + added;
}

static enum relay_state fill_buffer(struct relay *relay, bool *ret_is_moved)
{
	const ssize_t got = read_some(relay);

	if (got == 0)
		return RELAY_ENDED;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return RELAY_SOURCE;
	if (got < 0 && (errno == ECONNRESET || is_hangup(relay->source_end, errno)))
		return RELAY_ENDED;
	if (got < 0)
		return fail_relay(relay, errno);
	relay->begin = 0;
	relay->end = (size_t)got;
	if (relay->tail)
		add_tail(relay->tail, relay->buffer, (size_t)got);
	count_bytes(relay, (size_t)got);
	*ret_is_moved = true;
	return RELAY_SINK;
}

static ssize_t write_some(const struct relay *relay)
{
	const uint8_t *from = relay->buffer + relay->begin;
	size_t size = relay->end - relay->begin;

	if (relay->sink_end == RELAY_SOCKET)
		return send(relay->sink, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* A blocking end that poll found ready takes this much without making us wait. */
	if (relay->sink_end == RELAY_PIPE && size > PIPE_BUF)
		size = PIPE_BUF;
	if (relay->sink_end == RELAY_TERMINAL && size > SMALL_WRITE)
		size = SMALL_WRITE;
	return write(relay->sink, from, size);
}

static enum relay_state drain_buffer(struct relay *relay, bool *ret_is_moved)
{
	const ssize_t put = write_some(relay);

	if (put < 0 && (errno == EPIPE || errno == ECONNRESET || is_hangup(relay->sink_end, errno)))
		return RELAY_BROKEN;
	if (put < 0)
		return errno == EAGAIN || errno == EINTR ? RELAY_SINK : fail_relay(relay, errno);
	relay->begin += (size_t)put;
	*ret_is_moved = true;
	return relay->begin == relay->end ? RELAY_SOURCE : RELAY_SINK;
}

static enum relay_state move_once(struct relay *relay, bool *ret_is_moved)
{
	if (relay->uses_splice)
		return splice_once(relay, ret_is_moved);
	if (relay->begin == relay->end)
		return fill_buffer(relay, ret_is_moved);
	return drain_buffer(relay, ret_is_moved);
}

/* May the next move be tried, or would a call that finds nothing wait? */
static bool may_go_on(const struct relay *relay)
{
	const enum relay_end end = relay->state == RELAY_SINK ? relay->sink_end : relay->source_end;

	return !relay_is_over(relay) &&
	       (relay->uses_splice || (end != RELAY_PIPE && end != RELAY_TERMINAL));
}

enum relay_state relay_step(struct relay *relay, const struct pollfd entries[2])
{
	const bool is_ready = entries[relay->state == RELAY_SINK ? 1 : 0].revents != 0;

	if (relay_is_over(relay))
		return relay->state;
	if (relay->state == RELAY_SOURCE && (entries[1].revents & POLLERR)) {
		relay->state = RELAY_BROKEN;
		return relay->state;
	}
	for (int i = 0; is_ready && i < MOVES_PER_STEP; i++) {
		bool is_moved = false;

		relay->state = move_once(relay, &is_moved);
		/* After a move it is rather the source that has nothing left. */
		if (!is_moved && i > 0 && relay->uses_splice && relay->state == RELAY_SINK)
			relay->state = RELAY_SOURCE;
		if (!is_moved || !may_go_on(relay))
			break;
	}
	return relay->state;
}
