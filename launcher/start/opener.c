/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dispatch.h"
#include "common/fd.h"
#include "common/format.h"
#include "common/ipc_bridge.h"
#include "common/ipc_start.h"
#include "common/log.h"
#include "frontend/profile_names.h"
#include "launcher/host/git_named.h"
#include "launcher/host/image_holds.h"
#include "launcher/host/workspace.h"
#include "launcher/start/bridge_hub.h"
#include "launcher/start/bridge_program.h"
#include "launcher/start/machine_place.h"

/* Numbers of its descriptors, behind /dev/null three times, so that all others can be closed. */
#define CHANNEL_PLACE 3
#define BUILTIN_PLACE 4
#define CABLE_PLACE 5
#define EGRESS_PLACE 6
#define DIAL_PLACE 7
#define AUDIT_PLACE 8
#define PIDFD_PLACE 9
#define HTTP_PLACE 10
#define RECORDS_PLACE 11 /* the gateway's own msp-audit, */
#define LOG_PLACE 12     /* and its directory */
#define TRUST_PLACE 13   /* four descriptors, and two of each server */
#define WORKSPACES_PLACE (TRUST_PLACE + 4 + 2 * TRUST_SERVERS_MAX) /* at most */

/* The least time between two starts of the gateway, when the first has ended. */
#define GATEWAY_PAUSE_US 10000000

/* The most time that its end may take after the supervisor's. */
#define GATEWAY_END_MS 2000

_Static_assert(WORKSPACES_PLACE + CLIENT_WORKSPACES_MAX <= FD_PLACES_MAX, "room for all");

struct opener {
	struct channel channel;
	struct images images; /* the gateway's programs */
	struct launch_gateway gateway;
	struct trust trust;
	uint64_t started_us;   /* the gateway; 0: before this process */
	struct config *config; /* in force, as far as is known */
	struct config newer; /* compiled when generation `asked` was; in force if another one is */
	uint32_t asked;
	struct workspaces own;    /* for clients of a supervisor that is no service */
	struct workspaces within; /* for the next question */
};

/* 0 with the new one in `ret` and what it shows of the host in `pins`; or -1 with a line in `text`.
 */
static int compile_policy(struct opener *opener, struct config *ret, struct pins *pins,
			  char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan;

	if (config_read_again(opener->config, ret, text) != 0)
		return -1;
	if (!launch_open_plan(ret, text) || machine_place_put(ret, NULL, text) != 0 ||
	    trust_prepare(&opener->trust, &opener->images, ret, NULL, text) != 0)
		return -1;
	plan = config_plan(ret);
	if (pins_open(plan, "", &opener->trust.pins, pins, text) != 0)
		return -1;
	if (text[0])
		log_line("a profile cannot be used: %s", text);
	return 0;
}

static int send_new(const struct channel *channel, uint32_t generation, const struct config *config,
		    const struct pins *pins)
{
	const struct ipc_policy_new answer = { generation, pins->count };
	const int error = launch_send_pins(pins, channel);

	return error ? error
		     : channel_send(channel, IPC_TYPE_policy_new, &answer, &config->plan_fd, 0);
}

/* Whether the supervisor takes a new policy it does not say, but it counts them. */
static void note_generation(struct opener *opener, uint32_t generation)
{
	if (opener->newer.plan_fd < 0 || generation <= opener->asked)
		return;
	config_close(opener->config);
	*opener->config = opener->newer;
	opener->newer = (struct config)CONFIG_UNREAD;
}

/* Start the gateway if the plan needs it. Where that fails, profiles with hosts are refused. */
static void start_gateway(struct opener *opener, const struct plan *plan)
{
	opener->started_us = clock_now_us();
	if (!plan || !profiles_have_hosts(plan, NULL))
		return;
	if (opener->trust.cable < 0) /* an earlier gateway had it */
		trust_restart(&opener->trust);
	opener->gateway.trust = fd_take(&opener->trust.cable);
	(void)launch_send_gateway(&opener->images, &opener->gateway, &opener->channel);
}

/* The gateway has ended. Another that ends so soon waits for the next reload. */
static void replace_gateway(struct opener *opener)
{
	fd_close(&opener->gateway.pidfd);
	launch_await_stewards(0); /* collect it, if it is our child */
	if (clock_now_us() - opener->started_us > GATEWAY_PAUSE_US)
		start_gateway(opener, config_plan(opener->config));
}

static int handle_policy_ask(void *context, struct channel_message *message)
{
	static struct pins pins;
	struct opener *opener = context;
	struct ipc_policy_bad bad;
	char text[CONFIG_TEXT_MAX];
	int error;

	note_generation(opener, ipc_body(message, policy_ask)->generation);
	config_close(&opener->newer);
	opener->asked = ipc_body(message, policy_ask)->generation;
	pins.count = 0;
	if (compile_policy(opener, &opener->newer, &pins, text) == 0) {
		if (opener->gateway.pidfd < 0)
			start_gateway(opener, config_plan(&opener->newer));
		error = send_new(&opener->channel, opener->asked, &opener->newer, &pins);
	} else {
		format_text(bad.text, sizeof(bad.text), "%s", text);
		error = channel_send(&opener->channel, IPC_TYPE_policy_bad, &bad, NULL, 0);
		config_close(&opener->newer);
	}
	pins_close(&pins);
	return error;
}

static int handle_workspace_within(void *context, struct channel_message *message)
{
	struct opener *opener = context;
	struct workspaces *within = &opener->within;

	if (within->count == CLIENT_WORKSPACES_MAX)
		return -EPROTO;
	within->is_start = ipc_body(message, workspace_within)->is_start != 0;
	within->list[within->count++] = channel_take_fd(message, 0);
	return 0;
}

static int handle_workspace_ask(void *context, struct channel_message *message)
{
	static struct ipc_workspace_open opened;
	static struct ipc_workspace_bad bad;
	const struct ipc_workspace_ask *ask = ipc_body(message, workspace_ask);
	struct opener *opener = context;
	const struct plan *plan;
	int fds[2] = { -1, -1 };
	int error;

	note_generation(opener, ask->generation);
	plan = config_plan(opener->config);
	if (!plan)
		return -EBADMSG;
	opened.number = bad.number = ask->number;
	fds[0] = workspace_open(ask->path, ask->is_person != 0, plan,
				opener->within.count > 0 ? &opener->within : &opener->own,
				opened.path, bad.text);
	if (fds[0] >= 0)
		fds[1] = git_named_open(opened.path);
	if (fds[0] >= 0 && fds[1] < 0)
		format_text(bad.text, sizeof(bad.text),
			    "'%.300s' is refused: what git executes in it cannot be told: %s",
			    opened.path, errno_text(-fds[1]));
	error = fds[1] < 0
			? channel_send(&opener->channel, IPC_TYPE_workspace_bad, &bad, NULL, 0)
			: channel_send(&opener->channel, IPC_TYPE_workspace_open, &opened, fds, 0);
	fd_close_all(fds, 2);
	workspaces_close(&opener->within);
	return error;
}

static int handle_bridge_give(void *context, struct channel_message *message)
{
	const struct opener *opener = context;

	return bridge_hub_take(message, opener->gateway.audit);
}

static int handle_bridge_show(void *context, struct channel_message *message)
{
	return bridge_hub_show(message);
}

/* A supervisor that is no service starts its own broker, whose user is ours. */
static int handle_bridge_bind(void *context, struct channel_message *message)
{
	const struct ipc_bridge_bind *bind = ipc_body(message, bridge_bind);

	bridge_program_host(bind->port, bind->host_port, message->fds[0]);
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_policy_ask] = handle_policy_ask,
	[IPC_TYPE_workspace_within] = handle_workspace_within,
	[IPC_TYPE_workspace_ask] = handle_workspace_ask,
	[IPC_TYPE_bridge_give] = handle_bridge_give,
	[IPC_TYPE_bridge_show] = handle_bridge_show,
	[IPC_TYPE_bridge_bind] = handle_bridge_bind,
};

/* Take the place of a program that may be missing. */
static int take_place(int *image, int program, int place, int null)
{
	*image = program >= 0 ? place : -1;
	return program >= 0 ? program : null;
}

/* Give the descriptors of the trust their places. Return the next one. */
static size_t place_trust(struct trust *trust, int *fds, int null)
{
	int *const own[] = { &trust->gateway, &trust->certificates.authority,
			     &trust->certificates.roots, &trust->certificates.directory };
	int place = TRUST_PLACE;

	fd_close(&trust->cable);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++, place++)
		fds[place] = take_place(own[i], *own[i], place, null);
	trust->pins.directory = trust->certificates.directory;
	if (trust->certificates.authority < 0)
		trust_begin(trust);
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		struct trust_server *server = &trust->servers[i];

		if (server->plan_fd < 0 && server->channel < 0)
			continue;
		fds[place] = take_place(&server->plan_fd, server->plan_fd, place, null);
		fds[place + 1] = take_place(&server->channel, server->channel, place + 1, null);
		place += 2;
	}
	return (size_t)place;
}

/* The locks and sockets of the service are not ours to keep, nor a client's streams, nor what tells
 * that all of them are closed: while we held one, nobody at its other end would see its end. */
static int place_all(const struct launch *launch, int channel, struct opener *opener)
{
	static const struct launch_gateway none = LAUNCH_GATEWAY_NONE;
	const struct launch_gateway *gateway = launch->gateway ? launch->gateway : &none;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[WORKSPACES_PLACE + CLIENT_WORKSPACES_MAX] = {
		null, null, null, channel, launch->images->policy,
	};
	int places[sizeof(fds) / sizeof(fds[0])];
	size_t count;

	fds[CABLE_PLACE] =
		take_place(&opener->images.cable, launch->images->cable, CABLE_PLACE, null);
	fds[EGRESS_PLACE] =
		take_place(&opener->images.egress, launch->images->egress, EGRESS_PLACE, null);
	fds[DIAL_PLACE] = take_place(&opener->images.dial, launch->images->dial, DIAL_PLACE, null);
	fds[AUDIT_PLACE] = take_place(&opener->gateway.audit, gateway->audit, AUDIT_PLACE, null);
	opener->gateway.supervisor = gateway->supervisor;
	fds[LOG_PLACE] = take_place(&opener->gateway.log, gateway->log, LOG_PLACE, null);
	fds[RECORDS_PLACE] =
		take_place(&opener->images.audit, launch->images->audit, RECORDS_PLACE, null);
	fds[HTTP_PLACE] = take_place(&opener->images.http, launch->images->http, HTTP_PLACE, null);
	if (launch->trust)
		opener->trust = *launch->trust;
	count = place_trust(&opener->trust, fds, null);
	fds[PIDFD_PLACE] = take_place(&opener->gateway.pidfd, gateway->pidfd, PIDFD_PLACE, null);
	for (uint32_t i = 0; launch->workspaces && i < launch->workspaces->count; i++) {
		opener->own.list[opener->own.count++] = (int)count;
		fds[count++] = launch->workspaces->list[i];
	}
	opener->own.is_start = launch->workspaces && launch->workspaces->is_start;
	for (size_t i = 0; i < count; i++)
		places[i] = (int)i;
	return null < 0 ? -errno : fd_place(fds, places, count, 0);
}

/* Wait for a message, the end of the gateway, or that of a server or a bridge. A negative
 * descriptor is left out. */
static void await_event(struct opener *opener)
{
	struct pollfd polls[2 + TRUST_SERVERS_MAX + BRIDGES_MAX] = {
		{ opener->channel.fd, POLLIN, 0 },
		{ opener->gateway.pidfd, POLLIN, 0 },
	};
	struct pollfd *servers = polls + 2, *bridges = servers + TRUST_SERVERS_MAX;

	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++)
		servers[i] = (struct pollfd){ opener->trust.servers[i].channel, 0, 0 };
	bridge_hub_poll(bridges);
	if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) < 0)
		return;
	bridge_hub_turn(bridges, opener->gateway.audit);
	if (polls[1].revents) { /* the servers end with it */
		replace_gateway(opener);
		return;
	}
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		if (servers[i].revents)
			trust_ended(&opener->trust, i);
	}
}

static void keep_going(const struct launch *launch, int channel) __attribute__((noreturn));
static void keep_going(const struct launch *launch, int channel)
{
	static struct channel_message message;
	static struct opener opener = {
		.channel = { CHANNEL_PLACE, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP },
		.newer = CONFIG_UNREAD,
		.trust = TRUST_NONE,
	};
	enum ipc_error wrong;
	int status = 1;

	if (place_all(launch, channel, &opener) != 0)
		_exit(MSP_EXIT_SOFTWARE);
	opener.config = launch->config;
	opener.config->builtin = BUILTIN_PLACE;
	opener.config->plan_fd = -1; /* it is mapped */
	image_holds_take_all(config_plan(opener.config));
	/* The signals mean the supervisor, also where both are told; its end closes the channel. */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)prctl(PR_SET_NAME, "msp-opener"); /* for ps(1) only */
	while (status == 1 || status == -EAGAIN) {
		await_event(&opener);
		status = dispatch_one(&opener.channel, &message, MSG_DONTWAIT, handlers, &opener,
				      &wrong);
	}
	bridge_hub_end();
	trust_done(&opener.trust);
	launch_await_stewards(GATEWAY_END_MS);
	_exit(0);
}

int opener_start(const struct launch *launch, int channel)
{
	const pid_t pid = fork();

	if (pid == 0)
		keep_going(launch, channel);
	return pid < 0 ? -errno : pid;
}
