/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-dial resolves names and connects to hosts, for sandboxes whose profiles have them. msp-cable
 * starts it in the network of the host, with channels to itself, to msp-egress and to a msp-audit,
 * and tells it the sandboxes that there are. It sees no byte of a workload: msp-egress asks in
 * messages of fixed size (asks.c), and gets a connected socket or a refusal.
 *
 * It decides from the plan. A connection is recorded before anything is sent for it; then the name
 * is resolved (lookup.c), and each address judged by its kind (choose.c) and by the kernel's routes
 * (routes.c), just before it is dialled on a socket of its own (attempt.c).
 * Where the profile has a proxy, that is dialled and asked to connect (proxy.c).
 *
 * It has the host's network and no file: a process of its own reads resolv.conf (servers.c). It
 * ends with msp-cable and with msp-egress.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/log.h"
#include "gateway/dial/asks.h"
#include "gateway/dial/lookup.h"
#include "gateway/dial/routes.h"
#include "gateway/dial/sandboxes.h"
#include "gateway/dial/servers.h"
#include "seccomp_filter.h"
#include "stewards/base/counters.h"
#include "stewards/base/peer.h"
#include "stewards/base/steward.h"

#define RANDOM_PATH "/dev/urandom"

static struct channel cable = { GATEWAY_FD_CHANNEL, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SETUP };
static const struct channel egress = { GATEWAY_FD_PEER, IPC_DIAL, IPC_EGRESS, IPC_SERVE };
static const struct channel audit = { GATEWAY_FD_RECORDS, IPC_SUPERVISOR, IPC_AUDIT, IPC_SERVE };
static struct outbox to_cable = { .channel = &cable }, to_egress = { .channel = &egress },
		     to_audit = { .channel = &audit };
static struct channel_message message;
static uint64_t now_ms;
static const char no_peer[] = "a peer cannot be answered";

/* c-ares draws the numbers of its questions from a file, and weak ones without it. */
static void confine_dial(void)
{
	struct kernel_landlock_ruleset attr;
	const int ruleset = confine_ruleset(LANDLOCK_ACCESS_NET_BIND_TCP, &attr);
	int random FD_OWNED = open(RANDOM_PATH, O_PATH | O_CLOEXEC);

	confine_require(
		random < 0 ? -errno
			   : landlock_allow(ruleset, &attr, random, LANDLOCK_ACCESS_FS_READ_FILE),
		"allowing " RANDOM_PATH " in Landlock");
	confine_enter(ruleset);
	CONFINE_FILTER(seccomp_filter);
}

DISPATCH_CALL(handle_policy,
	      sandboxes_take_plan(ipc_body(from, gateway_policy)->slot, from->fds[0]))
DISPATCH_CALL(handle_forget, sandboxes_forget_plan(ipc_body(from, gateway_forget)->slot))
DISPATCH_CALL(handle_begin, sandboxes_begin(ipc_body(from, dial_begin)))
DISPATCH_CALL(handle_tighten, sandboxes_tighten(ipc_body(from, dial_tighten)))

static int handle_end(void *context, struct channel_message *from)
{
	const int error = sandboxes_end(ipc_slot(from));

	return error ? error : asks_end_sandbox(ipc_slot(from));
}

DISPATCH_CALL(handle_told, asks_told(ipc_body(from, host_told), now_ms))
DISPATCH_CALL(handle_written, asks_recorded(ipc_body(from, audit_written), now_ms))
DISPATCH_CALL(handle_name, asks_take_name(ipc_body(from, name_ask), now_ms))
DISPATCH_CALL(handle_dial, asks_take_dial(ipc_body(from, dial_ask), now_ms))

static const dispatch_handler from_cable[IPC_TYPE_COUNT] = {
	[IPC_TYPE_gateway_policy] = handle_policy, [IPC_TYPE_gateway_forget] = handle_forget,
	[IPC_TYPE_dial_begin] = handle_begin,      [IPC_TYPE_dial_tighten] = handle_tighten,
	[IPC_TYPE_cable_end] = handle_end,         [IPC_TYPE_host_told] = handle_told,
};

static const dispatch_handler from_audit[IPC_TYPE_COUNT] = {
	[IPC_TYPE_audit_written] = handle_written,
};

static const dispatch_handler from_egress[IPC_TYPE_COUNT] = {
	[IPC_TYPE_name_ask] = handle_name,
	[IPC_TYPE_dial_ask] = handle_dial,
};

/* Wait for a peer's messages, and for room if some wait for it. */
static struct pollfd poll_of(const struct outbox *outbox)
{
	const short room = outbox->count > 0 ? POLLOUT : 0;

	return (struct pollfd){ .fd = outbox->channel->fd, .events = (short)(POLLIN | room) };
}

static void turn_once(void)
{
	static struct pollfd polled[3 + RESOLVE_SOCKETS_MAX + ASKS_MAX];
	uint32_t lookups, asks;
	int timeout_ms = INT_MAX;

	polled[0] = poll_of(&to_cable);
	polled[1] = poll_of(&to_egress);
	polled[2] = poll_of(&to_audit);
	lookups = lookup_wants(polled + 3, &timeout_ms);
	asks = asks_wants(polled + 3 + lookups, now_ms, &timeout_ms);
	if (poll(polled, 3 + lookups + asks, timeout_ms == INT_MAX ? -1 : timeout_ms) < 0 &&
	    errno != EINTR)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	now_ms = clock_now_us() / 1000;
	/* First, while no descriptor that was waited for can be another one. */
	peer_require(asks_handle(polled + 3 + lookups, asks, now_ms), no_peer);
	lookup_handle(polled + 3, lookups, now_ms);
	peer_require(outbox_flush(&to_cable), no_peer);
	peer_require(outbox_flush(&to_egress), no_peer);
	peer_require(outbox_flush(&to_audit), no_peer);
	/* All that msp-cable has said before a question: the end of its sandbox, and a cut. */
	if (peer_turn(&cable, &message, from_cable, "msp-cable") && polled[1].revents)
		(void)peer_turn(&egress, &message, from_egress, "msp-egress");
	if (polled[2].revents)
		(void)peer_turn(&audit, &message, from_audit, "msp-audit");
}

int main(void)
{
	steward_begin("msp-dial", "ssfs");
	fd_raise_limit();
	counters_open(GATEWAY_FD_COUNTERS);
	confine_rights();
	servers_start();
	(void)atexit(servers_end);
	confine_require(routes_open(), "opening the socket for routes");
	steward_hear_start(&cable, IPC_TYPE_gateway_start, &message);
	asks_begin(&to_cable, &to_egress, &to_audit);
	confine_dial();
	now_ms = clock_now_us() / 1000;
	for (;;)
		turn_once();
}
