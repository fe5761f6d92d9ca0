/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/file_pipes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "frontend/nonblocking.h"

enum slot {
	SLOT_SOURCE,
	SLOT_IN,
	SLOT_OUT,
	SLOT_ERR,
};

void file_pipes_init(struct file_pipes *pipes, const struct file_stream *stream)
{
	pipes->stream = stream;
	pipes->in = pipes->out = pipes->err = -1;
	pipes->is_at_end = pipes->is_given_up = pipes->is_source = false;
	pipes->error = 0;
	pipes->begin = pipes->end = 0;
}

void file_pipes_open(struct file_pipes *pipes, const int fds[3])
{
	pipes->in = fds[0];
	pipes->out = fds[1];
	pipes->err = fds[2];
	for (size_t i = 0; i < 3; i++)
		(void)fd_set_nonblocking(fds[i], true); /* cannot fail on a pipe of ours */
	if (pipes->stream->source < 0)
		fd_close(&pipes->in);
}

void file_pipes_done(struct file_pipes *pipes)
{
	fd_close(&pipes->in);
	fd_close(&pipes->out);
	fd_close(&pipes->err);
}

/* Without the end of what is to be written: msp-file changes nothing then. */
static void fail_pipes(struct file_pipes *pipes, int error, bool is_source)
{
	if (pipes->error == 0) {
		pipes->error = error;
		pipes->is_source = is_source;
	}
	fd_close(&pipes->in);
}

void file_pipes_poll(const struct file_pipes *pipes, struct pollfd entries[FILE_PIPES_SLOTS])
{
	const bool is_full = pipes->end > pipes->begin;
	const bool reads = pipes->in >= 0 && !is_full && !pipes->is_at_end;

	entries[SLOT_SOURCE] =
		(struct pollfd){ .fd = reads ? pipes->stream->source : -1, .events = POLLIN };
	entries[SLOT_IN] = (struct pollfd){ .fd = is_full ? pipes->in : -1, .events = POLLOUT };
	entries[SLOT_OUT] = (struct pollfd){ .fd = pipes->out, .events = POLLIN };
	entries[SLOT_ERR] = (struct pollfd){ .fd = pipes->err, .events = POLLIN };
}

static void read_source(struct file_pipes *pipes)
{
	uint8_t *bytes = pipes->piece + sizeof(uint32_t);
	const ssize_t got = read(pipes->stream->source, bytes, FILE_PIECE_MAX);
	uint32_t size;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got < 0) {
		fail_pipes(pipes, -errno, true);
		return;
	}
	size = (uint32_t)got;
	memcpy(pipes->piece, &size, sizeof(size));
	pipes->begin = 0;
	pipes->end = sizeof(size) + size;
	pipes->is_at_end = size == 0;
}

static void write_piece(struct file_pipes *pipes)
{
	const ssize_t done =
		write(pipes->in, pipes->piece + pipes->begin, pipes->end - pipes->begin);

	if (done < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (done < 0) { /* it has said why, or will */
		fd_close(&pipes->in);
		return;
	}
	pipes->begin += (size_t)done;
	if (pipes->begin == pipes->end && pipes->is_at_end)
		fd_close(&pipes->in);
}

/* False: there is nothing now, or any more. */
static bool read_out(struct file_pipes *pipes)
{
	static uint8_t bytes[65536];
	const ssize_t got = read(pipes->out, bytes, sizeof(bytes));
	int error;

	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0) {
		fd_close(&pipes->out);
		return false;
	}
	error = pipes->error ? 0 : pipes->stream->take(pipes->stream->context, bytes, (size_t)got);
	if (error)
		fail_pipes(pipes, error, false);
	return true;
}

/* msp-file says nothing there, and others may not stop it by filling it. */
static void read_err(struct file_pipes *pipes)
{
	uint8_t bytes[4096];
	const ssize_t got = read(pipes->err, bytes, sizeof(bytes));

	if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
		fd_close(&pipes->err);
}

void file_pipes_turn(struct file_pipes *pipes, const struct pollfd entries[FILE_PIPES_SLOTS])
{
	if (entries[SLOT_SOURCE].revents && pipes->in >= 0)
		read_source(pipes);
	if (entries[SLOT_IN].revents && pipes->in >= 0)
		write_piece(pipes);
	if (entries[SLOT_OUT].revents && pipes->out >= 0)
		(void)read_out(pipes);
	if (entries[SLOT_ERR].revents && pipes->err >= 0)
		read_err(pipes);
}

/* Reads that empty a pipe: more bytes than it holds come from a writer that is still there. */
#define DRAIN_READS 32

void file_pipes_drain(struct file_pipes *pipes)
{
	for (int i = 0; i < DRAIN_READS && pipes->out >= 0 && read_out(pipes); i++)
		;
	file_pipes_done(pipes);
}
