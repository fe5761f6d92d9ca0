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
#define BUILTIN_PLACE 4

struct keeper {
	struct channel channel;
	struct config *config; /* as it was at the start */
};

/* 0 with the new one in `ret` and what it shows of the host in `pins`; or -1 with a line in `text`.
 */
static int compile(const struct keeper *keeper, struct config *ret, struct pins *pins,
		   char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan;

	if (config_read_again(keeper->config, ret, text) != 0)
		return -1;
	plan = launch_open_plan(ret, text);
	return plan && pins_open(plan, pins, text) == 0 ? 0 : -1;
}

static int send_new(const struct channel *channel, uint32_t generation, const struct config *config,
		    const struct pins *pins)
{
	const struct ipc_policy_new answer = { generation, pins->count };
	const int error = launch_send_pins(pins, channel);

	return error ? error
		     : channel_send(channel, IPC_TYPE_policy_new, &answer, &config->plan_fd, 0);
}

static int handle_policy_ask(void *context, struct channel_message *message)
{
	static struct config config;
	static struct pins pins;
	const struct keeper *keeper = context;
	struct ipc_policy_bad bad;
	char text[CONFIG_TEXT_MAX];
	int error;

	pins.count = 0;
	if (compile(keeper, &config, &pins, text) == 0) {
		error = send_new(&keeper->channel, message->body.policy_ask.generation, &config,
				 &pins);
	} else {
		format_text(bad.text, sizeof(bad.text), "%s", text);
		error = channel_send(&keeper->channel, IPC_TYPE_policy_bad, &bad, NULL, 0);
	}
	pins_close(&pins);
	config_close(&config);
	return error;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_policy_ask] = handle_policy_ask,
};

static void keep(const struct launch *launch, int channel) __attribute__((noreturn));
static void keep(const struct launch *launch, int channel)
{
	static struct channel_message message;
	const int fds[] = { channel, launch->images->policy };
	const int places[] = { CHANNEL_PLACE, BUILTIN_PLACE };
	struct keeper keeper = { { CHANNEL_PLACE, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP },
				 launch->config };
	enum ipc_error wrong;
	int status = 1;

	/* The locks and sockets of the service are the supervisor's, not ours to keep. */
	if (fd_place(fds, places, 2, 0) != 0)
		_exit(MSP_EXIT_SOFTWARE);
	launch->config->builtin = BUILTIN_PLACE;
	launch->config->plan_fd = -1;  /* it is mapped */
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
