/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers of msp-http, and the connections that they have: those to hosts whose requests are
 * read. A connection is handed over with both its sockets, before its first byte.
 */
#ifndef GATEWAY_EGRESS_READERS_H
#define GATEWAY_EGRESS_READERS_H

#include "common/ipc/ipc_gateway.h"
#include "lib/heap/outbox.h"

#include <stdbool.h>

/* Connections at once; beyond them new ones are reset. */
#define READERS_MAX 4096U

/* A connection to hand over. */
struct reader_connection {
	uint64_t number; /* as in dial_done */
	uint32_t server; /* as in egress_begin */
	uint32_t slot, use;
	uint32_t entry; /* the gate's */
	uint32_t port;
	uint32_t is_counted, idle_s; /* as in http_open */
	char host[IPC_HOST_MAX];
	char address[IPC_ADDRESS_MAX];
};

/* Begin, with the channel to msp-cable, for reports, and what servers are waited for with: an epoll
 * descriptor, whose events have `data` and the server's number. */
void readers_begin(struct outbox *cable, int waiting, uint64_t data);

/* Take the channel of a server, in the place of an earlier one. 0 or -errno. */
int readers_take(uint32_t server, int fd);

/* Hand a connection over, whose sockets stay the caller's. False: the server has ended or has no
 * room, or the sandbox has its share of that (common/share.h). */
bool readers_open(const struct reader_connection *connection, int client, int host);

/* Take what a server says. 0 or -errno. */
int readers_turn(uint32_t server);

/* Have the connections of a sandbox with a host ended for a reason; "": with all. */
void readers_end_host(uint32_t slot, const char *host, enum connection_end reason);

/* A connection has moved so many bytes so far. Return whether it may go on. For the user to define.
 */
bool event_reader_moved(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received);

/* A connection has ended, and is reported. For the user to define. */
void event_reader_ended(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received);

#endif
