/* SPDX-License-Identifier: Apache-2.0 */
#include "front/reload.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/gateway.h"
#include "base/generation.h"
#include "base/state.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_start.h"
#include "common/log.h"
#include "front/handlers.h"
#include "persistent/workspace.h"
#include "run/pool.h"
#include "run/posture.h"

static struct loop_watch launcher_watch;
static bool is_asked;    /* and has not answered */
static bool is_outdated; /* the answer to come may be older than the last request to reload */

static void note_answer(void)
{
	is_asked = false;
	if (is_outdated)
		reload_policy();
}

static int handle_policy_new(void *context, struct channel_message *message)
{
	if (!is_asked || ipc_body(message, policy_new)->pins != generation_pins())
		return -EPROTO;
	if (generation_replace(&message->fds[0])) {
		posture_forget_told();
		pool_forget();
		handlers_tell_policy();
	}
	generation_drop_pins();
	note_answer();
	return 0;
}

static int handle_policy_bad(void *context, struct channel_message *message)
{
	if (!is_asked)
		return -EPROTO;
	generation_drop_pins();
	generation_stay(ipc_body(message, policy_bad)->text);
	note_answer();
	return 0;
}

static int handle_supervisor_pin(void *context, struct channel_message *message)
{
	return is_asked ? generation_take_pin(context, message) : -EPROTO;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_supervisor_gateway] = gateway_open,
	[IPC_TYPE_supervisor_pin] = handle_supervisor_pin,
	[IPC_TYPE_policy_new] = handle_policy_new,
	[IPC_TYPE_policy_bad] = handle_policy_bad,
	[IPC_TYPE_workspace_open] = workspace_opened,
	[IPC_TYPE_workspace_bad] = workspace_refused,
};

static void on_launcher(void *context)
{
	static struct channel_message message;
	enum ipc_error wrong = IPC_OK;
	const int status =
		dispatch_one(&supervisor.launcher, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	loop_close(&launcher_watch, &supervisor.launcher.fd);
	workspace_lost();
	if (supervisor.is_persons || supervisor.is_ending)
		return;
	/* Confined as it is, the supervisor can start no other. */
	log_line("the path opener (msp-opener) has ended%s%s: no directory can be opened and no "
		 "policy reloaded, so msp ends; start it again",
		 wrong ? ", " : "", wrong ? ipc_error_text(wrong) : "");
	state_end(MSP_EXIT_SOFTWARE);
}

int reload_keep_launcher(int fd)
{
	supervisor.launcher = (struct channel){ fd, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	return loop_add(&launcher_watch, fd, on_launcher, NULL);
}

void reload_policy(void)
{
	const struct ipc_policy_ask ask = { .generation = supervisor.generation };

	is_outdated = is_asked;
	if (is_asked)
		return;
	is_asked = launcher_ask(NULL, IPC_TYPE_policy_ask, &ask) == 0;
	if (!is_asked)
		generation_stay("nobody is there to compile it: restart the service");
}
