/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of an output stream as showable text (see text.h).
 */
#ifndef BROKER_IO_EXCERPT_H
#define BROKER_IO_EXCERPT_H

#include "io/output.h"

/* The bytes from `from` to before `to`, which the stream has had. */
struct excerpt {
	const struct output *output;
	uint64_t from;
	uint64_t to;
};

/* How many bytes of text showing all of it takes, at most `most`. */
size_t excerpt_text_size(const struct excerpt *excerpt, size_t most);

/*
 * Append it as about `room` bytes of text. What does not fit or is not kept any more is left out
 * between its beginning and its end, where a line says how much: then true, and in *ret_omitted
 * the place of the first byte that is not shown.
 */
bool excerpt_append(const struct excerpt *excerpt, size_t room, struct buffer *text,
		    uint64_t *ret_omitted);

/*
 * Append the first of it that is kept, in order and without a hole, as at most `room` bytes of
 * text. Sets *ret_from and *ret_to to what that was.
 */
void excerpt_append_first(const struct excerpt *excerpt, size_t room, struct buffer *text,
			  uint64_t *ret_from, uint64_t *ret_to);

/* Before `to`: where what has come is complete, neither half a character nor half a line end. */
uint64_t excerpt_whole(const struct output *output, uint64_t from, uint64_t to);

#endif
