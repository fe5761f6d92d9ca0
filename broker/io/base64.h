/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64 as RFC 4648 has it.
 */
#ifndef BROKER_IO_BASE64_H
#define BROKER_IO_BASE64_H

#include <stdbool.h>

#include "io/buffer.h"

/* With padding. */
void base64_append(struct buffer *to, const void *bytes, size_t size);

/* With the alphabet for URLs, without padding. */
void base64_append_url(struct buffer *to, const void *bytes, size_t size);

/* Append what `text` is the encoding of, with padding; line ends and spaces in it are skipped.
 * False, and nothing is appended: it is none. */
bool base64_decode(struct buffer *to, const char *text, size_t size);

#endif
