/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/parts.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_start.h"
#include "launcher/host/workspace.h"
#include "launcher/opener/bridge_hub.h"

struct opener {
	struct channel supervisor;
	struct channel starter; /* towards which this stands in for the supervisor */
	struct plan plan;       /* in force, as far as is known */
	struct plan newer; /* compiled when generation `asked` was; in force if another one is */
	uint32_t asked;
	struct workspaces own;    /* for clients of a supervisor that is no service */
	struct workspaces within; /* for the next question */
};

/* Whether the supervisor takes a new policy it does not say, but it counts them. */
static void note_generation(struct opener *opener, uint32_t generation)
{
	if (!opener->newer.bytes || generation <= opener->asked)
		return;
	plan_close(&opener->plan);
	opener->plan = opener->newer;
	opener->newer = (struct plan){ .bytes = NULL };
}

/* --- the starter's messages ------------------------------------------------------------------- */

static int handle_policy_new(void *context, struct channel_message *message)
{
	struct opener *opener = context;

	return plan_open_fd(message->fds[0], &opener->newer);
}

static const dispatch_handler starter_handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_policy_new] = handle_policy_new,
};

/* --- the supervisor's ------------------------------------------------------------------------- */

static int handle_policy_ask(void *context, struct channel_message *message)
{
	const struct ipc_policy_ask *ask = ipc_body(message, policy_ask);
	struct opener *opener = context;

	note_generation(opener, ask->generation);
	plan_close(&opener->newer);
	opener->asked = ask->generation;
	return channel_send(&opener->starter, IPC_TYPE_policy_ask, ask, NULL, 0);
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

/* Have the starter answer with what was opened. */
static int pass_on(const struct opener *opener, int directory, const struct ipc_workspace_ask *ask)
{
	static const struct ipc_workspace_within within;
	const int error =
		channel_send(&opener->starter, IPC_TYPE_workspace_within, &within, &directory, 0);

	return error ? error : channel_send(&opener->starter, IPC_TYPE_workspace_ask, ask, NULL, 0);
}

static int handle_workspace_ask(void *context, struct channel_message *message)
{
	static struct ipc_workspace_bad bad;
	static struct ipc_workspace_ask opened;
	const struct ipc_workspace_ask *ask = ipc_body(message, workspace_ask);
	struct opener *opener = context;
	int fd, error;

	note_generation(opener, ask->generation);
	opened = *ask;
	bad.number = ask->number;
	fd = workspace_open(ask->path, ask->is_person != 0, &opener->plan,
			    opener->within.count > 0 ? &opener->within : &opener->own, opened.path,
			    bad.text);
	error = fd < 0 ? channel_send(&opener->supervisor, IPC_TYPE_workspace_bad, &bad, NULL, 0)
		       : pass_on(opener, fd, &opened);
	fd_close(&fd);
	workspaces_close(&opener->within);
	return error;
}

static int handle_bridge_bind(void *context, struct channel_message *message)
{
	const struct opener *opener = context;

	return channel_send(&opener->starter, IPC_TYPE_bridge_bind, ipc_body(message, bridge_bind),
			    message->fds, 0);
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_policy_ask] = handle_policy_ask,
	[IPC_TYPE_workspace_within] = handle_workspace_within,
	[IPC_TYPE_workspace_ask] = handle_workspace_ask,
	[IPC_TYPE_bridge_give] = bridge_hub_take,
	[IPC_TYPE_bridge_show] = bridge_hub_show,
	[IPC_TYPE_bridge_bind] = handle_bridge_bind,
};

/* --- the loop --------------------------------------------------------------------------------- */

/* Wait for a message or the end of a bridge. */
static void await_event(const struct opener *opener)
{
	struct pollfd polls[2 + BRIDGES_MAX] = {
		{ opener->supervisor.fd, POLLIN, 0 },
		{ opener->starter.fd, POLLIN, 0 },
	};

	bridge_hub_poll(polls + 2);
	if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) > 0)
		bridge_hub_turn(polls + 2);
}

/* Take one message of each. The starter's comes first: the supervisor may know of a new plan. */
static bool take_messages(struct opener *opener)
{
	static struct channel_message message;
	enum ipc_error wrong;
	int status = dispatch_one(&opener->starter, &message, MSG_DONTWAIT, starter_handlers,
				  opener, &wrong);

	if (status == 1 || status == -EAGAIN)
		status = dispatch_one(&opener->supervisor, &message, MSG_DONTWAIT, handlers, opener,
				      &wrong);
	return status == 1 || status == -EAGAIN;
}

/* Keep nothing that is the starter's. */
static void drop_fds(struct opener_start *start)
{
	int *named[OPENER_FDS_MAX];
	size_t count;

	start->gateway.audit = -1;
	start->own.count = 0;
	count = opener_list_fds(start, named);
	for (size_t i = 0; i < count; i++)
		fd_close(named[i]);
}

void answer_run(struct opener_start *start, const struct plan *plan, int starter,
		opener_confine *confine)
{
	static struct opener opener;
	struct protected_set set;

	opener.supervisor =
		(struct channel){ OPENER_FD_CHANNEL, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
	opener.starter = (struct channel){ starter, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	bridge_hub_begin(start->gateway.audit);
	opener.own = start->own;
	opener.plan = *plan;
	drop_fds(start);
	set = protected_set_of(plan); /* it keeps what the account database says */
	confine(&set);
	do {
		await_event(&opener);
	} while (take_messages(&opener));
	bridge_hub_end();
	fd_close(&opener.supervisor.fd);
	fd_close(&opener.starter.fd);
}
