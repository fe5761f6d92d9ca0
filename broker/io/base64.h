/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64 of RFC 4648.
 */
#ifndef BROKER_IO_BASE64_H
#define BROKER_IO_BASE64_H

#include <stdbool.h>

#include "heap/buffer.h"

/* Append the encoding, with padding. */
void base64_append(struct buffer *to, const void *bytes, size_t size);

/* Append the encoding in the alphabet for URLs, without padding. */
void base64_append_url(struct buffer *to, const void *bytes, size_t size);

/* Append the bytes that `text` encodes, with padding; line ends and spaces are skipped. False: it
 * is no base 64, and `to` is unchanged. */
bool base64_decode(struct buffer *to, const char *text, size_t size);

#endif
