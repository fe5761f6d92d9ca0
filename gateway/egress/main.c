/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-egress reads what workloads send: questions for names (dns.c), and the first bytes of
 * connections (hello.c); the rest it relays unread (relay/). msp-cable starts it in a network
 * namespace with nothing in it, with a channel to itself and one to msp-dial, and hands it the
 * listeners of each sandbox's cable, which become a gate (gate.c).
 *
 * It decides nothing: msp-dial answers whether a name has an address, and hands it a connected
 * socket or none (sandboxes.c). It has no file, no network and no system call that makes a socket;
 * whoever takes it over can ask msp-dial for what the sandboxes may have anyway.
 *
 * A connection to a host whose requests are read goes to a server of msp-http with both its
 * sockets, before a byte of it is read (readers.c).
 *
 * It ends with msp-cable and with msp-dial. Then all listeners are closed, cables go with them, and
 * all connections are reset.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "gateway/egress/readers.h"
#include "gateway/egress/sandboxes.h"
#include "seccomp_filter.h"
#include "stewards/base/counters.h"
#include "stewards/base/peer.h"
#include "stewards/base/steward.h"

/* Descriptors of the program itself, and of a message in the hand. */
#define FDS_OWN 16U
#define FDS_MAX (1U << 20)

#define EVENTS_MAX 64
#define TICK_MS 1000
#define DATA_CABLE SANDBOXES_DATA_END
#define DATA_DIAL (SANDBOXES_DATA_END + 1)
#define DATA_SERVERS (SANDBOXES_DATA_END + 2)

static struct channel cable = { GATEWAY_FD_CHANNEL, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SETUP };
static const struct channel dial = { GATEWAY_FD_PEER, IPC_EGRESS, IPC_DIAL, IPC_SERVE };
static struct outbox to_cable = { .channel = &cable }, to_dial = { .channel = &dial };
static struct channel_message message;
static int waiting;
static uint64_t now_ms;
static const char no_peer[] = "a peer cannot be asked";

DISPATCH_CALL(handle_port,
	      sandboxes_take_port(ipc_body(from, egress_port), channel_take_fd(from, 0)))
DISPATCH_CALL(handle_begin,
	      sandboxes_begin_one(ipc_body(from, egress_begin), channel_take_fd(from, 0), now_ms))
DISPATCH_CALL(handle_http,
	      readers_take(ipc_body(from, egress_http)->server, channel_take_fd(from, 0)))
DISPATCH_CALL(handle_cut, sandboxes_cut(ipc_body(from, egress_cut)))
DISPATCH_CALL(handle_look, sandboxes_look(ipc_body(from, egress_look)))
DISPATCH_CALL(handle_end, sandboxes_end_one(ipc_slot(from)))
DISPATCH_CALL(handle_dialed, sandboxes_dialed(ipc_body(from, dial_done), channel_take_fd(from, 0)))
DISPATCH_CALL(handle_done, sandboxes_answered(ipc_body(from, ask_done)))

static const dispatch_handler from_cable[IPC_TYPE_COUNT] = {
	[IPC_TYPE_egress_port] = handle_port, [IPC_TYPE_egress_begin] = handle_begin,
	[IPC_TYPE_cable_end] = handle_end,    [IPC_TYPE_egress_http] = handle_http,
	[IPC_TYPE_egress_cut] = handle_cut,   [IPC_TYPE_egress_look] = handle_look,
};

static const dispatch_handler from_dial[IPC_TYPE_COUNT] = {
	[IPC_TYPE_dial_done] = handle_dialed,
	[IPC_TYPE_ask_done] = handle_done,
};

/* Wait for a peer's messages, and for room if some wait for it. `watched`: the events so far. */
static void watch_peer(uint32_t *watched, const struct outbox *outbox, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	if (outbox->count > 0)
		event.events |= EPOLLOUT;
	if (event.events != *watched && epoll_ctl(waiting, *watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
						  outbox->channel->fd, &event) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	*watched = event.events;
}

static void watch_peers(void)
{
	static uint32_t of_cable, of_dial;

	watch_peer(&of_cable, &to_cable, DATA_CABLE);
	watch_peer(&of_dial, &to_dial, DATA_DIAL);
}

static void turn_once(void)
{
	struct epoll_event events[EVENTS_MAX];
	static uint64_t ticked_ms;
	const int count =
		epoll_wait(waiting, events, EVENTS_MAX, sandboxes_are_busy() ? TICK_MS : -1);

	if (count < 0 && errno != EINTR)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	now_ms = clock_now_us() / 1000;
	for (int i = 0; i < count; i++) {
		const uint64_t data = events[i].data.u64;

		if (data == DATA_CABLE)
			(void)peer_turn(&cable, &message, from_cable, "msp-cable");
		else if (data == DATA_DIAL)
			(void)peer_turn(&dial, &message, from_dial, "msp-dial");
		else if (data >= DATA_SERVERS)
			peer_require(readers_turn((uint32_t)(data - DATA_SERVERS)), no_peer);
		else
			sandboxes_turn(data, now_ms);
	}
	if (now_ms - ticked_ms >= TICK_MS) {
		sandboxes_tick(now_ms);
		ticked_ms = now_ms;
	}
	peer_require(outbox_flush(&to_cable), no_peer);
	peer_require(outbox_flush(&to_dial), no_peer);
	peer_require(sandboxes_failure(), no_peer);
	watch_peers();
}

/* Return how many descriptors the gates may have. */
static uint32_t fds_of_gates(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * (rlim_t)FDS_OWN)
		log_fatal(MSP_EXIT_REFUSED, "the limit for open files is too low: raise it "
					    "(ulimit -n)");
	return (limit.rlim_cur < FDS_MAX ? (uint32_t)limit.rlim_cur : FDS_MAX) - FDS_OWN;
}

int main(void)
{
	uint32_t fds;

	steward_begin("msp-egress", "ssf");
	fd_raise_limit();
	counters_open(GATEWAY_FD_COUNTERS);
	fds = fds_of_gates();
	steward_confine(0, seccomp_filter, sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
	steward_hear_start(&cable, IPC_TYPE_gateway_start, &message);
	waiting = epoll_create1(EPOLL_CLOEXEC);
	if (waiting < 0)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	sandboxes_begin(&to_cable, &to_dial, waiting, fds);
	readers_begin(&to_cable, waiting, DATA_SERVERS);
	watch_peers();
	for (;;)
		turn_once();
}
