/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of a message of HTTP/1.1: its bytes without the chunks' lines. Extensions of chunks and
 * the trailer are read and dropped.
 */
#ifndef GATEWAY_HTTP_BODY_H
#define GATEWAY_HTTP_BODY_H

#include "gateway/http/head.h"

/* Bytes of a chunk's line, and of a trailer. */
#define BODY_LINES_MAX 8192U

enum body_state {
	BODY_DATA = 0, /* `left` bytes of it */
	BODY_DATA_CR,  /* the end of a chunk's data */
	BODY_DATA_LF,
	BODY_SIZE, /* a chunk's size in hexadecimal digits */
	BODY_EXTENSION,
	BODY_SIZE_LF,
	BODY_TRAILER, /* the beginning of a line */
	BODY_TRAILER_LINE,
	BODY_TRAILER_LF,
	BODY_LAST_LF,
	BODY_DONE,
	BODY_BROKEN,
};

struct body {
	enum head_framing framing;
	enum body_state state;
	uint64_t left;
	uint32_t line; /* bytes of the line or trailer so far */
};

void body_begin(struct body *body, const struct head *head);

/* Take some of the bytes that have come. Return how many; the body's bytes among them are *ret,
 * which may be empty. Without progress, more bytes are needed, or the body is done or broken. */
size_t body_take(struct body *body, const char *bytes, size_t size, struct slice *ret);

/* Take the end of the connection. False: it comes before the body's. */
bool body_end(struct body *body);

#endif
