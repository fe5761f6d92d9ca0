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

static bool is_pinned(const struct plan_mount *mount)
{
	return (mount->flags & PLAN_PINNED) != 0;
}

/* The record at this place of the plan, if it is a pinned one. */
static const char *find_pinned(const struct plan *plan, uint32_t profile, uint32_t mount)
{
	const struct plan_profile *at = plan_profile(plan, profile);

	if (profile >= plan_profile_count(plan) || mount >= at->mount_count ||
	    !is_pinned(&plan_mounts(plan, at)[mount]))
		return NULL;
	return plan_string(plan, plan_mounts(plan, at)[mount].source);
}

/* The factory has what was opened at the start, and for the places of that plan. */
static bool has_same_pins(const struct plan *old, const struct plan *new)
{
	for (uint32_t i = 0; i < plan_profile_count(new); i++) {
		const struct plan_profile *profile = plan_profile(new, i);

		for (uint32_t j = 0; j < profile->mount_count; j++) {
			const char *now = find_pinned(new, i, j);
			const char *then = now ? find_pinned(old, i, j) : NULL;

			if (now && (!then || strcmp(now, then) != 0))
				return false;
		}
	}
	return true;
}

/* What is shown of the host must be allowed still, and be what is held open. 0, or -1 with a line
 * in `text`. */
static int check_pins(const struct plan *old, const struct plan *new, char text[CONFIG_TEXT_MAX])
{
	static struct pins pins;

	if (!has_same_pins(old, new)) {
		format_text(text, CONFIG_TEXT_MAX,
			    "its profiles show other files of this machine than before: restart "
			    "the service to have them shown");
		return -1;
	}
	if (pins_open(new, &pins, text) != 0)
		return -1;
	pins_close(&pins);
	return 0;
}

/* 0 and the new one in `ret`, or -1 with a line in `text`. */
static int compile(const struct keeper *keeper, struct config *ret, char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan;

	if (config_read_again(keeper->config, ret, text) != 0)
		return -1;
	plan = launch_open_plan(ret, text);
	return plan && check_pins(config_plan(keeper->config), plan, text) == 0 ? 0 : -1;
}

static int handle_policy_ask(void *context, struct channel_message *message)
{
	static struct config config;
	const struct keeper *keeper = context;
	const struct ipc_policy_new answer = { .generation = message->body.policy_ask.generation };
	struct ipc_policy_bad bad;
	char text[CONFIG_TEXT_MAX];
	int error;

	if (compile(keeper, &config, text) == 0) {
		error = channel_send(&keeper->channel, IPC_TYPE_policy_new, &answer,
				     &config.plan_fd, 0);
	} else {
		format_text(bad.text, sizeof(bad.text), "%s", text);
		error = channel_send(&keeper->channel, IPC_TYPE_policy_bad, &bad, NULL, 0);
	}
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
