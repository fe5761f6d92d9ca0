/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The bytes of one connection in one turn, and the new ones of one listener: the others wait. */
#define TURN_BYTES 262144U
#define TURN_ACCEPTS 16U
#define TURN_QUERIES 32U

/* The workload's address and the asked one, which the answer comes from. */
struct route {
	struct sockaddr_in workload;
	struct in_addr asked;
};

/* Room for the asked address beside a datagram. */
union packet_info {
	struct cmsghdr head;
	uint8_t bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

_Static_assert(sizeof(struct route) <= sizeof(((struct gate_question *)0)->route), "room for it");

void gate_begin(struct gate *gate, int dns, const int *listeners, uint32_t count)
{
	memset(gate, 0, sizeof(*gate));
	gate->dns = dns;
	gate->listener_count = count;
	memcpy(gate->listeners, listeners, count * sizeof(listeners[0]));
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++)
		gate->entries[i].client = -1;
}

static void send_answer(const struct gate *gate, const struct gate_question *question,
			enum dns_code code, uint32_t address)
{
	uint8_t bytes[DNS_ANSWER_MAX + 16];
	union packet_info control = { .bytes = { 0 } };
	struct in_pktinfo info = { .ipi_ifindex = 0 };
	struct route route;
	struct iovec part = { .iov_base = bytes,
			      .iov_len =
				      dns_answer(&question->query, code, htonl(address), bytes) };
	struct msghdr message = { .msg_name = &route.workload,
				  .msg_namelen = sizeof(route.workload),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.bytes) };

	memcpy(&route, question->route, sizeof(route));
	info.ipi_spec_dst = route.asked;
	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(info)),
					 .cmsg_level = IPPROTO_IP,
					 .cmsg_type = IP_PKTINFO };
	memcpy(CMSG_DATA(&control.head), &info, sizeof(info));
	(void)sendmsg(gate->dns, &message, 0); /* as any datagram, it may be lost */
}

void gate_named(struct gate *gate, uint32_t question, enum dns_code code)
{
	struct gate_question *asked = &gate->questions[question];
	const uint32_t address =
		code == DNS_OK ? names_address(&gate->names, asked->query.name) : 0;

	if (code == DNS_OK && address == 0)
		code = DNS_REFUSED; /* more names than a sandbox has */
	if (asked->is_used)
		send_answer(gate, asked, code, address);
	asked->is_used = false;
}

/* Receive a query with its route. Return its size, or -1: there is none. */
static ssize_t receive_query(const struct gate *gate, uint8_t bytes[DNS_QUERY_MAX + 1],
			     struct route *ret)
{
	union packet_info control;
	struct in_pktinfo info = { .ipi_ifindex = 0 };
	struct iovec part = { .iov_base = bytes, .iov_len = DNS_QUERY_MAX + 1 };
	struct msghdr message = { .msg_name = &ret->workload,
				  .msg_namelen = sizeof(ret->workload),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.bytes) };
	const ssize_t size = recvmsg(gate->dns, &message, 0);

	if (size < 0)
		return -1;
	if (CMSG_FIRSTHDR(&message) != NULL)
		memcpy(&info, CMSG_DATA(&control.head), sizeof(info));
	ret->asked = info.ipi_addr;
	return size;
}

static void take_query(struct gate *gate, const uint8_t *bytes, size_t size,
		       const struct route *route)
{
	static const enum dns_code codes[DNS_VERDICT_COUNT] = {
		[DNS_NO_DATA] = DNS_OK,
		[DNS_SERVICE] = DNS_NO_NAME,
		[DNS_UNSUPPORTED] = DNS_NOT_IMPLEMENTED,
		[DNS_MALFORMED] = DNS_FORMAT,
	};
	struct gate_question now = { .is_used = true };
	const enum dns_verdict verdict = dns_read(bytes, size, &now.query);
	uint32_t at = 0;

	memcpy(now.route, route, sizeof(*route));
	if (verdict == DNS_DROPPED)
		return;
	if (verdict != DNS_ASKS) {
		send_answer(gate, &now, codes[verdict], 0);
		return;
	}
	while (at < GATE_QUESTIONS_MAX && gate->questions[at].is_used)
		at++;
	if (at == GATE_QUESTIONS_MAX) {
		gate->dropped++; /* the workload asks again, as for a lost datagram */
		return;
	}
	gate->questions[at] = now;
	event_gate_name(gate, at, gate->questions[at].query.name);
}

static void turn_names(struct gate *gate)
{
	for (uint32_t i = 0; i < TURN_QUERIES; i++) {
		uint8_t bytes[DNS_QUERY_MAX + 1];
		struct route route = { .asked = { 0 } };
		const ssize_t size = receive_query(gate, bytes, &route);

		if (size < 0)
			return;
		take_query(gate, bytes, (size_t)size, &route);
	}
}

/* Close a connection that has no host, so that the workload sees a reset. */
static void reset_client(int client)
{
	relay_reset(client);
	(void)close(client); /* it has sent no byte */
}

static struct gate_entry *find_free(struct gate *gate)
{
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		if (gate->entries[i].client < 0)
			return &gate->entries[i];
	}
	return NULL;
}

/* Take the target of a connection: the name of its address, or the address. */
static bool read_target(const struct gate *gate, int client, char host[GATE_TEXT_MAX],
			uint16_t *ret_port)
{
	struct sockaddr_in target = { .sin_port = 0 };
	socklen_t size = sizeof(target);
	const char *name;

	if (getsockname(client, (struct sockaddr *)&target, &size) != 0)
		return false;
	name = names_find(&gate->names, ntohl(target.sin_addr.s_addr));
	*ret_port = ntohs(target.sin_port);
	if (name == NULL)
		return inet_ntop(AF_INET, &target.sin_addr, host, GATE_TEXT_MAX) != NULL;
	memcpy(host, name, strlen(name) + 1);
	return true;
}

static void take_client(struct gate *gate, int client)
{
	struct gate_entry *entry = find_free(gate);
	uint16_t port = 0;

	if (entry == NULL || !read_target(gate, client, entry->host, &port)) {
		gate->dropped++;
		reset_client(client);
		return;
	}
	entry->client = client;
	entry->begun_ms = gate->now_ms;
	event_gate_dial(gate, (uint32_t)(entry - gate->entries), entry->host, port);
}

static void turn_listener(struct gate *gate, int listener)
{
	for (uint32_t i = 0; i < TURN_ACCEPTS && find_free(gate) != NULL; i++) {
		const int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0)
			return;
		take_client(gate, client);
	}
}

static void end_entry(struct gate *gate, struct gate_entry *entry)
{
	if (entry->connection == NULL) {
		reset_client(entry->client);
	} else {
		gate->refused[entry->connection->refusal]++;
		connection_end(entry->connection);
		free(entry->connection);
	}
	*entry = (struct gate_entry){ .client = -1 };
}

void gate_dialed(struct gate *gate, uint32_t entry, int host, bool is_tls)
{
	struct gate_entry *dialed = &gate->entries[entry];

	if (host >= 0 && dialed->client >= 0 && dialed->connection == NULL)
		dialed->connection = malloc(sizeof(*dialed->connection));
	if (host < 0 || dialed->client < 0 || dialed->connection == NULL) {
		if (host >= 0)
			(void)close(host); /* it was told no byte */
		if (dialed->client >= 0)
			end_entry(gate, dialed);
		return;
	}
	connection_begin(dialed->connection, dialed->client, host, is_tls, dialed->host);
}

void gate_turn(struct gate *gate, uint64_t now_ms)
{
	gate->now_ms = now_ms;
	turn_names(gate);
	for (uint32_t i = 0; i < gate->listener_count; i++)
		turn_listener(gate, gate->listeners[i]);
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		struct gate_entry *entry = &gate->entries[i];

		if (entry->client < 0 || entry->connection == NULL)
			continue;
		connection_turn(entry->connection, TURN_BYTES);
		if (now_ms - entry->begun_ms > GATE_HELLO_MS)
			connection_expire(entry->connection);
		if (entry->connection->state == CONNECTION_ENDED)
			end_entry(gate, entry);
	}
}

uint32_t gate_wants(const struct gate *gate, struct pollfd polled[GATE_POLLED_MAX])
{
	uint32_t count = 0;
	bool has_room = false;

	polled[count++] = (struct pollfd){ .fd = gate->dns, .events = POLLIN };
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		const struct gate_entry *entry = &gate->entries[i];
		short client = 0, host = 0;

		has_room |= entry->client < 0;
		if (entry->client < 0 || entry->connection == NULL)
			continue;
		connection_wants(entry->connection, &client, &host);
		/* A socket that nothing is wanted of would wake us by its end, again and again. */
		if (client != 0)
			polled[count++] = (struct pollfd){ entry->client, client, 0 };
		if (host != 0)
			polled[count++] = (struct pollfd){ entry->connection->host, host, 0 };
	}
	/* Without room, new connections wait in the kernel. */
	for (uint32_t i = 0; has_room && i < gate->listener_count; i++)
		polled[count++] = (struct pollfd){ gate->listeners[i], POLLIN, 0 };
	return count;
}

void gate_end(struct gate *gate)
{
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		if (gate->entries[i].client >= 0)
			end_entry(gate, &gate->entries[i]);
	}
	for (uint32_t i = 0; i < gate->listener_count; i++)
		(void)close(gate->listeners[i]); /* the cable goes with the last one */
	(void)close(gate->dns);                  /* likewise */
}
