/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64 of RFC 4648. Not for keys: the time depends on the bytes.
 */
#ifndef FRONTEND_BASE64_H
#define FRONTEND_BASE64_H

#include <stdbool.h>

#include "lib/heap/buffer.h"

/* Append the encoding, with padding. */
void base64_append(struct buffer *to, const void *bytes, size_t size);

/* Append the encoding in the alphabet for URLs, without padding. */
void base64_append_url(struct buffer *to, const void *bytes, size_t size);

/* Append the bytes that all of `text` encodes, with padding; line ends and spaces are skipped.
 * False: it is no base 64, or its last digit has bits that encode nothing; `to` is unchanged. */
bool base64_decode(struct buffer *to, const char *text, size_t size);

/* Append the bytes that all of `text` encodes, in the alphabet for URLs without padding. False: as
 * for base64_decode(). */
bool base64_decode_url(struct buffer *to, const char *text, size_t size);

#endif
