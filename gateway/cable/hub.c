/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/hub.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_gateway.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "gateway/cable/cables.h"
#include "gateway/cable/cuts.h"
#include "gateway/cable/grants.h"
#include "gateway/cable/permits.h"
#include "gateway/cable/questions.h"
#include "gateway/cable/records.h"
#include "gateway/cable/servers.h"
#include "gateway/cable/tallies.h"
#include "gateway/cable/user.h"
#include "gateway/cable/watches.h"
#include "gateway/hosts/list.h"

/* Denials of one cable that are recorded: a workload can make any number. */
#define DENIALS_MAX 64

/* Messages to msp-egress and msp-dial are sent with a wait: these never wait for us. */
static struct hub *hub;

/* The plans of cables, by the slots under which msp-dial keeps them. */
static struct {
	struct plan plan; /* bytes NULL: the slot is free */
	ino_t inode;      /* the memory file's, which lives as long as the plan is mapped */
	uint32_t cables;
} plans[GENERATIONS_MAX];

/* Forget the plan of a slot: no cable is of it. */
static int forget_plan(uint32_t slot)
{
	const struct ipc_gateway_forget forget = { slot };

	plan_close(&plans[slot].plan);
	return channel_send(&hub->dial, IPC_TYPE_gateway_forget, &forget, NULL, 0);
}

static int keep_plan(uint32_t slot, int fd, ino_t inode)
{
	const struct ipc_gateway_policy policy = { slot };
	const int error = plan_open_fd(fd, &plans[slot].plan);

	plans[slot].inode = inode;
	return error ? error : channel_send(&hub->dial, IPC_TYPE_gateway_policy, &policy, &fd, 0);
}

/* Find the slot of a plan, which msp-dial has then. A supervisor has fewer than there are slots, so
 * that one without cables makes room. */
static int find_plan(int fd, uint32_t *ret_slot)
{
	struct stat is;
	uint32_t slot = 0, room = GENERATIONS_MAX;
	int error = fstat(fd, &is) == 0 ? 0 : -errno;

	for (; slot < GENERATIONS_MAX && !error; slot++) {
		if (plans[slot].plan.bytes && plans[slot].inode == is.st_ino)
			break;
		if (!plans[slot].plan.bytes ||
		    (plans[slot].cables == 0 &&
		     (room == GENERATIONS_MAX || plans[room].plan.bytes)))
			room = slot;
	}
	*ret_slot = slot < GENERATIONS_MAX ? slot : room;
	if (error || slot < GENERATIONS_MAX)
		return error;
	if (room == GENERATIONS_MAX)
		return -EUSERS;
	if (plans[room].plan.bytes)
		error = forget_plan(room);
	return error ? error : keep_plan(room, fd, is.st_ino);
}

static bool is_routing_socket(int fd)
{
	int domain = 0, protocol = -1;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_NETLINK &&
	       getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
	       protocol == NETLINK_ROUTE;
}

/* Begin the server that reads the requests of the profile's sandboxes, if there are such hosts. */
static int find_reader(const struct plan *plan, const struct plan_profile *profile, ino_t inode,
		       uint32_t index, uint32_t *ret_server)
{
	const struct plan_host *hosts = plan_hosts(plan, profile);

	*ret_server = HTTP_SERVERS_MAX;
	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (hosts[i].kind >= PLAN_HOST_HTTP)
			return servers_begin(hub, inode, index, ret_server);
	}
	return 0;
}

/* Collect each port of the hosts once. False: there are more than a cable has. */
static bool collect_ports(const struct plan *plan, const struct plan_profile *profile,
			  uint16_t ports[CABLE_PORTS_MAX], uint32_t *ret_count)
{
	const struct plan_host *hosts = plan_hosts(plan, profile);
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

static int make_cable(const struct ipc_cable_make *make, const int fds[3], struct cable *ret,
		      uint32_t *ret_slot, uint32_t *ret_server, uint32_t *ret_step)
{
	struct cabled *made = &cables[make->slot];
	const struct plan_profile *profile;
	int error;

	*ret_step = CABLE_STEP_POLICY;
	error = find_plan(fds[2], ret_slot);
	if (error)
		return error;
	if (make->profile >= plan_profile_count(&plans[*ret_slot].plan))
		return -EINVAL;
	profile = plan_profile(&plans[*ret_slot].plan, make->profile);
	if (profile->network != PLAN_NETWORK_HOSTS ||
	    !collect_ports(&plans[*ret_slot].plan, profile, made->ports, &made->port_count))
		return -EINVAL;
	*ret_step = CABLE_STEP_SOCKET;
	if (!is_routing_socket(fds[1]))
		return -ENOTSOCK;
	if (hub->home < 0) {
		error = event_hub_first(hub, fds[1], &hub->home, ret_step);
		if (error)
			return error;
	}
	*ret_step = CABLE_STEP_READER;
	error = find_reader(&plans[*ret_slot].plan, profile, plans[*ret_slot].inode, make->profile,
			    ret_server);
	if (error)
		return error;
	made->policy = &plans[*ret_slot].plan;
	made->profile = profile;
	return cable_make(hub->home, fds[1], made->ports, made->port_count, ret, ret_step);
}

/* msp-dial knows the sandbox before msp-egress can ask for it, and that hosts are taken away. */
static int announce_cable(const struct ipc_cable_make *make, uint32_t plan, uint32_t server,
			  const struct cable *cable, bool has_cuts)
{
	const struct ipc_dial_tighten tighten = { make->slot, make->use };
	struct ipc_dial_begin dial = { make->slot, make->use, plan, make->profile, "" };
	const struct ipc_egress_port port = { make->slot, 0 };
	const struct plan_profile *profile = plan_profile(&plans[plan].plan, make->profile);
	const struct ipc_egress_begin begin = { make->slot, make->use, cable->count, server,
						profile->network_limits };
	int error;

	memcpy(dial.sandbox, make->sandbox, sizeof(dial.sandbox));
	error = channel_send(&hub->dial, IPC_TYPE_dial_begin, &dial, NULL, 0);
	if (!error && has_cuts)
		error = channel_send(&hub->dial, IPC_TYPE_dial_tighten, &tighten, NULL, 0);
	for (uint32_t i = 0; i < cable->count && !error; i++)
		error = channel_send(&hub->egress, IPC_TYPE_egress_port, &port, &cable->ports[i],
				     0);
	return error ? error
		     : channel_send(&hub->egress, IPC_TYPE_egress_begin, &begin, &cable->dns, 0);
}

static const char *const steps[CABLE_STEP_COUNT] = {
	[CABLE_STEP_POLICY] = "reading its hosts",
	[CABLE_STEP_READER] = "beginning the reader of its requests",
	[CABLE_STEP_CUTS] = "taking hosts away",
	[CABLE_STEP_SOCKET] = "looking at its socket",
	[CABLE_STEP_ENTER] = "entering the user namespace",
	[CABLE_STEP_NAMESPACE] = "making a network namespace",
	[CABLE_STEP_LISTEN] = "opening listeners",
	[CABLE_STEP_PAIR] = "making a veth pair",
	[CABLE_STEP_GATEWAY] = "setting up the gateway's end",
	[CABLE_STEP_SANDBOX] = "setting up eth0",
	[CABLE_STEP_CARRIER] = "waiting for the carrier",
	[CABLE_STEP_RETURN] = "returning to the own namespace",
};

/* Keep a way to the gateway's namespace, for the ports of hosts that are granted later, and open
 * those of the client whose execution begins in it. */
static int keep_network(struct cabled *made, const struct cable *cable)
{
	made->network = -1;
	if (made->profile->host_approval == PLAN_HOST_APPROVAL_NEVER)
		return 0;
	made->network = user_network(cable->dns);
	if (made->network < 0)
		return made->network;
	permits_open(hub, made);
	return 0;
}

/* The file of the next cable in the slot. */
static int handle_cuts(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_body(message, cable_cuts)->slot;

	if (slot >= GATEWAY_SLOTS || cables[slot].is_made || cables[slot].is_lasting)
		return -EPROTO;
	cables[slot].is_lasting = true;
	cables[slot].cuts = channel_take_fd(message, 0);
	return 0;
}

/* Forget what is known of the hosts of a sandbox; the file stays. */
static void drop_hosts(uint32_t slot)
{
	if (cables[slot].is_lasting)
		fd_close(&cables[slot].cuts);
	cables[slot].is_lasting = false;
	grants_end(slot);
}

/* After a failure, the closed pipe tells the init. */
static int handle_make(void *context, struct channel_message *message)
{
	const struct ipc_cable_make *make = ipc_body(message, cable_make);
	struct cabled *made = &cables[make->slot % GATEWAY_SLOTS];
	struct cable cable = { .dns = -1 };
	uint32_t step = CABLE_STEP_CUTS, plan = 0, server = 0;
	int has_cuts, error;

	if (make->slot >= GATEWAY_SLOTS || made->is_made ||
	    made->is_lasting != (make->sandbox[0] != '\0'))
		return -EPROTO;
	made->party.slot = make->slot;
	made->party.use = make->use;
	memcpy(made->sandbox, make->sandbox, IPC_ID_MAX);
	has_cuts = made->is_lasting ? cuts_load(made) : 0;
	error = has_cuts < 0 ? has_cuts
			     : make_cable(make, message->fds, &cable, &plan, &server, &step);
	if (error) {
		log_line("the network of a sandbox cannot be made: %s: %s",
			 steps[step % CABLE_STEP_COUNT], errno_text(-error));
		drop_hosts(make->slot);
		return 0;
	}
	made->is_made = true;
	made->plan = plan;
	made->denials = 0;
	plans[plan].cables++;
	error = announce_cable(make, plan, server, &cable, has_cuts > 0);
	if (!error)
		error = keep_network(made, &cable);
	cable_close(&cable); /* msp-egress has the listeners */
	if (!error)
		(void)!write(message->fds[0], "", 1); /* an init that has ended waits for nothing */
	return error;
}

static int handle_end(void *context, struct channel_message *message)
{
	const struct ipc_cable_end end = *ipc_body(message, cable_end);
	const uint32_t slot = end.slot;
	int error;

	if (slot >= GATEWAY_SLOTS)
		return -EPROTO;
	if (!cables[slot].is_made) /* it could not be made, or has ended */
		return 0;
	cables[slot].is_made = false;
	plans[cables[slot].plan].cables--;
	fd_close(&cables[slot].network);
	cables[slot].party.frontend = 0;
	drop_hosts(slot);
	questions_end(slot);
	tallies_end(slot);
	error = channel_send(&hub->dial, IPC_TYPE_cable_end, &end, NULL, 0);
	return error ? error : channel_send(&hub->egress, IPC_TYPE_cable_end, &end, NULL, 0);
}

void event_watch_look(const struct party *of, uint32_t look)
{
	const struct ipc_egress_look question = { look, of->slot, of->use };

	/* Its end is seen in the next turn. */
	(void)channel_send(&hub->egress, IPC_TYPE_egress_look, &question, NULL, 0);
}

/* People and models read the texts of hosts, so a program that was taken over may say no other
 * ones.
 */
static int handle_connection_open(void *context, struct channel_message *message)
{
	const struct ipc_connection_open *open = ipc_body(message, connection_open);

	if (open->number > 0 && (!host_is_written(open->host) || open->port > UINT16_MAX))
		return -EPROTO;
	watches_show(open);
	return 0;
}

static int handle_connection_end(void *context, struct channel_message *message)
{
	const struct ipc_connection_end *end = ipc_body(message, connection_end);
	struct host_address address;

	if (end->slot >= GATEWAY_SLOTS || end->reason >= CONNECTION_END_COUNT ||
	    (end->address[0] && !host_address_read(end->address, &address)))
		return -EPROTO;
	/* It may come after the sandbox's own end. */
	records_end(end, cables[end->slot].party.use == end->use ? cables[end->slot].sandbox : "");
	return 0;
}

static int handle_connection_refused(void *context, struct channel_message *message)
{
	const struct ipc_connection_refused *refused = ipc_body(message, connection_refused);
	struct cabled *sandbox = cables_find(refused->slot, refused->use);

	if (!host_is_written(refused->host) || refused->port > UINT16_MAX ||
	    refused->reason >= CONNECTION_REFUSED_COUNT)
		return -EPROTO;
	if (!sandbox)
		return 0;
	tallies_count(refused, sandbox->sandbox[0] == '\0');
	if (refused->reason < CONNECTION_UNKNOWN && sandbox->denials++ < DENIALS_MAX)
		records_refused(refused, sandbox->sandbox);
	return 0;
}

static int handle_host_ask(void *context, struct channel_message *message)
{
	const struct ipc_host_ask *ask = ipc_body(message, host_ask);

	return host_is_written(ask->host) && ask->port <= UINT16_MAX ? permits_ask(ask) : -EPROTO;
}

/* A frontend that asks for something. */
struct asker {
	struct channel channel;
	struct party of;
	bool is_broker;
};

static int handle_grant(void *context, struct channel_message *message)
{
	const struct asker *asker = context;
	struct ipc_network_granted granted;

	granted.error = (uint32_t)-permits_take(hub, &asker->of, asker->is_broker,
						ipc_body(message, network_grant));
	/* It may have gone. */
	(void)channel_send(&asker->channel, IPC_TYPE_network_granted, &granted, NULL, MSG_DONTWAIT);
	return 0;
}

static const dispatch_handler from_frontend[IPC_TYPE_COUNT] = {
	[IPC_TYPE_network_grant] = handle_grant,
};

/* The closed channel says that the sandbox has no cable, or that all is said. */
static int handle_watch(void *context, struct channel_message *message)
{
	static struct channel_message asked; /* too large for the stack; one thread */
	const struct ipc_cable_watch *watch = ipc_body(message, cable_watch);
	struct asker asker = { { message->fds[0], IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE },
			       { watch->slot, 0, watch->frontend, "" },
			       watch->is_broker != 0 };
	enum ipc_error wrong;

	if (watch->slot > GATEWAY_SLOTS)
		return -EPROTO;
	if (watch->request != 0) {
		tallies_tell(watch->frontend, watch->request, &asker.channel);
		return 0;
	}
	if (watch->slot < GATEWAY_SLOTS && !cables[watch->slot].is_made)
		return 0;
	asker.of.use = watch->slot < GATEWAY_SLOTS ? cables[watch->slot].party.use : 0;
	memcpy(asker.of.owner, watch->owner, IPC_NAME_MAX);
	if (dispatch_one(&asker.channel, &asked, MSG_DONTWAIT, from_frontend, &asker, &wrong) !=
	    -EAGAIN)
		return 0;
	if (watch->slot < GATEWAY_SLOTS)
		watches_look(&asker.of, channel_take_fd(message, 0));
	else if (!asker.is_broker)
		watches_question(&asker.channel);
	return 0;
}

static int handle_execution(void *context, struct channel_message *message)
{
	const struct ipc_cable_execution *execution = ipc_body(message, cable_execution);

	if (execution->slot >= GATEWAY_SLOTS || execution->place >= EXECUTIONS_MAX)
		return -EPROTO;
	if (execution->is_over) {
		tallies_keep(execution);
		return 0;
	}
	tallies_begin(execution);
	cables[execution->slot].party.frontend = execution->frontend;
	memcpy(cables[execution->slot].party.owner, execution->owner, IPC_NAME_MAX);
	permits_open(hub, &cables[execution->slot]);
	return 0;
}

static int handle_http(void *context, struct channel_message *message)
{
	int fds[SERVER_FDS];

	for (uint32_t i = 0; i < SERVER_FDS; i++)
		fds[i] = channel_take_fd(message, i);
	return servers_offer(hub, ipc_body(message, gateway_http)->profile, fds);
}

static const dispatch_handler from_launcher[IPC_TYPE_COUNT] = {
	[IPC_TYPE_gateway_http] = handle_http,
};

/* msp-http answers to msp-egress and to the launcher alone. */
static const dispatch_handler from_http[IPC_TYPE_COUNT] = { NULL };

static const dispatch_handler from_supervisor[IPC_TYPE_COUNT] = {
	[IPC_TYPE_cable_cuts] = handle_cuts,
	[IPC_TYPE_cable_make] = handle_make,
	[IPC_TYPE_cable_end] = handle_end,
	[IPC_TYPE_cable_watch] = handle_watch,
	[IPC_TYPE_cable_execution] = handle_execution,
};

static const dispatch_handler from_egress[IPC_TYPE_COUNT] = {
	[IPC_TYPE_connection_open] = handle_connection_open,
	[IPC_TYPE_connection_end] = handle_connection_end,
	[IPC_TYPE_connection_refused] = handle_connection_refused,
};

static const dispatch_handler from_dial[IPC_TYPE_COUNT] = {
	[IPC_TYPE_connection_end] = handle_connection_end,
	[IPC_TYPE_connection_refused] = handle_connection_refused,
	[IPC_TYPE_host_ask] = handle_host_ask,
};

/* Bound of one turn: more than a channel holds. */
#define TURN_MOST 4096

static int turn_peer(const struct channel *peer, const dispatch_handler *handlers, uint32_t most)
{
	static struct channel_message message;
	enum ipc_error wrong;
	int status = 1;

	while (status == 1 && most-- > 0)
		status = dispatch_one(peer, &message, MSG_DONTWAIT, handlers, NULL, &wrong);
	return status == 1 || status == -EAGAIN ? 0 : status == 0 ? -EPIPE : status;
}

/* Turn to the launcher, whose end leaves the rest as it is. */
static int turn_launcher(struct hub *own)
{
	const int error =
		own->launcher.fd < 0 ? 0 : turn_peer(&own->launcher, from_launcher, TURN_MOST);

	if (error == -EPIPE || error == -ECONNRESET)
		fd_close(&own->launcher.fd);
	return error == -EPIPE || error == -ECONNRESET ? 0 : error;
}

/* The supervisor comes last, with one message: what a sandbox was refused, or connected to, is
 * heard of before its end, before the end of an execution, and before that of all. It may have come
 * since poll(), so that the two programs are always heard, and the launcher, whose offer comes
 * before a sandbox that needs it. */
int hub_run(struct hub *own, const char **ret_peer)
{
	static const char *const names[] = { "msp-dial", "msp-egress", "msp-http",
					     "the supervisor" };
	static const dispatch_handler *const handlers[] = { from_dial, from_egress, from_http,
							    from_supervisor };
	static const uint32_t most[] = { TURN_MOST, TURN_MOST, TURN_MOST, 1 };
	const struct channel *const peers[] = { &own->dial, &own->egress, &own->http,
						&own->supervisor };
	struct pollfd polls[5];
	int error = 0;

	hub = own;
	while (!error) {
		for (int i = 0; i < 4; i++)
			polls[i] = (struct pollfd){ .fd = peers[i]->fd, .events = POLLIN };
		polls[4] = (struct pollfd){ .fd = own->launcher.fd, .events = POLLIN };
		if (own->home < 0)
			polls[1].fd = polls[2].fd = -1; /* ours until the programs are started */
		/* A question waits until nothing is left that the supervisor said before it. */
		if (poll(polls, 5, permits_are_asked() ? 0 : -1) < 0 && errno != EINTR)
			return -errno;
		if (permits_are_asked() && polls[3].revents == 0) {
			*ret_peer = names[0];
			error = permits_answer(own);
			continue;
		}
		*ret_peer = "the launcher";
		error = turn_launcher(own);
		for (int i = 0; i < 4 && !error; i++) {
			*ret_peer = names[i];
			if (i < 2 || polls[i].revents)
				error = turn_peer(peers[i], handlers[i], most[i]);
		}
	}
	return error == -EPIPE && *ret_peer == names[3] ? 0 : error;
}
