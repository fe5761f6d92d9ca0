/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/hub.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cable/cable.h"
#include "common/dispatch.h"
#include "common/fd.h"
#include "common/ipc_gateway.h"
#include "common/plan.h"

static struct hub *hub;
static struct plan plans[GENERATIONS_MAX];
static int home = -1; /* the own network namespace, once the first sandbox has come */

/* The cables that there are. */
static struct {
	bool is_made;
	uint32_t use;
} cables[GATEWAY_SLOTS];

/* To the supervisor and from it. The two programs never wait for us, so that waiting for them ends.
 */
static int send_on(const struct channel *to, const struct channel_message *message, const int *fds)
{
	return channel_send(to, message->type, message->body, fds, 0);
}

/* A program that is not started yet has nothing to hear of. */
static int send_both(const struct channel_message *message)
{
	const int error = send_on(&hub->dial, message, message->fds);

	return error || home < 0 ? error : send_on(&hub->egress, message, message->fds);
}

static int handle_policy(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_body(message, gateway_policy)->slot;
	int error;

	if (slot >= GENERATIONS_MAX || plans[slot].bytes)
		return -EPROTO;
	error = plan_open_fd(message->fds[0], &plans[slot]);
	return error ? error : send_on(&hub->dial, message, message->fds);
}

static int handle_forget(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_body(message, gateway_forget)->slot;

	if (slot >= GENERATIONS_MAX || !plans[slot].bytes)
		return -EPROTO;
	plan_close(&plans[slot]);
	plans[slot] = (struct plan){ .bytes = NULL };
	return send_on(&hub->dial, message, NULL);
}

static bool is_routing_socket(int fd)
{
	int domain = 0, protocol = -1;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_NETLINK &&
	       getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
	       protocol == NETLINK_ROUTE;
}

/* Collect each port of the hosts once. False: there are more than a cable has. */
static bool collect_ports(const struct plan *plan, const struct plan_profile *profile,
			  uint16_t ports[CABLE_PORTS_MAX], uint32_t *ret_count)
{
	const void *first = plan_bytes(plan, profile->hosts);
	const struct plan_host *hosts = first;
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->host_count; i++) {
		uint32_t at = 0;

		while (at < count && ports[at] != hosts[i].port)
			at++;
		if (at == CABLE_PORTS_MAX)
			return false;
		ports[at] = hosts[i].port;
		count = at < count ? count : at + 1;
	}
	*ret_count = count;
	return true;
}

static int make_cable(const struct ipc_cable_make *make, int sandbox, struct cable *ret,
		      uint32_t *ret_step)
{
	const struct plan *plan = &plans[make->generation % GENERATIONS_MAX];
	uint16_t ports[CABLE_PORTS_MAX];
	uint32_t count;
	int error;

	*ret_step = CABLE_STEP_POLICY;
	if (make->generation >= GENERATIONS_MAX || !plan->bytes ||
	    make->profile >= plan_profile_count(plan) ||
	    !collect_ports(plan, plan_profile(plan, make->profile), ports, &count))
		return -EINVAL;
	*ret_step = CABLE_STEP_SOCKET;
	if (!is_routing_socket(sandbox))
		return -ENOTSOCK;
	if (home < 0) {
		error = event_hub_first(hub, sandbox, &home, ret_step);
		if (error)
			return error;
	}
	return cable_make(home, sandbox, ports, count, ret, ret_step);
}

/* msp-dial knows the sandbox before msp-egress can ask for it. */
static int announce_cable(const struct ipc_cable_make *make, const struct cable *cable)
{
	const struct ipc_dial_begin dial = { make->slot, make->use, make->generation,
					     make->profile };
	const struct ipc_egress_port port = { make->slot };
	const struct ipc_egress_begin begin = { make->slot, make->use, cable->count };
	int error = channel_send(&hub->dial, IPC_TYPE_dial_begin, &dial, NULL, 0);

	for (uint32_t i = 0; i < cable->count && !error; i++)
		error = channel_send(&hub->egress, IPC_TYPE_egress_port, &port, &cable->ports[i],
				     0);
	return error ? error
		     : channel_send(&hub->egress, IPC_TYPE_egress_begin, &begin, &cable->dns, 0);
}

static int handle_make(void *context, struct channel_message *message)
{
	const struct ipc_cable_make *make = ipc_body(message, cable_make);
	struct ipc_cable_made made = { .slot = make->slot, .use = make->use };
	struct cable cable = { .dns = -1 };
	int error;

	if (make->slot >= GATEWAY_SLOTS || cables[make->slot].is_made)
		return -EPROTO;
	error = make_cable(make, message->fds[1], &cable, &made.step);
	made.error = (uint32_t)-error;
	if (!error) {
		made.step = CABLE_STEP_NONE;
		cables[make->slot].is_made = true;
		cables[make->slot].use = make->use;
		error = announce_cable(make, &cable);
		cable_close(&cable); /* msp-egress has the listeners */
		if (error)
			return error;
		/* An init that has ended waits for nothing. */
		(void)!write(message->fds[0], "", 1);
	}
	return channel_send(&hub->supervisor, IPC_TYPE_cable_made, &made, NULL, 0);
}

static int handle_end(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_slot(message);

	if (slot >= GATEWAY_SLOTS)
		return -EPROTO;
	if (!cables[slot].is_made) /* the supervisor had not heard that it could not be made */
		return 0;
	cables[slot].is_made = false;
	return send_both(message);
}

static int handle_begun(void *context, struct channel_message *message)
{
	return send_on(&hub->dial, message, NULL);
}

/* A sandbox that has ended, or never was, has no connections. */
static int handle_connection_begin(void *context, struct channel_message *message)
{
	const struct ipc_connection_begin *begin = ipc_body(message, connection_begin);
	const struct ipc_connection_begun refused = { begin->number, ECANCELED };

	if (begin->slot >= GATEWAY_SLOTS)
		return -EPROTO;
	if (!cables[begin->slot].is_made || cables[begin->slot].use != begin->use)
		return channel_send(&hub->dial, IPC_TYPE_connection_begun, &refused, NULL, 0);
	return send_on(&hub->supervisor, message, NULL);
}

/* Pass on what needs no look. */
static int handle_report(void *context, struct channel_message *message)
{
	return send_on(&hub->supervisor, message, NULL);
}

static const dispatch_handler from_supervisor[IPC_TYPE_COUNT] = {
	[IPC_TYPE_gateway_policy] = handle_policy,  [IPC_TYPE_gateway_forget] = handle_forget,
	[IPC_TYPE_cable_make] = handle_make,        [IPC_TYPE_cable_end] = handle_end,
	[IPC_TYPE_connection_begun] = handle_begun,
};

static const dispatch_handler from_egress[IPC_TYPE_COUNT] = {
	[IPC_TYPE_connection_end] = handle_report,
	[IPC_TYPE_connection_refused] = handle_report,
};

static const dispatch_handler from_dial[IPC_TYPE_COUNT] = {
	[IPC_TYPE_connection_begin] = handle_connection_begin,
	[IPC_TYPE_connection_end] = handle_report,
	[IPC_TYPE_connection_refused] = handle_report,
};

/* Each has messages that nobody reads beside the next one: one message, then the others' turn. */
static int turn_peer(const struct channel *peer, const dispatch_handler *handlers)
{
	static struct channel_message message;
	enum ipc_error wrong;
	const int status = dispatch_one(peer, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	return status == 1 || status == -EAGAIN ? 0 : status == 0 ? -EPIPE : status;
}

int hub_run(struct hub *own, const char **ret_peer)
{
	static const char *const names[] = { "the supervisor", "msp-dial", "msp-egress" };
	static const dispatch_handler *const handlers[] = { from_supervisor, from_dial,
							    from_egress };
	const struct channel *const peers[] = { &own->supervisor, &own->dial, &own->egress };
	struct pollfd polls[3];
	int error = 0;

	hub = own;
	while (!error) {
		for (int i = 0; i < 3; i++) /* msp-egress's end is ours until it is started */
			polls[i] = (struct pollfd){ .fd = peers[i]->fd, .events = POLLIN };
		if (poll(polls, home < 0 ? 2 : 3, -1) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < (home < 0 ? 2 : 3) && !error; i++) {
			*ret_peer = names[i];
			if (polls[i].revents)
				error = turn_peer(peers[i], handlers[i]);
		}
	}
	return error == -EPIPE && *ret_peer == names[0] ? 0 : error;
}
