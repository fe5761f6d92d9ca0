/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate of one sandbox: its questions for names and its connections, on the listeners of its
 * cable. The gate decides nothing: it asks, by the events below, and does what the answers say. It
 * waits for nothing itself: it names the descriptors to wait for, each with a mark.
 */
#ifndef GATEWAY_EGRESS_GATE_H
#define GATEWAY_EGRESS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/ipc_gateway.h"
#include "gateway/egress/connection.h"
#include "gateway/egress/dns.h"
#include "gateway/egress/names.h"

#define GATE_LISTENERS_MAX 32U
#define GATE_QUESTIONS_MAX 32U
#define GATE_CONNECTIONS_MAX NETWORK_CONNECTIONS_MAX
#define GATE_DIALS_MAX 128U  /* that wait for their answer */
#define GATE_BURST 16U       /* so many times the rate may come at once: each is recorded */
#define GATE_HELLO_MS 10000U /* for a ClientHello, from the accept on */

/* The marks: of the listener for questions, of the others, and two for each connection. */
#define GATE_MARK_DNS 0U
#define GATE_MARK_LISTENERS 1U
#define GATE_MARK_ENTRIES (GATE_MARK_LISTENERS + GATE_LISTENERS_MAX)
#define GATE_MARKS (GATE_MARK_ENTRIES + 2U * GATE_CONNECTIONS_MAX)
#define GATE_TEXT_MAX HOST_NAME_MAX_SIZE

/* A question for a name whose answer is awaited. */
struct gate_question {
	bool is_used;
	struct dns_query query;
	uint8_t route[64]; /* the workload's address, and the one that it asked */
};

/* A connection of the workload; without `connection` its host is being dialled. */
struct gate_entry {
	bool is_used;
	int client;                       /* -1: a server of msp-http has it */
	short client_events, host_events; /* that are waited for */
	uint64_t begun_ms;                /* the accept, in the time of gate_turn() */
	uint64_t moved_ms;                /* the last byte */
	uint64_t number;                  /* as in dial_done; 0: its host is being dialled */
	uint64_t sent, received;          /* bytes of a connection that a server has */
	uint16_t port;
	char host[GATE_TEXT_MAX];
	char address[IPC_ADDRESS_MAX];
	struct connection *connection;
	bool is_cut; /* its host was taken away while it was dialled, or a server has to end it */
};

struct gate {
	struct network_limits limits;
	uint64_t sent, received; /* bytes of all connections so far */
	int dns;
	uint32_t listener_count;
	int listeners[GATE_LISTENERS_MAX];
	struct names names;
	struct gate_question questions[GATE_QUESTIONS_MAX];
	struct gate_entry entries[GATE_CONNECTIONS_MAX];
	uint32_t entry_count, dial_count; /* in use, and of these those that are being dialled */
	uint32_t free_from;               /* no entry before it is free */
	uint32_t tokens;                  /* new connections that may come now */
	uint64_t refilled_ms;
	bool is_held, are_listeners_watched;
	uint64_t now_ms;
};

/* Begin with sockets that do not block, which are the gate's from now on. The gate is zeroed, but
 * for its limits and time: memory of an entry that is never used is never touched. */
void gate_begin(struct gate *gate, int dns, const int *listeners, uint32_t count);

/* Do what can be done now with the descriptor of a mark, and accept what there is room for.
 * `now_ms` is of a clock that only grows. */
void gate_turn(struct gate *gate, uint32_t mark, uint64_t now_ms);

/* End the connections whose ClientHello is late or that are idle, and let more connections come: to
 * be called each second or so while gate_needs_tick(). */
bool gate_needs_tick(const struct gate *gate);
void gate_tick(struct gate *gate, uint64_t now_ms);

/* Accept no connection until the gate is let go: they wait in the kernel. */
void gate_hold(struct gate *gate, bool is_held);

/* Answer a question for a name: with DNS_OK it gets its address. */
void gate_named(struct gate *gate, uint32_t question, enum dns_code code);

/* Answer a dial: the connected socket, which does not block and is the gate's, with its message;
 * or -1: refused. */
void gate_dialed(struct gate *gate, uint32_t entry, int host, const struct ipc_dial_done *done);

/* Take a further listener, which does not block. False: there is no room for it. */
bool gate_add(struct gate *gate, int listener);

/* End the connections with a host, "": with all, but for those that a server has. */
void gate_cut(struct gate *gate, const char *host);

/* Set the next open connection from the entry `*at` on, which becomes that after it, but for
 * `look`. False: there is none. */
bool gate_look(const struct gate *gate, uint32_t *at, struct ipc_connection_open *ret);

/* Count the bytes so far of a connection that a server has. False: the sandbox has no more. */
bool gate_count(struct gate *gate, uint32_t entry, uint64_t sent, uint64_t received);

/* A connection that a server had has ended, after so many bytes. */
void gate_read(struct gate *gate, uint32_t entry, uint64_t sent, uint64_t received);

/* Close everything. */
void gate_end(struct gate *gate);

/* The gate's questions, for its user to define. The answer may come at once. `host` is a name in
 * the one spelling, or an IPv4 address. */
void event_gate_name(struct gate *gate, uint32_t question, const char *name);
void event_gate_dial(struct gate *gate, uint32_t entry, const char *host, uint16_t port);

/* Hand the connection of an entry to a server of msp-http, with its sockets, which stay the gate's.
 * False: there is no such server, or it has no room. For the gate's user to define. */
bool event_gate_read(struct gate *gate, uint32_t entry, int host, const struct ipc_dial_done *done);

/* The sandbox has moved all its bytes: have servers end its connections. For the gate's user to
 * define. */
void event_gate_spent(struct gate *gate);

/* Wait for the events of a descriptor, as in poll(2), in the place of those before: none before is
 * a new one, and none now is forgotten. For the gate's user to define. */
void event_gate_watch(struct gate *gate, uint32_t mark, int fd, short before, short events);

/* A connection is refused by its ClientHello or a limit, of which the workload has not heard yet;
 * and a connection has ended: `end` lacks slot and use. For the gate's user to define. */
void event_gate_refused(struct gate *gate, const char *host, uint16_t port,
			enum connection_refused reason);
void event_gate_ended(struct gate *gate, struct ipc_connection_end *end);

#endif
