/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the head and the tail of a stream in constant memory and counts the whole.
 */
#ifndef CLI_SHOW_CAPTURE_H
#define CLI_SHOW_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_HEAD_BYTES ((size_t)512 << 10)
#define CAPTURE_TAIL_BYTES ((size_t)512 << 10)

struct capture {
	uint64_t total;
	size_t head_size;
	uint8_t *head; /* CAPTURE_HEAD_BYTES, then the tail as a ring; one allocation */
	uint8_t *tail;
};

/* The kept bytes as two pieces with `omitted` bytes between them (the second is empty when no byte
 * was left out); the pieces are the capture's. */
struct capture_parts {
	const uint8_t *parts[2];
	size_t sizes[2];
	uint64_t omitted;
	bool is_utf8;
};

void capture_init(struct capture *capture);

void capture_add(struct capture *capture, const uint8_t *bytes, size_t size);

/* Turns the ring straight: nothing can be added afterwards. A UTF-8 sequence that the gap cuts is
 * left out on both sides, so that text stays text. */
struct capture_parts capture_finish(struct capture *capture);

#endif
