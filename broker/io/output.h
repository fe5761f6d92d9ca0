/* SPDX-License-Identifier: Apache-2.0
 *
 * What an execution printed: the log of its two streams. Of each the beginning and the end are
 * kept, as far as the log's bound lets them, which the streams share; the whole is counted, and
 * every byte that is kept knows its place.
 *
 * Memory grows with what is kept, in blocks. All logs of this process together have a bound too
 * (OUTPUT_MEMORY_MAX): whoever owns them makes room, see output_log_shrink() and
 * output_log_drop().
 */
#ifndef BROKER_IO_OUTPUT_H
#define BROKER_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "io/buffer.h"

#define OUTPUT_BLOCK_BYTES ((size_t)8 << 10)

/* All logs of this process. However many there are, each keeps a block at each end of each stream,
 * which must fit in here. */
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
	struct output_block *head; /* the last one of the beginning */
	struct output_block *last;
};

struct output_log {
	struct output streams[OUTPUT_STREAMS];
	size_t bytes_max; /* half for the beginnings, half for the ends */
	size_t head_bytes;
	size_t tail_bytes; /* blocks, full or not */
	bool is_closed;
};

/* An all-zero struct is an empty log that keeps as little as there is. */
void output_add(struct output_log *log, enum output_stream stream, const char *bytes, size_t size);

/* Nothing will be added any more: it can be dropped when others need the room. */
void output_log_close(struct output_log *log);

/* Give back the oldest block of an end; false: there is none that could go. */
bool output_log_shrink(struct output_log *log);

/* Close it and give back everything; the streams' totals stay. */
void output_log_drop(struct output_log *log);

/* What all logs of this process take. */
size_t output_memory(void);

/* The first byte from `offset` on that is kept; the total: there is none. */
uint64_t output_kept_from(const struct output *output, uint64_t offset);

/* Copy what is kept from `offset` on, up to `size` bytes, as far as nothing is missing in between;
 * says how much it was. */
size_t output_read(const struct output *output, uint64_t offset, char *room, size_t size);

#endif
