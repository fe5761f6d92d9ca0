/* SPDX-License-Identifier: Apache-2.0
 *
 * The name in a ClientHello of TLS (RFC 8446 4.1.2, RFC 6066 3). The bytes are a workload's; only
 * the name is read, and everything on the way to it is bounded.
 */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosts/name.h"

#define HELLO_BYTES_MAX 16384U /* in all records; hellos with post-quantum keys have 2,000 */

enum hello_verdict {
	HELLO_NAMED = 0, /* *ret has the name */
	HELLO_PART,      /* more bytes are needed */
	HELLO_NAMELESS,  /* a hello without a name */
	HELLO_OTHER,     /* no TLS, or another message */
	HELLO_MALFORMED, /* lengths do not fit, a name twice or in no spelling */
	HELLO_ENCRYPTED, /* a hello that hides its real name (ECH), which nobody could compare */
	HELLO_LONG,      /* no hello within HELLO_BYTES_MAX */
	HELLO_VERDICT_COUNT
};

/* The place up to which the bytes of a connection were looked through. Begin with zeros. */
struct hello_scan {
	uint32_t at;      /* bytes that were looked at */
	uint32_t left;    /* bytes of the record that `at` is in */
	uint32_t joined;  /* bytes of the message so far */
	uint8_t head[4];  /* the first ones */
	bool is_complete; /* hello_read() has a verdict */
};

/* Look through the bytes that have come since the last time; `bytes` begins with the first one.
 * Return whether hello_read() has a verdict, so that each byte is looked at once before that. */
bool hello_scan(struct hello_scan *scan, const uint8_t *bytes, size_t size);

/* Read the beginning of a connection: any number of records, each part of one hello. */
enum hello_verdict hello_read(const uint8_t *bytes, size_t size, char ret[HOST_NAME_MAX_SIZE]);

#endif
