/* SPDX-License-Identifier: Apache-2.0
 *
 * One side of a connection: a socket that does not block, with TLS or without.
 */
#ifndef GATEWAY_HTTP_SIDE_H
#define GATEWAY_HTTP_SIDE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum side_state {
	SIDE_GREETING = 0, /* the handshake of TLS */
	SIDE_OPEN,
	SIDE_ENDED, /* its peer has ended its direction */
	SIDE_FAILED,
};

struct side {
	enum side_state state;
	int fd;                  /* owned */
	SSL *ssl;                /* owned; NULL: without TLS */
	short reading, writing;  /* the event that the next read or write waits for */
	uint64_t received, sent; /* bytes of the socket, of TLS as of the last look */
	bool is_written_out;     /* side_finish() is done */
};

/* Begin with a socket and its TLS, both of which are the side's from now on. */
void side_begin(struct side *side, int fd, SSL *ssl);

/* Go on with the handshake. True: the state has changed. */
bool side_greet(struct side *side);

/* Read or write what can be now. Return the bytes, 0 for none: the state says whether more can be.
 */
size_t side_read(struct side *side, char *bytes, size_t size);
size_t side_write(struct side *side, const char *bytes, size_t size);

/* Have the peer see the end, after all that was written; of TLS only if that is whole. */
void side_finish(struct side *side, bool is_whole);

/* Close the socket; with `is_reset` so that its peer does not take the bytes so far for all. */
void side_end(struct side *side, bool is_reset);

#endif
