/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection through a bridge: the head of each request is judged (head.h), and its body
 * relayed unread, as is what is no HTTP. A refused request is answered in words, since a person's
 * browser shows them. One behind another resets the connection, and a browser asks again on a new
 * one.
 */
#ifndef GATEWAY_BRIDGE_CONNECTION_H
#define GATEWAY_BRIDGE_CONNECTION_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "gateway/relay/relay.h"

enum connection_state {
	CONNECTION_JUDGED = 0, /* a head is being read; bytes of a silent client's server pass */
	CONNECTION_RELAYED,    /* `passing` bytes, then the next head */
	CONNECTION_ANSWERED,   /* by us; more that comes is dropped */
	CONNECTION_OVER,       /* to be closed by connection_close() */
};

struct connection {
	enum connection_state state;
	int outer, inner;     /* the host's client, the sandbox's server; inner -1: there is none */
	bool is_second;       /* the second family is tried */
	bool is_connecting;   /* inside */
	bool is_answered;     /* by us: no server said it */
	bool was_refused;     /* by its head */
	uint64_t due_ms;      /* it is given up; UINT64_MAX: never */
	uint64_t passing;     /* bytes of the client that go on unread; UINT64_MAX: all */
	struct relay in, out; /* to the sandbox, from it */
};

/* The bridge of a connection. */
struct bridge {
	uint16_t port;      /* the sandbox's */
	uint16_t host_port; /* which the Host has to have */
	bool is_raw;        /* no head is judged */
};

/* Begin with a client's socket, which does not block and becomes the connection's. */
void connection_begin(struct connection *connection, const struct bridge *bridge, int outer,
		      uint64_t now_ms);

/* Fill in what the connection waits for: its two sockets. */
void connection_poll(const struct connection *connection, struct pollfd entries[2]);

/* Do what can be done. */
void connection_turn(struct connection *connection, const struct bridge *bridge,
		     const struct pollfd entries[2], uint64_t now_ms);

/* Close it; a side that has not had all sees a reset. */
void connection_close(struct connection *connection);

#endif
