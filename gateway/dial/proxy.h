/* SPDX-License-Identifier: Apache-2.0
 *
 * The dialogue with an HTTP proxy: CONNECT, and the head of the answer. Only the head is taken from
 * the socket: bytes after it are the host's.
 */
#ifndef GATEWAY_DIAL_PROXY_H
#define GATEWAY_DIAL_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROXY_HEAD_MAX 8192U

enum proxy_state {
	PROXY_WAITS = 0, /* the head has not ended */
	PROXY_OPEN,      /* bytes of the host follow */
	PROXY_REFUSED,
	PROXY_LOGIN,  /* it wants to know who asks (407) */
	PROXY_BROKEN, /* no answer of HTTP/1, too long a head, or the connection's end */
};

/* The next byte's place in the head: in the first line, in lines of fields, or in the empty one. */
enum proxy_place {
	PROXY_AT_STATUS = 0, /* "HTTP/1.1 200" */
	PROXY_AT_REASON,
	PROXY_AT_TEXT, /* up to the line's CR */
	PROXY_AT_LF,
	PROXY_AT_LINE, /* its first byte */
	PROXY_AT_NAME,
	PROXY_AT_LAST_LF,
	PROXY_AT_END,
	PROXY_AT_FAULT,
};

/* An answer, read in part; begins zeroed. */
struct proxy_answer {
	enum proxy_place place;
	uint32_t size; /* bytes of the head so far */
	uint32_t status;
};

/* Ask a proxy to connect to a host. False: the socket does not take it whole. */
bool proxy_ask(int fd, const char *host, uint16_t port);

/* Read bytes of an answer, whose head has not ended. *ret_used: how many are the head's. */
enum proxy_state proxy_read(struct proxy_answer *answer, const char *bytes, size_t size,
			    size_t *ret_used);

/* Read what a socket has. */
enum proxy_state proxy_receive(struct proxy_answer *answer, int fd);

#endif
