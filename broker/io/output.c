/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream is a list of blocks, each with its offset in the stream. Blocks up to `head` follow one
 * another without a hole; behind it the oldest blocks go when others need the room.
 */
#include "io/output.h"

#include <stdlib.h>
#include <string.h>

#include "lib/heap/memory.h"

struct output_block {
	struct output_block *next;
	uint64_t offset;
	size_t size;
	char bytes[OUTPUT_BLOCK_BYTES];
};

/* One thread. Heads that cannot be dropped yet take at most half of the total. */
static size_t memory_bytes;
static size_t pinned_bytes;

static bool has_tail(const struct output *output)
{
	return output->last != output->head;
}

/* Every stream may have a first block. */
static bool may_be_head(const struct output_log *log, const struct output *output)
{
	if (!output->head)
		return true;
	return !has_tail(output) && pinned_bytes < OUTPUT_MEMORY_MAX / 2 &&
	       log->head_bytes + OUTPUT_BLOCK_BYTES <= log->bytes_max / 2;
}

static struct output_block *add_block(struct output_log *log, struct output *output)
{
	struct output_block *block = memory_get(sizeof(*block));
	const bool is_head = may_be_head(log, output);

	if (log->is_closed)
		bug("output of what is over");
	block->next = NULL;
	block->offset = output->total;
	block->size = 0;
	memory_bytes += OUTPUT_BLOCK_BYTES;
	if (output->last)
		output->last->next = block;
	else
		output->first = block;
	output->last = block;
	if (is_head) {
		output->head = block;
		log->head_bytes += OUTPUT_BLOCK_BYTES;
		pinned_bytes += OUTPUT_BLOCK_BYTES;
	} else {
		log->tail_bytes += OUTPUT_BLOCK_BYTES;
	}
	return block;
}

/* Drop the oldest block behind the head; the block with the newest bytes stays. */
static bool drop_oldest(struct output_log *log, struct output *output)
{
	struct output_block *block = output->head ? output->head->next : NULL;

	if (!block || block == output->last)
		return false;
	output->head->next = block->next;
	log->tail_bytes -= OUTPUT_BLOCK_BYTES;
	memory_bytes -= OUTPUT_BLOCK_BYTES;
	free(block);
	return true;
}

/* Drop from the stream that holds more. */
bool output_log_shrink(struct output_log *log)
{
	struct output *out = &log->streams[OUTPUT_OUT];
	struct output *err = &log->streams[OUTPUT_ERR];
	uint64_t kept[OUTPUT_STREAMS] = { 0 };

	for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
		const struct output *output = &log->streams[i];

		if (has_tail(output))
			kept[i] = output->total - output->head->next->offset;
	}
	if (kept[OUTPUT_OUT] >= kept[OUTPUT_ERR])
		return drop_oldest(log, out) || drop_oldest(log, err);
	return drop_oldest(log, err) || drop_oldest(log, out);
}

void output_add(struct output_log *log, enum output_stream stream, const char *bytes, size_t size)
{
	struct output *output = &log->streams[stream];

	while (size > 0) {
		struct output_block *block = output->last;
		size_t part;

		if (!block || block->size == OUTPUT_BLOCK_BYTES)
			block = add_block(log, output);
		part = OUTPUT_BLOCK_BYTES - block->size;
		if (part > size)
			part = size;
		memcpy(block->bytes + block->size, bytes, part);
		block->size += part;
		output->total += part;
		bytes += part;
		size -= part;
		while (log->tail_bytes > log->bytes_max / 2 && output_log_shrink(log))
			;
	}
}

void output_log_close(struct output_log *log)
{
	if (!log->is_closed)
		pinned_bytes -= log->head_bytes;
	log->is_closed = true;
}

void output_log_drop(struct output_log *log)
{
	output_log_close(log);
	for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
		struct output *output = &log->streams[i];
		struct output_block *next;

		for (struct output_block *block = output->first; block; block = next) {
			next = block->next;
			memory_bytes -= OUTPUT_BLOCK_BYTES;
			free(block);
		}
		output->first = output->head = output->last = NULL;
	}
	log->head_bytes = log->tail_bytes = 0;
}

size_t output_memory(void)
{
	return memory_bytes;
}

static const struct output_block *find_block(const struct output *output, uint64_t offset)
{
	const struct output_block *block = output->first;

	while (block && block->offset + block->size <= offset)
		block = block->next;
	return block;
}

uint64_t output_kept_from(const struct output *output, uint64_t offset)
{
	const struct output_block *block = find_block(output, offset);

	if (!block)
		return output->total;
	return block->offset > offset ? block->offset : offset;
}

size_t output_read(const struct output *output, uint64_t offset, char *room, size_t size)
{
	size_t done = 0;

	for (const struct output_block *block = find_block(output, offset);
	     block && done < size && block->offset <= offset + done; block = block->next) {
		const size_t at = (size_t)(offset + done - block->offset);
		const size_t part = block->size - at < size - done ? block->size - at : size - done;

		memcpy(room + done, block->bytes + at, part);
		done += part;
	}
	return done;
}
