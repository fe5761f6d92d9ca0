/* SPDX-License-Identifier: Apache-2.0
 *
 * The opening of a connection with TLS: the bytes of both sides until the host can obey no further
 * ClientHello that can be read. A host may ask for a second one (HelloRetryRequest), and takes the
 * name from that. So the client's bytes wait until it is known which message they can be.
 */
#ifndef GATEWAY_EGRESS_OPENING_H
#define GATEWAY_EGRESS_OPENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/egress/hello.h"

enum opening_phase {
	OPENING_GREETING = 0, /* the client's first hello comes, and nothing else may */
	OPENING_ANSWER,       /* the host's hello is awaited, and the client's bytes wait for it */
	OPENING_RETRY,        /* the host has asked for another hello of the client */
	OPENING_KEYS,         /* the client has messages in clear left, none of which is a hello */
	OPENING_MUTE,         /* the host does not speak TLS: no byte of the client follows */
	OPENING_OVER,
};

/* Begin with opening_begin(). */
struct opening {
	enum opening_phase phase;
	struct hello_scan client, host; /* their hellos */
	uint32_t client_left;           /* bytes of the record that is passed */
	uint32_t host_left;             /* likewise */
	uint32_t message_left;          /* bytes of the client's message in clear */
	uint8_t head[4], head_size;     /* the message's first bytes */
	bool is_handshake;              /* the client's record has such messages */
};

void opening_begin(struct opening *opening);

/* Return how many bytes of the client, of `size` that have not passed, may go to the host now.
 * `*ret`: HELLO_PART, or the reason to refuse the connection. */
size_t opening_pass_client(struct opening *opening, const uint8_t *bytes, size_t size,
			   const char *name, enum hello_verdict *ret);

/* Return how many bytes of the host, of `size` that have not passed, may go to the client now. */
size_t opening_pass_host(struct opening *opening, const uint8_t *bytes, size_t size);

#endif
