/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/readers.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_http.h"
#include "common/share.h"
#include "stewards/base/counters.h"

#define TURN_MOST 64 /* messages */

static struct read_one {
	bool is_used;
	bool is_ending, is_told; /* the server is to hear that it ends, and has */
	enum connection_end reason;
	uint64_t sent, received; /* so far, as the server says */
	struct reader_connection is;
} connections[READERS_MAX];

static struct channel servers[HTTP_SERVERS_MAX];
static uint32_t of_server[HTTP_SERVERS_MAX], of_slot[GATEWAY_SLOTS], used; /* connections */
static struct outbox *to_cable;
static int waiting;
static uint64_t first_data;

void readers_begin(struct outbox *cable, int own_waiting, uint64_t data)
{
	to_cable = cable;
	waiting = own_waiting;
	first_data = data;
	for (uint32_t i = 0; i < HTTP_SERVERS_MAX; i++)
		servers[i].fd = -1;
}

/* Find a connection of the server; READERS_MAX: it has none with the number. */
static uint32_t find_connection(uint32_t server, uint64_t number)
{
	uint32_t i = 0;

	while (i < READERS_MAX && (!connections[i].is_used || connections[i].is.number != number ||
				   connections[i].is.server != server))
		i++;
	return i;
}

/* Report the end of a connection. 0 or -errno. */
static int end_connection(uint32_t index, const struct ipc_http_done *done)
{
	const struct reader_connection *is = &connections[index].is;
	struct ipc_connection_end end = { .number = is->number,
					  .sent = done->sent,
					  .received = done->received,
					  .slot = is->slot,
					  .use = is->use,
					  .reason = done->reason };

	memcpy(end.address, is->address, sizeof(end.address));
	connections[index].is_used = false;
	of_server[is->server]--;
	of_slot[is->slot]--;
	used--;
	event_reader_ended(is->slot, is->use, is->entry, done->sent, done->received);
	return outbox_send(to_cable, IPC_TYPE_connection_end, &end);
}

/* The server has ended, and its connections with it. */
static int end_server(uint32_t server)
{
	int error = 0;

	fd_close(&servers[server].fd); /* it is no longer waited for */
	for (uint32_t i = 0; i < READERS_MAX && !error; i++) {
		const struct ipc_http_done done = { .sent = connections[i].sent,
						    .received = connections[i].received,
						    .reason = CONNECTION_END_READER };

		if (connections[i].is_used && connections[i].is.server == server)
			error = end_connection(i, &done);
	}
	return error;
}

int readers_take(uint32_t server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = first_data + server };
	int error;

	if (server >= HTTP_SERVERS_MAX) {
		fd_close(&fd);
		return -EPROTO;
	}
	error = end_server(server);
	servers[server] = (struct channel){ fd, IPC_EGRESS, IPC_HTTP, IPC_SERVE };
	return error ? error : epoll_ctl(waiting, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

bool readers_open(const struct reader_connection *connection, int client, int host)
{
	struct ipc_http_open open = { .number = connection->number,
				      .port = connection->port,
				      .is_counted = connection->is_counted,
				      .idle_s = connection->idle_s };
	const int fds[] = { client, host };
	const uint32_t server = connection->server, own = of_slot[connection->slot];
	uint32_t i = 0;

	if (server >= HTTP_SERVERS_MAX || servers[server].fd < 0 ||
	    !share_grants(own, of_server[server], HTTP_CONNECTIONS_MAX, 1) ||
	    !share_grants(own, used, READERS_MAX, 1))
		return false;
	while (connections[i].is_used)
		i++;
	memcpy(open.host, connection->host, sizeof(open.host));
	if (channel_send(&servers[server], IPC_TYPE_http_open, &open, fds, MSG_DONTWAIT) != 0)
		return false;
	connections[i] = (struct read_one){ .is_used = true, .is = *connection };
	of_server[server]++;
	of_slot[connection->slot]++;
	used++;
	return true;
}

/* Return whether the bytes of a connection grow. */
static bool is_sound(uint32_t index, uint64_t sent, uint64_t received)
{
	return index < READERS_MAX && sent >= connections[index].sent &&
	       received >= connections[index].received;
}

static int handle_moved(void *context, struct channel_message *message)
{
	const struct ipc_http_moved *moved = ipc_body(message, http_moved);
	const uint32_t *server = context, index = find_connection(*server, moved->number);
	const struct ipc_http_more more = { moved->number };
	const struct reader_connection *is;

	if (!is_sound(index, moved->sent, moved->received))
		return -EPROTO;
	connections[index].sent = moved->sent;
	connections[index].received = moved->received;
	is = &connections[index].is;
	if (!event_reader_moved(is->slot, is->use, is->entry, moved->sent, moved->received))
		return 0;
	/* As in readers_end_host(). */
	if (channel_send(&servers[*server], IPC_TYPE_http_more, &more, NULL, MSG_DONTWAIT) != 0)
		(void)shutdown(servers[*server].fd, SHUT_RDWR); /* its end is seen */
	return 0;
}

static int handle_done(void *context, struct channel_message *message)
{
	const struct ipc_http_done *done = ipc_body(message, http_done);
	const uint32_t *server = context, index = find_connection(*server, done->number);

	if (!is_sound(index, done->sent, done->received) || done->reason >= CONNECTION_END_COUNT)
		return -EPROTO;
	return end_connection(index, done);
}

static int handle_refused(void *context, struct channel_message *message)
{
	const struct ipc_http_refused *from = ipc_body(message, http_refused);
	const uint32_t *server = context, index = find_connection(*server, from->number);
	struct ipc_connection_refused refused = { .time_us = clock_now_us(),
						  .reason = from->reason };
	int error;

	if (index == READERS_MAX || from->reason >= CONNECTION_REFUSED_COUNT)
		return -EPROTO;
	refused.slot = connections[index].is.slot;
	refused.use = connections[index].is.use;
	refused.port = connections[index].is.port;
	memcpy(refused.host, connections[index].is.host, sizeof(refused.host));
	error = outbox_send(to_cable, IPC_TYPE_connection_refused, &refused);
	counters_raise(refused.slot);
	return error;
}

static const dispatch_handler from_server[IPC_TYPE_COUNT] = {
	[IPC_TYPE_http_moved] = handle_moved,
	[IPC_TYPE_http_done] = handle_done,
	[IPC_TYPE_http_refused] = handle_refused,
};

/* Tell the server which connections end, as far as it takes that: it answers each, and hears of
 * more then. False: it takes none, and has none to answer. */
static bool tell_ends(uint32_t server)
{
	bool is_full = false, is_answering = false;

	for (uint32_t i = 0; i < READERS_MAX; i++) {
		const struct ipc_http_end end = { connections[i].is.number,
						  (uint32_t)connections[i].reason };

		if (!connections[i].is_used || !connections[i].is_ending ||
		    connections[i].is.server != server)
			continue;
		if (!connections[i].is_told && !is_full) {
			is_full = channel_send(&servers[server], IPC_TYPE_http_end, &end, NULL,
					       MSG_DONTWAIT) != 0;
			connections[i].is_told = !is_full;
		}
		is_answering |= connections[i].is_told;
	}
	return !is_full || is_answering;
}

/* A server that breaks the protocol is left like one that has ended. */
int readers_turn(uint32_t server)
{
	static struct channel_message message;
	enum ipc_error wrong;
	int status = servers[server].fd < 0 ? -EAGAIN : 1;

	for (int i = 0; i < TURN_MOST && status == 1; i++)
		status = dispatch_one(&servers[server], &message, MSG_DONTWAIT, from_server,
				      &server, &wrong);
	if (status != 1 && status != -EAGAIN)
		return end_server(server);
	(void)tell_ends(server); /* its answers to the others come */
	return 0;
}

void readers_end_host(uint32_t slot, const char *host, enum connection_end reason)
{
	uint32_t server = HTTP_SERVERS_MAX; /* a sandbox has one */

	for (uint32_t i = 0; i < READERS_MAX; i++) {
		const struct reader_connection *is = &connections[i].is;

		if (!connections[i].is_used || is->slot != slot ||
		    (host[0] != '\0' && strcmp(is->host, host) != 0))
			continue;
		server = is->server;
		if (connections[i].is_ending)
			continue; /* once is enough */
		connections[i].is_ending = true;
		connections[i].is_told = false;
		connections[i].reason = reason;
	}
	/* A server that is too busy to read has to end: its channel is closed. */
	if (server < HTTP_SERVERS_MAX && !tell_ends(server))
		(void)shutdown(servers[server].fd, SHUT_RDWR); /* its end is seen */
}
