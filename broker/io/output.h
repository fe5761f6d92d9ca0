/* SPDX-License-Identifier: Apache-2.0
 *
 * The output log of an execution's two streams. Of each stream the beginning and the end are kept,
 * within a bound that both share; the total is counted, and every kept byte has its offset.
 *
 * Memory grows with the kept bytes, in blocks. All logs of this process have a common bound
 * (OUTPUT_MEMORY_MAX): their owners make room with output_log_shrink() and output_log_drop().
 */
#ifndef BROKER_IO_OUTPUT_H
#define BROKER_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"

#define OUTPUT_BLOCK_BYTES ((size_t)8 << 10)

/* Bound of all logs of this process. Each log keeps one block at each end of each stream; for the
 * most logs these must fit. */
#define OUTPUT_MEMORY_MAX ((size_t)64 << 20)

enum output_stream {
	OUTPUT_OUT,
	OUTPUT_ERR,
	OUTPUT_STREAMS,
};

struct output_block;

struct output {
	uint64_t total;
	struct output_block *first;
	struct output_block *head; /* the last block of the beginning */
	struct output_block *last;
};

struct output_log {
	struct output streams[OUTPUT_STREAMS];
	size_t bytes_max; /* half for the beginnings, half for the ends */
	size_t head_bytes;
	size_t tail_bytes; /* blocks, full or not */
	bool is_closed;
};

/* Append bytes to a stream. An all-zero struct is an empty log with the smallest bound. */
void output_add(struct output_log *log, enum output_stream stream, const char *bytes, size_t size);

/* Allow the log to be dropped for others' room: no more output follows. */
void output_log_close(struct output_log *log);

/* Free the oldest block of an end. False: no block can go. */
bool output_log_shrink(struct output_log *log);

/* Close it and free all blocks; the streams' totals stay. */
void output_log_drop(struct output_log *log);

/* Return the bytes that all logs of this process take. */
size_t output_memory(void);

/* Return the offset of the first kept byte from `offset` on; the total if there is none. */
uint64_t output_kept_from(const struct output *output, uint64_t offset);

/* Copy up to `size` kept bytes from `offset` on, without a hole between them; return their
 * number. */
size_t output_read(const struct output *output, uint64_t offset, char *room, size_t size);

#endif
