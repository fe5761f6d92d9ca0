/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection of a workload: its opening is judged, then both directions are relayed unread.
 * Nothing of a workload reaches the host before the judgement.
 */
#ifndef GATEWAY_EGRESS_CONNECTION_H
#define GATEWAY_EGRESS_CONNECTION_H

#include "gateway/egress/opening.h"
#include "gateway/hosts/name.h"
#include "gateway/relay/relay.h"

#include <stdbool.h>

/* The reason for the end of a connection that neither side ended. */
enum connection_refusal {
	CONNECTION_FINE = 0,
	CONNECTION_NO_TLS,      /* other bytes than a ClientHello, or a malformed one */
	CONNECTION_NO_NAME,     /* a ClientHello without a name */
	CONNECTION_OTHER_NAME,  /* the name of another host */
	CONNECTION_HIDDEN_NAME, /* with an encrypted name beside the visible one */
	CONNECTION_LATE,        /* no complete first ClientHello in time */
	CONNECTION_REFUSAL_COUNT
};

enum connection_state {
	CONNECTION_GREETING = 0, /* TLS whose first ClientHello is not complete */
	CONNECTION_RELAYING,
	CONNECTION_ENDED, /* by both sides, by a broken one, or refused */
};

struct connection {
	enum connection_state state;
	enum connection_refusal refusal;
	int client, host; /* sockets that do not block; owned */
	char name[HOST_NAME_MAX_SIZE];
	struct opening opening; /* over from the begin on, if it need not be TLS */
	struct relay out, in;   /* from the client, from the host */
};

/* Begin with two connected sockets. With `is_tls` the client must begin with TLS for `name`. */
void connection_begin(struct connection *connection, int client, int host, bool is_tls,
		      const char *name);

/* Set the events that the connection waits for, as in poll(2). */
void connection_wants(const struct connection *connection, short *ret_client, short *ret_host);

/* Move what can be moved since the client, the host or both have an event, at most `most` bytes in
 * each direction. */
enum connection_side { CONNECTION_CLIENT = 1U, CONNECTION_HOST = 2U };
void connection_turn(struct connection *connection, enum connection_side side, size_t most);

/* Refuse the connection if its first bytes are still incomplete. */
void connection_expire(struct connection *connection);

/* Close both sockets; a refused connection is reset. */
void connection_end(struct connection *connection);

#endif
