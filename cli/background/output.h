/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of a background command: pieces of both streams, in the order of their arrival, in
 * files `output.0`, `output.1`, ... of at most OUTPUT_FILE_BYTES. The newest OUTPUT_FILES are
 * there, so that the oldest output is dropped first. A file is complete when the next one exists.
 */
#ifndef CLI_BACKGROUND_OUTPUT_H
#define CLI_BACKGROUND_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OUTPUT_FILE_BYTES (1 << 20)
#define OUTPUT_FILES 4
#define OUTPUT_PIECE_MAX (64 << 10)

struct output_writer {
	int directory; /* the caller's */
	int fd;
	uint64_t number; /* the file's */
	off_t at;        /* its end */
	uint64_t total;  /* bytes of the command */
	uint64_t lost;   /* bytes for which the disk had no room */
};

/* Make the first file. 0 or -errno. */
int output_begin(struct output_writer *writer, int directory);

/* Keep at most OUTPUT_PIECE_MAX bytes. A full disk takes the older files first. */
void output_add(struct output_writer *writer, bool is_stderr, const void *bytes, size_t size);

/* Remove all files but the newest one, to make room on a full disk. */
void output_shrink(const struct output_writer *writer);

void output_end(struct output_writer *writer);

struct output_reader {
	int directory; /* the caller's */
	int fd;
	uint64_t number;
	off_t at;
	uint64_t seen; /* bytes of the command up to here */
};

struct output_piece {
	uint64_t dropped; /* bytes that are no longer there before this piece */
	bool is_stderr;
	size_t size;
	uint8_t bytes[OUTPUT_PIECE_MAX];
};

/* Begin before the oldest piece; the reader is all zero but for its directory. */
void output_open(struct output_reader *reader, int directory);

/* Take the next piece. False: there is none now; ret->dropped may be set nevertheless. */
bool output_next(struct output_reader *reader, struct output_piece *ret);

void output_close(struct output_reader *reader);

#endif
