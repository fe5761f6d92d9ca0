/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-bridge is one bridge: a port of the host's loopback that leads to a port of a sandbox. It is
 * started with the host's socket, bound in the host's network, and with a channel to the frontend
 * that it works for. That hands it a channel on which the path opener sends a socket of the
 * sandbox's network, once the bridge is recorded. It enters that network (network.c), confines
 * itself, and only then listens: it takes connections of the host, and can connect nowhere but to
 * that one port of the sandbox. Nothing is added to the sandbox.
 *
 * It reads the first head of each connection (head.c, connection.c) and relays the rest unread
 * (relay/). It ends with the sandbox's init, with its frontend, and with the path opener.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc/ipc_bridge.h"
#include "common/log.h"
#include "gateway/bridge/connection.h"
#include "gateway/bridge/network.h"
#include "lib/heap/memory.h"
#include "seccomp_filter.h"
#include "stewards/base/steward.h"

/* Connections at once; a further one is reset. Each has two buffers of 64 KiB. */
#define CONNECTIONS_MAX 256U

/* Descriptors of the program itself, and two that it takes in the hand. */
#define FDS_OWN 16U

/* Without a descriptor or memory for it, a connection waits in the kernel for this time. */
#define PAUSE_MS 100

enum { SLOT_FRONTEND, SLOT_OPENER, SLOT_SANDBOX, SLOT_PORT, SLOT_CONNECTIONS };

static struct channel frontend = { BRIDGE_FD_CHANNEL, IPC_BRIDGE, IPC_FRONTEND, IPC_SETUP };
static struct channel opener = { -1, IPC_BRIDGE, IPC_LAUNCHER, IPC_SERVE };
static struct channel_message message;
static struct bridge bridge;
static struct ipc_bridge_end end;
static struct connection *connections[CONNECTIONS_MAX];
static uint32_t connection_count, connections_most;
static uint64_t paused_ms; /* no connection is taken before */

static void tell_frontend(uint32_t type, const void *said)
{
	(void)channel_send(&frontend, type, said, NULL, MSG_DONTWAIT); /* or it has gone */
}

/* End without a bridge. */
static void end_early(uint32_t step, int error) __attribute__((noreturn));
static void end_early(uint32_t step, int error)
{
	const struct ipc_bridge_ready ready = { step, (uint32_t)-error };

	tell_frontend(IPC_TYPE_bridge_ready, &ready);
	exit(0);
}

static void begin_bridge(void)
{
	const struct ipc_bridge_begin *begin = ipc_body(&message, bridge_begin);
	struct sockaddr_in own = { .sin_family = AF_UNSPEC };
	socklen_t size = sizeof(own);
	struct ipc_bridge_bound bound;

	if (getsockname(BRIDGE_FD_PORT, (struct sockaddr *)&own, &size) != 0 ||
	    own.sin_family != AF_INET || own.sin_addr.s_addr != htonl(INADDR_LOOPBACK) ||
	    begin->port == 0 || begin->port > UINT16_MAX)
		log_fatal(MSP_EXIT_USAGE,
			  "descriptor %d is no local port: this program is started by msp",
			  BRIDGE_FD_PORT);
	bridge = (struct bridge){ (uint16_t)begin->port, ntohs(own.sin_port), begin->is_raw != 0 };
	opener.fd = channel_take_fd(&message, 0);
	bound.host_port = bridge.host_port;
	tell_frontend(IPC_TYPE_bridge_bound, &bound);
}

/* Wait for the sandbox's network, and enter it. Return the pidfd of its init. */
static int enter_sandbox(void)
{
	struct pollfd peers[] = { { .fd = frontend.fd, .events = POLLIN },
				  { .fd = opener.fd, .events = POLLIN } };
	enum ipc_error wrong = IPC_OK;
	int error, init;

	while (poll(peers, 2, -1) < 0 && errno == EINTR)
		;
	if (peers[0].revents) /* it says nothing more: it has gone */
		exit(0);
	if (channel_receive(&opener, &message, 0, &wrong) != 1 ||
	    message.type != IPC_TYPE_bridge_open)
		end_early(BRIDGE_STEP_RECORD, 0);
	error = network_enter(message.fds[0]);
	init = channel_take_fd(&message, 1);
	channel_message_done(&message);
	if (error)
		end_early(BRIDGE_STEP_ENTER, error);
	return init;
}

/* Must: leave no file, no capability, of the sandbox's network the loopback's one port, and of the
 * host's network the loopback. Must not: leave a system call that no bridge needs. */
static void confine_bridge(void)
{
	struct kernel_landlock_ruleset attr;
	int ruleset;

	confine_rights();
	confine_require(network_keep_to_loopback(BRIDGE_FD_PORT), "binding its port to a device");
	ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);
	confine_require(network_allow(ruleset, &attr, bridge.port),
			"allowing the sandbox's port in Landlock");
	confine_enter(ruleset);
	CONFINE_FILTER(seccomp_filter);
}

/* Return whether something takes connections at the sandbox's port: 0 or -errno. */
static int try_server(void)
{
	int error = -ECONNREFUSED;

	for (int family = 0; family < 2 && error; family++) {
		int fd FD_OWNED = network_connect(bridge.port, family);

		error = fd < 0 ? fd : network_connected(fd);
		if (error == -EINPROGRESS) {
			struct pollfd entry = { .fd = fd, .events = POLLOUT };

			(void)poll(&entry, 1, 1000); /* a full queue counts as a server */
			error = network_connected(fd);
			error = error == -EINPROGRESS ? 0 : error;
		}
	}
	return error;
}

/* --- connections ------------------------------------------------------------------------------ */

static void add_connection(int fd, uint64_t now_ms)
{
	end.connections++;
	if (connection_count == connections_most) {
		end.refused++;
		relay_reset(fd);
		fd_close(&fd);
		return;
	}
	connections[connection_count] = memory_get_zeroed(1, sizeof(struct connection));
	connection_begin(connections[connection_count++], &bridge, fd, now_ms);
}

static void take_connections(uint64_t now_ms)
{
	for (;;) {
		const int fd = accept4(BRIDGE_FD_PORT, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			add_connection(fd, now_ms);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			paused_ms = now_ms + PAUSE_MS;
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void count_bytes(const struct connection *connection)
{
	end.refused += connection->was_refused;
	end.sent += connection->in.moved;
	end.received += connection->is_answered ? 0 : connection->out.moved;
}

static void end_connection(uint32_t index)
{
	count_bytes(connections[index]);
	connection_close(connections[index]);
	free(connections[index]);
	connections[index] = connections[--connection_count];
}

/* Tell both peers, and end: the kernel closes the rest. */
static void end_bridge(uint32_t reason) __attribute__((noreturn));
static void end_bridge(uint32_t reason)
{
	for (uint32_t i = 0; i < connection_count; i++)
		count_bytes(connections[i]);
	end.reason = reason;
	opener.peer = IPC_FRONTEND; /* the end is told to it as to one */
	(void)channel_send(&opener, IPC_TYPE_bridge_end, &end, NULL, MSG_DONTWAIT);
	tell_frontend(IPC_TYPE_bridge_end, &end);
	exit(0);
}

static int wait_ms(uint64_t now_ms)
{
	uint64_t due_ms = paused_ms > now_ms ? paused_ms : UINT64_MAX;

	for (uint32_t i = 0; i < connection_count; i++) {
		if (connections[i]->due_ms < due_ms)
			due_ms = connections[i]->due_ms;
	}
	return due_ms == UINT64_MAX ? -1 : due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
}

static void turn_once(int init)
{
	static struct pollfd entries[SLOT_CONNECTIONS + 2 * CONNECTIONS_MAX];
	uint64_t now_ms = clock_now_us() / 1000;
	const uint32_t count = connection_count;

	entries[SLOT_FRONTEND] = (struct pollfd){ .fd = frontend.fd, .events = POLLIN };
	entries[SLOT_OPENER] = (struct pollfd){ .fd = opener.fd, .events = POLLIN };
	entries[SLOT_SANDBOX] = (struct pollfd){ .fd = init, .events = POLLIN };
	entries[SLOT_PORT] =
		(struct pollfd){ .fd = paused_ms > now_ms ? -1 : BRIDGE_FD_PORT, .events = POLLIN };
	for (uint32_t i = 0; i < count; i++)
		connection_poll(connections[i], &entries[SLOT_CONNECTIONS + 2 * i]);
	if (poll(entries, SLOT_CONNECTIONS + 2 * count, wait_ms(now_ms)) < 0)
		return; /* EINTR; the next turn sees the same */
	now_ms = clock_now_us() / 1000;
	if (entries[SLOT_SANDBOX].revents)
		end_bridge(BRIDGE_END_SANDBOX);
	if (entries[SLOT_FRONTEND].revents) /* it says nothing more: it has gone */
		end_bridge(BRIDGE_END_FRONTEND);
	/* It says nothing more, or has gone with all ends of its channel. */
	if (entries[SLOT_OPENER].revents)
		end_bridge(entries[SLOT_OPENER].revents & POLLHUP ? BRIDGE_END_SUPERVISOR
								  : BRIDGE_END_CLOSED);
	for (uint32_t i = count; i-- > 0;) { /* the last one takes the place of one that ends */
		const struct pollfd *own = &entries[SLOT_CONNECTIONS + 2 * i];

		if (own[0].revents || own[1].revents || connections[i]->due_ms <= now_ms)
			connection_turn(connections[i], &bridge, own, now_ms);
		if (connections[i]->state == CONNECTION_OVER)
			end_connection(i);
	}
	if (entries[SLOT_PORT].revents)
		take_connections(now_ms);
}

static void limit_connections(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * (rlim_t)FDS_OWN)
		log_fatal(MSP_EXIT_REFUSED, "the limit for open files is too low: raise it "
					    "(ulimit -n)");
	connections_most = (uint32_t)(limit.rlim_cur - FDS_OWN) / 2;
	if (limit.rlim_cur > FDS_OWN + 2 * CONNECTIONS_MAX)
		connections_most = CONNECTIONS_MAX;
}

int main(void)
{
	struct ipc_bridge_ready ready = { .step = BRIDGE_STEP_NONE };
	int error;
	int init;

	steward_begin("msp-bridge", "sa");
	fd_raise_limit();
	limit_connections();
	steward_hear_start(&frontend, IPC_TYPE_bridge_begin, &message);
	begin_bridge();
	init = enter_sandbox();
	confine_bridge();
	error = try_server();
	if (error)
		end_early(BRIDGE_STEP_CONNECT, error);
	if (listen(BRIDGE_FD_PORT, (int)CONNECTIONS_MAX) != 0)
		end_early(BRIDGE_STEP_LISTEN, -errno);
	tell_frontend(IPC_TYPE_bridge_ready, &ready);
	for (;;)
		turn_once(init);
}
