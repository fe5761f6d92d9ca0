/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a plan as they are written: arrays and texts, each stored once.
 */
#ifndef POLICY_WRITE_WRITER_H
#define POLICY_WRITE_WRITER_H

#include "policy/read/profile.h"

#include <stddef.h>
#include <stdint.h>

#define PARTS_MAX 4096U

struct writer {
	struct buffer *blob;
	const struct policy_shown *shown;
	uint32_t part_count;
	/* The parts to use again: a profile shares most of them with its parent. */
	struct part {
		uint32_t offset, size, hash;
	} parts[PARTS_MAX];
	uint32_t call_count;
	struct plan_call calls[PLAN_CALLS_MAX];
};

/* Append an array at a multiple of 8 bytes. Return its offset; the second may be an equal one's. */
uint32_t writer_put_records(struct buffer *blob, const void *data, size_t size);
uint32_t writer_put_array(struct writer *writer, const void *data, size_t size);

/* Put a text with its NUL. Return its offset; 0 for NULL. */
uint32_t writer_put_text(struct writer *writer, const char *text);

/* End a list that began at `offset`. Return its offset, or 0 if it is empty. */
uint32_t writer_end_list(struct writer *writer, uint32_t offset, uint32_t *ret_size);

struct plan_origin writer_put_origin(struct writer *writer, const struct origin *origin);

/* Append texts to a list that writer_end_list() ends, each with a NUL; "{file}" becomes `file`
 * unless it is NULL. */
void writer_append_list(struct writer *writer, const struct strings *list, const char *file);

/* Put a whole list of texts. Return its offset, or 0 if it is empty. */
uint32_t writer_put_list(struct writer *writer, const struct strings *list, uint32_t *ret_size);

#endif
