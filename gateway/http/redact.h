/* SPDX-License-Identifier: Apache-2.0
 *
 * The redaction of a stream: each needle is covered by its placeholder, cut or filled up to the
 * needle's length, so no byte is added or taken away.
 *
 * A workload sees sizes and times of what is passed on, and can have a host send any guess. So
 * neither may depend on a value: of the line so far, as many last bytes wait as the longest needle
 * may have, whether or not they are like one. A byte that no needle has, such as a line's end, ends
 * that wait, as does the end of the stream. The search takes the same steps for each byte.
 */
#ifndef GATEWAY_HTTP_REDACT_H
#define GATEWAY_HTTP_REDACT_H

#include "gateway/http/secrets.h"
#include "lib/heap/buffer.h"

/* Bytes that are taken at once. */
#define REDACT_PIECE 4096U
#define REDACT_BYTES_MAX (SECRETS_NEEDLE_MAX + REDACT_PIECE)

struct redact {
	size_t size;         /* bytes that wait */
	size_t line;         /* bytes since one that no needle has */
	uint64_t hash;       /* the last bytes' of that line */
	uint64_t version;    /* the version of the needles looked for */
	bool is_next_shared; /* with a needle that ends before it */
	char bytes[REDACT_BYTES_MAX], shown[REDACT_BYTES_MAX]; /* as they came; covered */
};

/* Begin with nothing. */
void redact_begin(struct redact *redact);

/* Take bytes, and append to `ret` those that need not wait. */
void redact_take(struct redact *redact, struct slice bytes, struct buffer *ret);

/* Append the bytes that wait: the stream has ended. */
void redact_end(struct redact *redact, struct buffer *ret);

/* Forget all bytes. */
void redact_clean(struct redact *redact);

#endif
