/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of an output stream as showable text (see text.h).
 */
#ifndef BROKER_IO_EXCERPT_H
#define BROKER_IO_EXCERPT_H

#include "io/output.h"

/* The bytes of a stream from `from` to before `to`. */
struct excerpt {
	const struct output *output;
	uint64_t from;
	uint64_t to;
};

/* Return the bytes of text that showing all of it takes, at most `most`. */
size_t excerpt_text_size(const struct excerpt *excerpt, size_t most);

/* Append it as about `room` bytes of text. If it does not fit or was dropped, a line in the middle
 * says how many bytes are left out. Returns true then, with the offset of the first omitted byte in
 * *ret_omitted. */
bool excerpt_append(const struct excerpt *excerpt, size_t room, struct buffer *text,
		    uint64_t *ret_omitted);

/* Append its first kept bytes, in order and without a hole, as at most `room` bytes of text. Sets
 * *ret_from and *ret_to to their range. */
void excerpt_append_first(const struct excerpt *excerpt, size_t room, struct buffer *text,
			  uint64_t *ret_from, uint64_t *ret_to);

/* Return the last offset up to `to` that ends neither inside a character nor inside a line end. */
uint64_t excerpt_whole(const struct output *output, uint64_t from, uint64_t to);

#endif
