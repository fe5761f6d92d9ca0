/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/plan/plan.h"

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

/* The ends of connections that the gate itself has ended. */
static const enum connection_end ends[CONNECTION_REFUSAL_COUNT] = {
	[CONNECTION_FINE] = CONNECTION_END_SIDES,
	[CONNECTION_NO_TLS] = CONNECTION_END_NO_TLS,
	[CONNECTION_NO_NAME] = CONNECTION_END_NO_NAME,
	[CONNECTION_OTHER_NAME] = CONNECTION_END_OTHER_NAME,
	[CONNECTION_HIDDEN_NAME] = CONNECTION_END_HIDDEN_NAME,
	[CONNECTION_LATE] = CONNECTION_END_LATE,
};

/* Wait for new connections if there is room for one. */
static void watch_listeners(struct gate *gate)
{
	const bool has_room = !gate->is_held && gate->entry_count < gate->limits.connections &&
			      gate->dial_count < GATE_DIALS_MAX && gate->tokens > 0;

	if (has_room == gate->are_listeners_watched)
		return;
	gate->are_listeners_watched = has_room;
	for (uint32_t i = 0; i < gate->listener_count; i++)
		event_gate_watch(gate, GATE_MARK_LISTENERS + i, gate->listeners[i],
				 has_room ? 0 : POLLIN, has_room ? POLLIN : 0);
}

void gate_begin(struct gate *gate, int dns, const int *listeners, uint32_t count)
{
	gate->dns = dns;
	gate->tokens = GATE_BURST * gate->limits.rate;
	gate->refilled_ms = gate->now_ms;
	gate->listener_count = count;
	memcpy(gate->listeners, listeners, count * sizeof(listeners[0]));
	event_gate_watch(gate, GATE_MARK_DNS, dns, 0, POLLIN);
	watch_listeners(gate);
}

bool gate_add(struct gate *gate, int listener)
{
	const uint32_t at = gate->listener_count;

	if (at == GATE_LISTENERS_MAX)
		return false;
	gate->listeners[gate->listener_count++] = listener;
	if (gate->are_listeners_watched)
		event_gate_watch(gate, GATE_MARK_LISTENERS + at, listener, 0, POLLIN);
	return true;
}

/* Wait for what the connection of an entry wants now. */
static void watch_entry(struct gate *gate, struct gate_entry *entry)
{
	const uint32_t mark = GATE_MARK_ENTRIES + 2 * (uint32_t)(entry - gate->entries);
	struct connection *connection = entry->connection;
	short client = 0, host = 0;

	connection_wants(connection, &client, &host);
	/* A socket that nothing is wanted of would wake us by its end, again and again. */
	if (client != entry->client_events)
		event_gate_watch(gate, mark, connection->client, entry->client_events, client);
	if (host != entry->host_events)
		event_gate_watch(gate, mark + 1, connection->host, entry->host_events, host);
	entry->client_events = client;
	entry->host_events = host;
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
/* NOLINTNEXTLINE(readability-non-const-parameter): written through the message */
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
	if (at == GATE_QUESTIONS_MAX)
		return; /* the workload asks again, as for a lost datagram */
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
	while (gate->free_from < GATE_CONNECTIONS_MAX && gate->entries[gate->free_from].is_used)
		gate->free_from++;
	return gate->free_from < GATE_CONNECTIONS_MAX ? &gate->entries[gate->free_from] : NULL;
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

/* Have the workload's connections moved as many bytes as they may? */
static bool is_spent(const struct gate *gate)
{
	const struct network_limits *limits = &gate->limits;

	return (limits->upload > 0 && gate->sent >= limits->upload) ||
	       (limits->download > 0 && gate->received >= limits->download);
}

static void take_client(struct gate *gate, int client)
{
	struct gate_entry *entry = find_free(gate);

	gate->tokens--;
	if (entry == NULL || !read_target(gate, client, entry->host, &entry->port)) {
		reset_client(client);
		return;
	}
	if (is_spent(gate)) {
		event_gate_refused(gate, entry->host, entry->port, CONNECTION_REFUSED_LIMIT);
		reset_client(client);
		return;
	}
	entry->is_used = true;
	entry->client = client;
	entry->begun_ms = entry->moved_ms = gate->now_ms;
	gate->entry_count++;
	gate->dial_count++;
	event_gate_dial(gate, (uint32_t)(entry - gate->entries), entry->host, entry->port);
}

/* Without a descriptor or memory the next try would fail, too: gate_tick() has it try again. */
static bool is_out_of_room(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void turn_listener(struct gate *gate, int listener)
{
	for (uint32_t i = 0; i < TURN_ACCEPTS && gate->are_listeners_watched; i++) {
		const int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0 && is_out_of_room(errno))
			gate->is_held = true;
		if (client >= 0)
			take_client(gate, client);
		watch_listeners(gate);
		if (client < 0)
			return;
	}
}

static void report_end(struct gate *gate, const struct gate_entry *entry,
		       enum connection_end reason)
{
	const struct connection *connection = entry->connection;
	struct ipc_connection_end end = { .number = entry->number, .reason = (uint32_t)reason };

	if (connection != NULL) {
		end.sent = connection->out.moved;
		end.received = connection->in.moved;
	}
	memcpy(end.address, entry->address, sizeof(end.address));
	event_gate_ended(gate, &end);
}

static void free_entry(struct gate *gate, struct gate_entry *entry)
{
	const uint32_t index = (uint32_t)(entry - gate->entries);

	*entry = (struct gate_entry){ .is_used = false };
	gate->entry_count--;
	if (index < gate->free_from)
		gate->free_from = index;
	watch_listeners(gate);
}

/* End a connection whose host was dialled. */
static void end_connection(struct gate *gate, struct gate_entry *entry, enum connection_end reason)
{
	struct connection *connection = entry->connection;

	if (connection->refusal != CONNECTION_FINE || reason == CONNECTION_END_SPENT)
		event_gate_refused(gate, entry->host, entry->port,
				   reason == CONNECTION_END_SPENT ? CONNECTION_REFUSED_LIMIT
				   : reason == CONNECTION_END_HIDDEN_NAME
					   ? CONNECTION_REFUSED_HIDDEN
					   : CONNECTION_REFUSED_TLS);
	report_end(gate, entry, reason);
	connection->state = CONNECTION_ENDED; /* it wants nothing more */
	watch_entry(gate, entry);
	connection_end(connection);
	free(connection);
	free_entry(gate, entry);
}

/* Begin to wait for a connection, or end it, as it is now. */
static void settle_connection(struct gate *gate, struct gate_entry *entry)
{
	if (entry->connection->state == CONNECTION_ENDED)
		end_connection(gate, entry, ends[entry->connection->refusal]);
	else
		watch_entry(gate, entry);
}

/* End the connections that there are, for a limit of the sandbox or its end. */
static void end_all(struct gate *gate, enum connection_end reason)
{
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX && gate->entry_count > 0; i++) {
		if (gate->entries[i].connection != NULL)
			end_connection(gate, &gate->entries[i], reason);
	}
}

/* End all connections: the sandbox has moved its bytes. */
static void end_spent(struct gate *gate)
{
	bool is_read = false;

	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX && gate->entry_count > 0; i++) {
		struct gate_entry *entry = &gate->entries[i];

		if (!entry->is_used || entry->client >= 0 || entry->connection || entry->is_cut)
			continue;
		event_gate_refused(gate, entry->host, entry->port, CONNECTION_REFUSED_LIMIT);
		is_read = entry->is_cut = true;
	}
	if (is_read)
		event_gate_spent(gate);
	end_all(gate, CONNECTION_END_SPENT);
}

/* Move bytes of a connection, and count them. */
static void move_bytes(struct gate *gate, struct gate_entry *entry, enum connection_side side)
{
	struct connection *connection = entry->connection;
	const uint64_t sent = connection->out.moved, received = connection->in.moved;

	connection_turn(connection, side, TURN_BYTES);
	if (connection->out.moved != sent || connection->in.moved != received)
		entry->moved_ms = gate->now_ms;
	gate->sent += connection->out.moved - sent;
	gate->received += connection->in.moved - received;
	if (is_spent(gate))
		end_spent(gate);
	else
		settle_connection(gate, entry);
}

/* Let go of a connection that cannot go on. */
static void drop_dialed(struct gate *gate, struct gate_entry *entry, int host)
{
	if (host >= 0) {
		(void)close(host); /* it was told no byte */
		report_end(gate, entry,
			   entry->is_cut    ? CONNECTION_END_CUT
			   : is_spent(gate) ? CONNECTION_END_SPENT
					    : CONNECTION_END_LIMIT);
	}
	reset_client(entry->client);
	free_entry(gate, entry);
}

/* Give a connection to a server, which reads its first byte. */
static void hand_over(struct gate *gate, struct gate_entry *entry, int host,
		      const struct ipc_dial_done *done)
{
	if (!event_gate_read(gate, (uint32_t)(entry - gate->entries), host, done)) {
		drop_dialed(gate, entry, host);
		return;
	}
	(void)close(host);          /* the server has it */
	(void)close(entry->client); /* likewise */
	entry->client = -1;
	watch_listeners(gate);
}

static void begin_connection(struct gate *gate, struct gate_entry *entry, int host,
			     const struct ipc_dial_done *done)
{
	struct connection *connection = malloc(sizeof(*connection));

	if (connection == NULL) {
		drop_dialed(gate, entry, host);
		return;
	}
	entry->connection = connection;
	connection_begin(connection, entry->client, host, done->kind == PLAN_HOST_TLS, entry->host);
	entry->moved_ms = gate->now_ms;
	move_bytes(gate, entry, CONNECTION_CLIENT); /* the host's first bytes wake us */
	watch_listeners(gate);
}

void gate_dialed(struct gate *gate, uint32_t entry, int host, const struct ipc_dial_done *done)
{
	struct gate_entry *dialed = &gate->entries[entry];

	gate->dial_count--;
	if (host < 0) {
		drop_dialed(gate, dialed, -1);
		return;
	}
	dialed->number = done->connection;
	memcpy(dialed->address, done->address, sizeof(dialed->address));
	if (dialed->is_cut || is_spent(gate))
		drop_dialed(gate, dialed, host);
	else if (done->kind >= PLAN_HOST_HTTP)
		hand_over(gate, dialed, host, done);
	else
		begin_connection(gate, dialed, host, done);
}

void gate_cut(struct gate *gate, const char *host)
{
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX && gate->entry_count > 0; i++) {
		struct gate_entry *entry = &gate->entries[i];

		if (!entry->is_used || (host[0] != '\0' && strcmp(entry->host, host) != 0))
			continue;
		if (entry->connection != NULL)
			end_connection(gate, entry, CONNECTION_END_CUT);
		else
			entry->is_cut = true; /* the host is being dialled, or a server ends it */
	}
}

bool gate_look(const struct gate *gate, uint32_t *at, struct ipc_connection_open *ret)
{
	const struct gate_entry *entry;

	while (*at < GATE_CONNECTIONS_MAX && gate->entries[*at].number == 0)
		++*at;
	if (*at == GATE_CONNECTIONS_MAX)
		return false;
	entry = &gate->entries[(*at)++];
	ret->number = entry->number;
	ret->sent = entry->connection ? entry->connection->out.moved : entry->sent;
	ret->received = entry->connection ? entry->connection->in.moved : entry->received;
	ret->port = entry->port;
	memcpy(ret->host, entry->host, sizeof(entry->host));
	return true;
}

bool gate_count(struct gate *gate, uint32_t entry, uint64_t sent, uint64_t received)
{
	struct gate_entry *read = &gate->entries[entry];

	gate->sent += sent - read->sent;
	gate->received += received - read->received;
	read->sent = sent;
	read->received = received;
	if (is_spent(gate))
		end_spent(gate);
	return !is_spent(gate);
}

void gate_read(struct gate *gate, uint32_t entry, uint64_t sent, uint64_t received)
{
	gate->entries[entry].is_cut = true;            /* it has ended */
	(void)gate_count(gate, entry, sent, received); /* it moves no more */
	free_entry(gate, &gate->entries[entry]);
}

/* `mark`: from GATE_MARK_ENTRIES on, even ones are clients'. */
static void turn_entry(struct gate *gate, uint32_t mark)
{
	struct gate_entry *entry = &gate->entries[mark / 2];

	if (entry->connection != NULL) /* else it has ended meanwhile */
		move_bytes(gate, entry, mark % 2 == 0 ? CONNECTION_CLIENT : CONNECTION_HOST);
}

void gate_turn(struct gate *gate, uint32_t mark, uint64_t now_ms)
{
	gate->now_ms = now_ms;
	if (mark == GATE_MARK_DNS)
		turn_names(gate);
	else if (mark < GATE_MARK_LISTENERS + gate->listener_count)
		turn_listener(gate, gate->listeners[mark - GATE_MARK_LISTENERS]);
	else if (mark >= GATE_MARK_ENTRIES && mark < GATE_MARKS)
		turn_entry(gate, mark - GATE_MARK_ENTRIES);
}

bool gate_needs_tick(const struct gate *gate)
{
	return gate->is_held || gate->entry_count > 0 ||
	       gate->tokens < GATE_BURST * gate->limits.rate;
}

static void refill_tokens(struct gate *gate, uint64_t now_ms)
{
	const uint64_t more = (now_ms - gate->refilled_ms) * gate->limits.rate / 1000;
	const uint32_t most = GATE_BURST * gate->limits.rate;

	if (more == 0)
		return;
	gate->refilled_ms = now_ms;
	gate->tokens = more < most - gate->tokens ? gate->tokens + (uint32_t)more : most;
	watch_listeners(gate);
}

void gate_tick(struct gate *gate, uint64_t now_ms)
{
	const uint64_t idle_ms = gate->limits.idle_s * 1000ULL;
	uint32_t left = gate->entry_count;

	refill_tokens(gate, now_ms);
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX && left > 0; i++) {
		struct gate_entry *entry = &gate->entries[i];

		left -= entry->is_used;
		if (entry->connection == NULL)
			continue;
		if (now_ms - entry->begun_ms > GATE_HELLO_MS)
			connection_expire(entry->connection);
		if (idle_ms > 0 && now_ms - entry->moved_ms > idle_ms &&
		    entry->connection->state == CONNECTION_RELAYING)
			end_connection(gate, entry, CONNECTION_END_IDLE);
		else
			settle_connection(gate, entry);
	}
}

void gate_hold(struct gate *gate, bool is_held)
{
	gate->is_held = is_held;
	watch_listeners(gate);
}

void gate_end(struct gate *gate)
{
	gate_hold(gate, true);
	event_gate_watch(gate, GATE_MARK_DNS, gate->dns, POLLIN, 0);
	for (uint32_t i = 0; i < gate->listener_count; i++)
		(void)close(gate->listeners[i]); /* the cable goes with the last one */
	(void)close(gate->dns);                  /* likewise */
	end_all(gate, CONNECTION_END_SANDBOX);
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX && gate->entry_count > 0; i++) {
		if (!gate->entries[i].is_used)
			continue;
		if (gate->entries[i].client >= 0) /* its host is being dialled */
			reset_client(gate->entries[i].client);
		free_entry(gate, &gate->entries[i]);
	}
}
