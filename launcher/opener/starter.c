/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_start.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/start/bridge_program.h"

/* The least time between two starts of the gateway, when the first has ended. */
#define GATEWAY_PAUSE_US 10000000

/* The most time that its end may take after the supervisor's. */
#define GATEWAY_END_MS 2000

struct starter {
	struct channel opener;
	struct channel supervisor; /* for what it has asked for; the opener reads its questions */
	struct opener_start *start;
	uint64_t started_us;  /* the gateway; 0: before this process */
	struct config config; /* in force, as far as is known */
	struct config newer;  /* compiled when generation `asked` was; in force if another one is */
	uint32_t asked;
	int directory; /* for the next question */
};

/* Without a gateway, what is sent to the next one waits in a channel. */
static void keep_channel(struct opener_start *start)
{
	if (start->gateway.pidfd < 0 && start->trust.cable < 0) /* an earlier gateway had it */
		trust_restart(&start->trust);
}

/* 0 with the new one in `ret` and what it shows of the host in `pins`; or -1 with a line in `text`.
 */
static int compile_policy(struct starter *starter, struct config *ret, struct pins *pins,
			  char text[CONFIG_TEXT_MAX])
{
	struct trust *trust = &starter->start->trust;

	keep_channel(starter->start);
	if (config_read_again(&starter->config, ret, text) != 0 || !launch_open_plan(ret, text) ||
	    trust_prepare(trust, &starter->start->images, ret, NULL, text) != 0 ||
	    pins_open(config_plan(ret), "", &trust->pins, pins, text) != 0)
		return -1;
	if (text[0])
		log_line("a profile cannot be used: %s", text);
	return 0;
}

/* The opener has the plan before the supervisor can name its generation. */
static int send_new(const struct starter *starter, const struct pins *pins)
{
	const struct ipc_policy_new answer = { starter->asked, pins->count };
	int error = channel_send(&starter->opener, IPC_TYPE_policy_new, &answer,
				 &starter->newer.plan_fd, 0);

	if (!error)
		error = launch_send_pins(pins, &starter->supervisor);
	return error ? error
		     : channel_send(&starter->supervisor, IPC_TYPE_policy_new, &answer,
				    &starter->newer.plan_fd, 0);
}

/* Whether the supervisor takes a new policy it does not say, but it counts them. */
static void note_generation(struct starter *starter, uint32_t generation)
{
	if (starter->newer.plan_fd < 0 || generation <= starter->asked)
		return;
	config_close(&starter->config);
	starter->config = starter->newer;
	starter->newer = (struct config)CONFIG_UNREAD;
}

/* Start the gateway if the plan needs it. Where that fails, profiles with hosts are refused. */
static void start_gateway(struct starter *starter, const struct plan *plan)
{
	struct opener_start *start = starter->start;

	starter->started_us = clock_now_us();
	if (!plan || !profiles_have_hosts(plan, NULL))
		return;
	keep_channel(start);
	start->gateway.trust = fd_take(&start->trust.cable);
	(void)launch_send_gateway(&start->images, &start->gateway, &starter->supervisor);
}

/* The gateway has ended. Another that ends so soon waits for the next reload. */
static void replace_gateway(struct starter *starter)
{
	fd_close(&starter->start->gateway.pidfd);
	launch_await_stewards(0); /* collect it, if it is our child */
	if (clock_now_us() - starter->started_us > GATEWAY_PAUSE_US)
		start_gateway(starter, config_plan(&starter->config));
}

static int handle_policy_ask(void *context, struct channel_message *message)
{
	static struct pins pins;
	struct starter *starter = context;
	struct ipc_policy_bad bad;
	char text[CONFIG_TEXT_MAX];
	int error;

	note_generation(starter, ipc_body(message, policy_ask)->generation);
	config_close(&starter->newer);
	starter->asked = ipc_body(message, policy_ask)->generation;
	pins.count = 0;
	if (compile_policy(starter, &starter->newer, &pins, text) == 0) {
		if (starter->start->gateway.pidfd < 0)
			start_gateway(starter, config_plan(&starter->newer));
		error = send_new(starter, &pins);
	} else {
		format_text(bad.text, sizeof(bad.text), "%s", text);
		error = channel_send(&starter->supervisor, IPC_TYPE_policy_bad, &bad, NULL, 0);
		config_close(&starter->newer);
	}
	pins_close(&pins);
	return error;
}

static int handle_workspace_within(void *context, struct channel_message *message)
{
	struct starter *starter = context;

	fd_replace(&starter->directory, channel_take_fd(message, 0));
	return 0;
}

/* The opener has opened the directory: what git executes in it is still to be found. */
static int handle_workspace_ask(void *context, struct channel_message *message)
{
	static struct ipc_workspace_open opened;
	static struct ipc_workspace_bad bad;
	const struct ipc_workspace_ask *ask = ipc_body(message, workspace_ask);
	struct starter *starter = context;
	int fds[3] = { fd_take(&starter->directory), -1, -1 };
	int error;

	note_generation(starter, ask->generation);
	if (fds[0] < 0)
		return -EPROTO;
	opened.number = bad.number = ask->number;
	format_text(opened.path, sizeof(opened.path), "%s", ask->path);
	fds[1] = git_question_ask(starter->start->images.git, opened.path,
				  config_plan(&starter->config), &fds[2]);
	opened.has_git = fds[2] >= 0;
	if (!opened.has_git)
		fds[2] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	if (fds[1] < 0)
		format_text(bad.text, sizeof(bad.text),
			    "'%.300s' is refused: what git executes in it cannot be told: %s",
			    ask->path, errno_text(-fds[1]));
	error = fds[1] < 0
			? channel_send(&starter->supervisor, IPC_TYPE_workspace_bad, &bad, NULL, 0)
			: channel_send(&starter->supervisor, IPC_TYPE_workspace_open, &opened, fds,
				       0);
	fd_close_all(fds, 3);
	return error;
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
	[IPC_TYPE_bridge_bind] = handle_bridge_bind,
};

/* Wait for a message, the end of the gateway, or that of a server. A negative descriptor is left
 * out. */
static void await_event(struct starter *starter)
{
	struct trust *trust = &starter->start->trust;
	struct pollfd polls[2 + TRUST_SERVERS_MAX] = {
		{ starter->opener.fd, POLLIN, 0 },
		{ starter->start->gateway.pidfd, POLLIN, 0 },
	};

	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++)
		polls[2 + i] = (struct pollfd){ trust->servers[i].channel, 0, 0 };
	if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) < 0)
		return;
	if (polls[1].revents) { /* the servers end with it */
		replace_gateway(starter);
		return;
	}
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		if (polls[2 + i].revents)
			trust_ended(trust, i);
	}
}

/* Take the parts of the start that are the starter's. */
static void take_start(struct opener_start *start, const struct plan *plan, struct config *config)
{
	*config = (struct config)CONFIG_UNREAD;
	config->builtin = start->builtin;
	config->is_roots = start->is_roots;
	config->has_kept = config->is_read = true;
	config->plan_fd = start->plan;
	config->plan = *plan;
	format_text(config->path, sizeof(config->path), "%s", start->config);
	fd_close_all(start->own.list, start->own.count);
	fd_close(&start->gateway.audit);
	start->trust.pins.directory = start->trust.certificates.directory;
	for (uint32_t i = 0; i < TRUST_SERVERS_MAX; i++) {
		struct trust_server *server = &start->trust.servers[i];

		if (server->plan_fd >= 0 && plan_open_fd(server->plan_fd, &server->plan) != 0)
			fd_close(&server->plan_fd);
	}
}

void starter_run(struct opener_start *start, const struct plan *plan, int channel)
{
	static struct channel_message message;
	static struct starter starter = { .newer = CONFIG_UNREAD, .directory = -1 };
	enum ipc_error wrong;
	int status = 1;

	starter.opener = (struct channel){ channel, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
	starter.supervisor =
		(struct channel){ OPENER_FD_CHANNEL, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
	starter.start = start;
	(void)prctl(PR_SET_NAME, "msp-starter"); /* for ps(1) only */
	take_start(start, plan, &starter.config);
	pins_hold_images(config_plan(&starter.config));
	while (status == 1 || status == -EAGAIN) {
		await_event(&starter);
		status = dispatch_one(&starter.opener, &message, MSG_DONTWAIT, handlers, &starter,
				      &wrong);
	}
	fd_close(&starter.supervisor.fd);
	trust_done(&start->trust);
	launch_await_stewards(GATEWAY_END_MS);
}
