/* SPDX-License-Identifier: Apache-2.0
 *
 * The name in a ClientHello of TLS (RFC 8446 4.1.2, RFC 6066 3). The bytes are a workload's; only
 * the name is read, and everything on the way to it is bounded.
 */
#ifndef GATEWAY_EGRESS_HELLO_H
#define GATEWAY_EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/hosts/name.h"

#define HELLO_BYTES_MAX 16384U /* a message; hellos with post-quantum keys have 2,000 */

/* A record (RFC 8446 5.1): its types, the bytes before its payload, and most of that in clear. */
#define RECORD_CIPHERS 20U /* change_cipher_spec */
#define RECORD_HANDSHAKE 22U
#define RECORD_DATA 23U
#define RECORD_HEADER 5U
#define RECORD_MAX 16384U

#define MESSAGE_HEADER 4U
#define MESSAGE_CLIENT_HELLO 1U
#define MESSAGE_SERVER_HELLO 2U

enum hello_verdict {
	HELLO_NAMED = 0,  /* *ret has the name */
	HELLO_PART,       /* more bytes are needed */
	HELLO_WHOLE,      /* the message is there, unread */
	HELLO_NAMELESS,   /* a hello without a name */
	HELLO_OTHER,      /* no TLS, or another message */
	HELLO_OTHER_NAME, /* the name of another host than the wanted one */
	HELLO_MALFORMED,  /* lengths do not fit, a name twice or in no spelling */
	HELLO_ENCRYPTED, /* a hello that may hide its real name (ECH), which nobody could compare */
	HELLO_LONG,      /* no hello within HELLO_BYTES_MAX */
	HELLO_VERDICT_COUNT
};

/* The place up to which the records of a message were looked through. Begin with the type. */
struct hello_scan {
	uint8_t type;    /* MESSAGE_CLIENT_HELLO or MESSAGE_SERVER_HELLO */
	uint8_t head[4]; /* the message's first bytes */
	uint32_t at;     /* bytes that were looked at */
	uint32_t left;   /* bytes of the record that `at` is in */
	uint32_t joined; /* bytes of the message so far */
};

/* Look through the bytes that have come since the last time; `bytes` begins with the first record
 * of the message, and each byte is looked at once. Return HELLO_PART; HELLO_WHOLE: the message ends
 * before `at`; or another verdict, which is final. A client's hello ends with its record, as keys
 * may change behind it. */
enum hello_verdict hello_scan(struct hello_scan *scan, const uint8_t *bytes, size_t size);

/* Read the name of a client's hello: any number of records, each part of it. */
enum hello_verdict hello_read(const uint8_t *bytes, size_t size, char ret[HOST_NAME_MAX_SIZE]);

/* Return whether the records of a server's hello, which are whole, ask for another client's hello
 * (HelloRetryRequest, RFC 8446 4.1.4). */
bool hello_is_retry(const uint8_t *bytes, size_t size);

#endif
