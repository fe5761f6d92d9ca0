/* SPDX-License-Identifier: Apache-2.0
 *
 * One output stream of an execution: its beginning and its end are kept, the whole is counted. The
 * memory is constant, however much comes.
 */
#ifndef BROKER_OUTPUT_H
#define BROKER_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Each end is kept up to this. Agents cut tool output at about 10,000 characters themselves, and
 * then nobody knows what is missing. */
#define OUTPUT_END_BYTES 5000U

struct output {
	uint64_t total;
	char first[OUTPUT_END_BYTES];
	char last[OUTPUT_END_BYTES]; /* a ring of what came after `first` was full */
};

/* An all-zero struct is an empty output. */
void output_add(struct output *output, const char *bytes, size_t size);

/* How many bytes of text showing everything that is kept takes. */
size_t output_text_size(const struct output *output);

/*
 * Append the output as showable text (see text.h) of about `room` bytes; where something is left
 * out, a line in the middle says how much. Says whether something was.
 */
bool output_show(const struct output *output, size_t room, struct buffer *ret_text);

#endif
