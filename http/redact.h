/* SPDX-License-Identifier: Apache-2.0
 *
 * The redaction of a stream: each needle becomes its placeholder, also where it comes in pieces.
 * Only bytes that may be the beginning of a needle wait for the next ones. No byte of a needle is
 * passed on, whichever others it shares its bytes with.
 */
#ifndef HTTP_REDACT_H
#define HTTP_REDACT_H

#include "heap/buffer.h"
#include "http/secrets.h"

/* Bytes that are taken at once. */
#define REDACT_PIECE 16384U

struct redact {
	size_t size;    /* bytes that wait */
	size_t covered; /* of a needle beyond the bytes that wait: its placeholder is passed on */
	char bytes[SECRETS_NEEDLE_MAX + REDACT_PIECE]; /* those that wait, and a piece */
};

/* Begin with nothing. */
void redact_begin(struct redact *redact);

/* Take bytes, and append to `ret` those that are no needle's beginning. */
void redact_take(struct redact *redact, struct slice bytes, struct buffer *ret);

/* Append the bytes that wait: the stream has ended. */
void redact_end(struct redact *redact, struct buffer *ret);

/* Forget all bytes. */
void redact_clean(struct redact *redact);

#endif
