/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict form of a request: its head, and the lines between the chunks of its body. The rules
 * are those of RFC 9112 where two readers could end a request in different places, and narrower
 * where evhttp accepts more than the RFC allows. See docs/decisions/0027-http.md.
 */
#ifndef BROKER_HTTP_HEAD_H
#define BROKER_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "http/trouble.h"

/* Bound of one body: the reference implementations' value, below that of a line over stdio. */
#define HTTP_BODY_BYTES_MAX ((size_t)4 << 20)
#define HTTP_HEADER_BYTES_MAX ((size_t)16 << 10)

/* The longest line before a chunk: eight digits, CR and LF. */
#define HTTP_CHUNK_LINE_MAX ((size_t)10)

/* The reason to refuse a request before its content is read; static storage. */
struct fault {
	enum trouble trouble;
	const char *status; /* "400 Bad Request" */
	const char *text;
	const char *header; /* a whole header line for the answer; NULL: none */
};

/* Define a fault without a header. */
#define FAULT(name, trouble, status, text)                                                         \
	static const struct fault name = { (trouble), (status), (text), NULL }

extern const struct fault fault_too_large; /* the body is beyond HTTP_BODY_BYTES_MAX */

struct head {
	const char *target;        /* in the text, terminated */
	const char *authorization; /* the header's value, in the text, terminated; NULL: absent */
	bool is_chunked;
	size_t length; /* length of the body, unless it is chunked */
};

/* Check the beginning of a head, and return a fault as soon as it is certain; NULL: none yet. The
 * first `seen` bytes were checked before. */
const struct fault *head_check_start(const char *text, size_t size, size_t seen);

/* Read a whole head with its empty line, in `text`, which is written to. NULL: it is correct. */
const struct fault *head_read(char *text, size_t size, struct head *ret);

/* Read a chunk's size from its line without CR and LF. NULL: it is correct. */
const struct fault *head_read_chunk_size(const char *line, size_t size, size_t *ret);

#endif
