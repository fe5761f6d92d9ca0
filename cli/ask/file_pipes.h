/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams of msp-file in a sandbox (common/records/file_record.h): what is to be written goes
 * there in pieces, what it says comes back. Nothing waits in a call.
 */
#ifndef CLI_ASK_FILE_PIPES_H
#define CLI_ASK_FILE_PIPES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/records/file_record.h"

/* The input of one question about a file, and the taker of its output. */
struct file_stream {
	int source; /* to be written: read to its end; -1: nothing */
	/* The next bytes that it says. 0, or -errno: it is not wanted any more. */
	int (*take)(void *context, const uint8_t *bytes, size_t size);
	void *context;
};

#define FILE_PIPES_SLOTS 4

struct file_pipes {
	const struct file_stream *stream;
	int in, out, err; /* -1: closed */
	bool is_at_end;   /* the source's end is sent, or waits to be */
	bool is_given_up; /* for the caller */
	int error;        /* -errno of `take`, or of reading the source */
	bool is_source;   /* ... the latter */
	size_t begin, end;
	uint8_t piece[sizeof(uint32_t) + FILE_PIECE_MAX];
};

void file_pipes_init(struct file_pipes *pipes, const struct file_stream *stream);

/* The streams of an execution, which belong to it from now on. */
void file_pipes_open(struct file_pipes *pipes, const int fds[3]);

/* Fill entries for poll(2); do what can be done afterwards. */
void file_pipes_poll(const struct file_pipes *pipes, struct pollfd entries[FILE_PIPES_SLOTS]);
void file_pipes_turn(struct file_pipes *pipes, const struct pollfd entries[FILE_PIPES_SLOTS]);

/* It is over: take what is there, wait for no more, and close. Others in the sandbox may hold the
 * ends open. */
void file_pipes_drain(struct file_pipes *pipes);

void file_pipes_done(struct file_pipes *pipes);

#endif
