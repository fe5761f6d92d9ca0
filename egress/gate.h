/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate of one sandbox: its questions for names and its connections, on the listeners of its
 * cable. The gate decides nothing: it asks, by the events below, and does what the answers say.
 */
#ifndef EGRESS_GATE_H
#define EGRESS_GATE_H

#include <poll.h>
#include <stdint.h>

#include "egress/connection.h"
#include "egress/dns.h"
#include "egress/names.h"

#define GATE_LISTENERS_MAX 32U
#define GATE_QUESTIONS_MAX 32U
#define GATE_CONNECTIONS_MAX 256U
#define GATE_POLLED_MAX (1U + GATE_LISTENERS_MAX + 2U * GATE_CONNECTIONS_MAX)
#define GATE_HELLO_MS 10000U /* for a ClientHello, from the accept on */
#define GATE_TEXT_MAX HOST_NAME_MAX_SIZE

/* A question for a name whose answer is awaited. */
struct gate_question {
	bool is_used;
	struct dns_query query;
	uint8_t route[64]; /* the workload's address, and the one that it asked */
};

/* A connection of the workload; without `connection` its host is being dialled. */
struct gate_entry {
	int client;        /* -1: the entry is free */
	uint64_t begun_ms; /* the accept, in the time of gate_turn() */
	char host[GATE_TEXT_MAX];
	struct connection *connection;
};

struct gate {
	int dns;
	uint32_t listener_count;
	int listeners[GATE_LISTENERS_MAX];
	struct names names;
	struct gate_question questions[GATE_QUESTIONS_MAX];
	struct gate_entry entries[GATE_CONNECTIONS_MAX];
	uint64_t now_ms;
	uint64_t refused[CONNECTION_REFUSAL_COUNT],
		dropped; /* counts; `dropped` for want of room */
};

/* Begin with sockets that do not block, which are the gate's from now on. */
void gate_begin(struct gate *gate, int dns, const int *listeners, uint32_t count);

/* Set what to wait for, at most GATE_POLLED_MAX. Return the number. */
uint32_t gate_wants(const struct gate *gate, struct pollfd polled[GATE_POLLED_MAX]);

/* Do what can be done now, at least once in GATE_HELLO_MS. `now_ms` is of a clock that only grows.
 */
void gate_turn(struct gate *gate, uint64_t now_ms);

/* Answer a question for a name: with DNS_OK it gets its address. */
void gate_named(struct gate *gate, uint32_t question, enum dns_code code);

/* Answer a dial: the connected socket, which does not block and is the gate's, or -1: refused. */
void gate_dialed(struct gate *gate, uint32_t entry, int host, bool is_tls);

/* Close everything. */
void gate_end(struct gate *gate);

/* The gate's questions, for its user to define. The answer may come at once. `host` is a name in
 * the one spelling, or an IPv4 address. */
void event_gate_name(struct gate *gate, uint32_t question, const char *name);
void event_gate_dial(struct gate *gate, uint32_t entry, const char *host, uint16_t port);

#endif
