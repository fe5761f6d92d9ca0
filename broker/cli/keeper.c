/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/dispatch.h"
#include "common/fd.h"
#include "format.h"

/* Where its two descriptors are put, so that all others can be closed. */
#define CHANNEL_PLACE 3
#define POLICY_PLACE 4

struct keeper {
	struct channel channel;
	int policy;
};

static int handle_policy_ask(void *context, struct channel_message *message)
{
	const struct keeper *keeper = context;
	const struct ipc_policy_new answer = { .generation = message->body.policy_ask.generation };
	struct ipc_policy_bad bad;
	int plan = fd_sealed_from_file("msp-policy", keeper->policy);
	int error;

	if (plan >= 0) {
		error = channel_send(&keeper->channel, IPC_TYPE_policy_new, &answer, &plan, 0);
		fd_close(&plan);
		return error;
	}
	format_text(bad.text, sizeof(bad.text), "it cannot be read: %s", strerror(-plan));
	return channel_send(&keeper->channel, IPC_TYPE_policy_bad, &bad, NULL, 0);
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_policy_ask] = handle_policy_ask,
};

static void keep(const struct launch *launch, int channel) __attribute__((noreturn));
static void keep(const struct launch *launch, int channel)
{
	static struct channel_message message;
	const int fds[] = { channel, launch->images->policy };
	const int places[] = { CHANNEL_PLACE, POLICY_PLACE };
	struct keeper keeper = { { CHANNEL_PLACE, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP },
				 POLICY_PLACE };
	enum ipc_error wrong;
	int status = 1;

	/* The locks and sockets of the service are the supervisor's, not ours to keep. */
	if (fd_place(fds, places, 2, 0) != 0)
		_exit(MSP_EXIT_SOFTWARE);
	(void)signal(SIGHUP, SIG_IGN); /* it means the supervisor, also where both are told */
	(void)prctl(PR_SET_NAME, "msp-keeper"); /* for ps(1) only */
	while (status == 1)
		status = dispatch_one(&keeper.channel, &message, 0, handlers, &keeper, &wrong);
	_exit(0);
}

int keeper_start(const struct launch *launch, int channel)
{
	const pid_t pid = fork();

	if (pid == 0)
		keep(launch, channel);
	return pid < 0 ? -errno : 0;
}
