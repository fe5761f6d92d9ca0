/* SPDX-License-Identifier: Apache-2.0 */
#include "generation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "audit.h"
#include "common/dispatch.h"
#include "common/fd.h"
#include "common/log.h"
#include "frontend.h"
#include "handlers.h"
#include "pool.h"
#include "posture.h"
#include "state.h"
#include "workspace.h"

static struct channel launcher = { .fd = -1 };
static struct loop_watch launcher_watch;
static bool is_asked;    /* and has not answered */
static bool is_outdated; /* what it reads may be older than the last wish */

/* They wait here for their plan. */
static struct {
	int fd;
	struct ipc_factory_pin at;
} pins[PINS_MAX];
static uint32_t pin_count;

int generation_take_pin(struct channel_message *message)
{
	const struct ipc_supervisor_pin *from = &message->body.supervisor_pin;

	if (pin_count == PINS_MAX)
		return -EPROTO;
	pins[pin_count].at.profile = from->profile;
	pins[pin_count].at.mount = from->mount;
	pins[pin_count++].fd = channel_take_fd(message, 0);
	return 0;
}

uint32_t generation_pins(void)
{
	return pin_count;
}

static void drop_pins(void)
{
	while (pin_count > 0)
		fd_close(&pins[--pin_count].fd);
}

static int send_pins(uint32_t slot, int flags)
{
	int error = 0;

	for (uint32_t i = 0; i < pin_count && !error; i++) {
		pins[i].at.generation = slot;
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_pin, &pins[i].at,
				     &pins[i].fd, flags);
	}
	drop_pins();
	return error;
}

int generation_send_pins(void)
{
	return send_pins(supervisor.plan.slot, 0);
}

static bool is_profile_possible(const struct plan *plan, const struct plan_profile *profile)
{
	const char *name = plan_string(plan, profile->name);

	if (supervisor.landlock_abi < (int)profile->landlock_abi_min)
		log_line("profile %s requires Landlock ABI %u (ABI 6 is Linux 6.12), this kernel "
			 "has %d: run a newer kernel or lower requirements.landlock in the "
			 "operator's policy",
			 name, profile->landlock_abi_min, supervisor.landlock_abi);
	else if (supervisor.cgroup < 0 && !supervisor.accepts_fallback &&
		 !plan_header(plan)->limits_fallback && !profile->limits_fallback)
		log_line("profile %s requires a delegated cgroup v2 with cpu, memory and pids, and "
			 "there is none here: see 'msp doctor', or accept weaker limits with "
			 "--limits=fallback",
			 name);
	else
		return true;
	return false;
}

/* The profile that a request without a name means, or -1. What the launcher was told comes first.
 */
static int find_default(const struct plan *plan)
{
	const char *name = supervisor.default_name;
	int index;

	if (!name[0])
		name = plan_string(plan, plan_header(plan)->default_profile);
	index = strlen(name) < IPC_NAME_MAX ? plan_profile_find(plan, name) : -1;
	return index >= 0 && !plan_is_internal(plan, plan_profile(plan, (uint32_t)index)) ? index
											  : -1;
}

static void explain_default(const struct plan *plan)
{
	const char *name = supervisor.default_name;
	char names[IPC_LIST_MAX] = "";
	size_t used = 0;

	if (!name[0])
		name = plan_string(plan, plan_header(plan)->default_profile);
	for (uint32_t i = 0; i < plan_profile_count(plan) && used < sizeof(names); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (!plan_is_internal(plan, profile))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used > 0 ? ", " : "",
						 plan_string(plan, profile->name));
	}
	log_line("there is no profile '%.100s' to be the default one; there are: %s", name, names);
}

bool generation_is_possible(const struct plan *plan)
{
	if (find_default(plan) < 0) {
		explain_default(plan);
		return false;
	}
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		if (!is_profile_possible(plan, plan_profile(plan, i)))
			return false;
	}
	return true;
}

static uint32_t find_unused(void)
{
	uint32_t slot = 0;

	while (slot < GENERATIONS_MAX && supervisor.generations[slot].plan.bytes)
		slot++;
	return slot;
}

/* Keep it under `slot` and have it hold from now on. */
static void enforce(uint32_t slot, const struct plan *plan, int fd)
{
	supervisor.generations[slot] = (struct generation){ .plan = *plan, .fd = fd };
	supervisor.generations[slot].plan.slot = slot;
	supervisor.plan = supervisor.generations[slot].plan;
	supervisor.plan_fd = fd;
	supervisor.default_profile = (uint32_t)find_default(plan);
	supervisor.generation++;
	posture_forget_told();
	pool_forget();
}

bool generation_open(int fd)
{
	struct plan plan;
	const int error = plan_open_fd(fd, &plan);

	if (error)
		log_line("the compiled policy is not of this version (%s): compile it again with "
			 "msp-policy",
			 errno_text(-error));
	if (error || !generation_is_possible(&plan)) {
		fd_close(&fd);
		return false;
	}
	enforce(0, &plan, fd);
	return true;
}

static void forget_unused(uint32_t slot)
{
	struct generation *generation = &supervisor.generations[slot];
	const struct ipc_factory_forget forget = { .slot = slot };

	if (generation->users > 0 || slot == supervisor.plan.slot)
		return;
	/* A factory that cannot be told is at its end. */
	(void)channel_send(&supervisor.factory, IPC_TYPE_factory_forget, &forget, NULL,
			   MSG_DONTWAIT);
	plan_close(&generation->plan);
	fd_close(&generation->fd);
}

void generation_hold(uint32_t slot)
{
	supervisor.generations[slot].users++;
}

void generation_release(uint32_t slot)
{
	supervisor.generations[slot].users--;
	forget_unused(slot);
}

static void refuse(const char *why)
{
	supervisor.is_reload_failed = true;
	log_line("the policy stays as it is (generation %u): %s", supervisor.generation, why);
}

static bool give_up(struct plan *plan, const char *why)
{
	plan_close(plan);
	refuse(why);
	return false;
}

/* The factory first: what it cannot take shall not hold. */
static bool replace(int *fd)
{
	const uint32_t old = supervisor.plan.slot;
	const struct ipc_factory_policy message = { .slot = find_unused() };
	const struct ipc_factory_forget forget = { .slot = message.slot };
	char detail[IPC_LIST_MAX] = "";
	struct plan plan = { .bytes = NULL };
	int error;

	if (message.slot == GENERATIONS_MAX)
		return give_up(&plan, "executions run under too many older ones; try again when "
				      "some have ended");
	error = plan_open_fd(*fd, &plan);
	if (!error && !generation_is_possible(&plan))
		return give_up(&plan, "this machine does not offer what the new one requires");
	if (!error && audit_policy(&plan, supervisor.generation + 1, detail) != 0)
		return give_up(&plan, detail);
	/* What an attempt before may have left there. */
	if (!error)
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_forget, &forget, NULL,
				     MSG_DONTWAIT);
	if (!error)
		error = send_pins(message.slot, MSG_DONTWAIT);
	if (!error)
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_policy, &message, fd,
				     MSG_DONTWAIT);
	if (error)
		return give_up(&plan, errno_text(-error));
	enforce(message.slot, &plan, *fd);
	*fd = -1;
	forget_unused(old);
	return true;
}

static void take_answer(void)
{
	is_asked = false;
	if (is_outdated)
		generation_reload();
}

static int handle_policy_new(void *context, struct channel_message *message)
{
	if (!is_asked || message->body.policy_new.pins != pin_count)
		return -EPROTO;
	if (replace(&message->fds[0])) {
		supervisor.is_reload_failed = false;
		log_line("policy generation %u is in force", supervisor.generation);
		handlers_tell_policy();
	}
	drop_pins();
	take_answer();
	return 0;
}

static int handle_policy_bad(void *context, struct channel_message *message)
{
	if (!is_asked)
		return -EPROTO;
	drop_pins();
	refuse(message->body.policy_bad.text);
	take_answer();
	return 0;
}

static int handle_supervisor_pin(void *context, struct channel_message *message)
{
	return is_asked ? generation_take_pin(message) : -EPROTO;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
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
	const int status = dispatch_one(&launcher, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	if (status < 0)
		log_line("the launcher cannot be heard: %s",
			 wrong ? ipc_error_text(wrong) : errno_text(-status));
	drop_pins();
	if (is_asked)
		refuse("the launcher that compiles it has ended");
	is_asked = false;
	loop_remove(&launcher_watch);
	fd_close(&launcher.fd);
	workspace_lost();
}

int generation_keep_launcher(int fd)
{
	launcher = (struct channel){ fd, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	return loop_add(&launcher_watch, fd, on_launcher, NULL);
}

int generation_ask_launcher(const struct frontend *frontend, uint32_t type, const void *message)
{
	int error = launcher.fd < 0 ? -ENOTCONN : 0;

	if (!error && frontend)
		error = frontend_send_workspaces(frontend, &launcher);
	return error ? error : channel_send(&launcher, type, message, NULL, MSG_DONTWAIT);
}

void generation_reload(void)
{
	const struct ipc_policy_ask ask = { .generation = supervisor.generation };
	int error;

	is_outdated = is_asked;
	if (is_asked)
		return;
	error = launcher.fd < 0
			? -ENOTCONN
			: channel_send(&launcher, IPC_TYPE_policy_ask, &ask, NULL, MSG_DONTWAIT);
	if (error)
		refuse("nobody is there to compile it: restart the service");
	is_asked = error == 0;
}
