/* SPDX-License-Identifier: Apache-2.0
 *
 * The heads of requests and answers of HTTP/1.1 (RFC 9112). The reader takes one spelling of each
 * thing and refuses the others, so that no server can take a head for another one; and nothing of a
 * head is passed on that was not read: the writers make a new one.
 */
#ifndef GATEWAY_HTTP_HEAD_H
#define GATEWAY_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_BYTES_MAX 65536U
#define HEAD_FIELDS_MAX 256U

/* Bytes of a head; not owned, without a NUL. */
struct slice {
	const char *bytes;
	size_t size;
};

/* Return whether the slice is the text, in any case of its letters. */
bool slice_is(struct slice slice, const char *text);

/* The meaning of a field to msp-http. */
enum head_kind {
	HEAD_PASSED = 0,
	HEAD_HOST,
	HEAD_CONTENT_LENGTH,
	HEAD_TRANSFER_ENCODING,
	HEAD_CONNECTION,
	HEAD_UPGRADE,
	HEAD_OF_HOP,         /* for one connection only: it is not passed on */
	HEAD_ACCEPT_CODING,  /* this and the next: it asks for an answer that cannot be looked */
	HEAD_RANGE,          /* through for secrets */
	HEAD_CONTENT_CODING, /* the answer is one */
	HEAD_CONTENT_TYPE,
	HEAD_OVERRIDE, /* some servers take its value for the method or the path */
};

struct head_field {
	enum head_kind kind;
	struct slice name, value;
};

/* The end of the body. */
enum head_framing {
	HEAD_NO_BODY = 0,
	HEAD_LENGTH,
	HEAD_CHUNKED,
	HEAD_UNTIL_CLOSE, /* an answer's */
};

struct head {
	struct slice method, target; /* a request's; the target begins with '/' */
	size_t path_size;            /* the target's beginning, up to the query */
	struct slice host;           /* the value of the field Host */
	uint32_t status;             /* an answer's */
	struct slice reason;
	enum head_framing framing;
	uint64_t length; /* for HEAD_LENGTH */
	bool is_last;    /* the connection ends after it */
	uint32_t field_count;
	struct head_field fields[HEAD_FIELDS_MAX];
};

/* The first rule that a head breaks. */
enum head_fault {
	HEAD_SOUND = 0,
	HEAD_BAD_LINE_END,
	HEAD_LONG,
	HEAD_BAD_REQUEST_LINE,
	HEAD_BAD_METHOD,
	HEAD_BAD_TARGET,
	HEAD_BAD_VERSION,
	HEAD_BAD_FIELD_NAME,
	HEAD_BAD_FIELD_VALUE,
	HEAD_FOLDED,
	HEAD_FIELDS,
	HEAD_BAD_HOST,
	HEAD_BAD_LENGTH,
	HEAD_BAD_ENCODING,
	HEAD_TWO_LENGTHS,
	HEAD_UPGRADES,
	HEAD_BAD_CHUNK,
	HEAD_BAD_STATUS_LINE,
	HEAD_FAULT_COUNT
};

/* Return the rule in words, and the status of an answer to a request that breaks it. */
const char *head_fault_rule(enum head_fault fault);
uint32_t head_fault_status(enum head_fault fault);

/* Look for the end of a head from *at on, which is where the last look ended; begin with 0. Return
 * the head's size with its empty line, or 0: it is not complete, or *ret_fault says why it never
 * will be. */
size_t head_find_end(const char *bytes, size_t size, size_t *at, enum head_fault *ret_fault);

/* Read a complete head. The slices of *ret are in `bytes`. An answer's framing depends on the
 * request's method. */
enum head_fault head_read_request(const char *bytes, size_t size, struct head *ret);
enum head_fault head_read_answer(const char *bytes, size_t size, bool is_of_head, struct head *ret);

#endif
