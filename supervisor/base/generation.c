/* SPDX-License-Identifier: Apache-2.0 */
#include "base/generation.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/audit.h"
#include "base/state.h"
#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_start.h"
#include "common/log.h"

/* They wait here for their plan. */
static struct {
	int fd;
	struct ipc_factory_pin at;
} pins[PINS_MAX];
static uint32_t pin_count;
static struct ipc_posture_full postures[GENERATIONS_MAX][PLAN_PROFILES_MAX];

int generation_take_pin(void *context, struct channel_message *message)
{
	const struct ipc_supervisor_pin *from = ipc_body(message, supervisor_pin);

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

void generation_drop_pins(void)
{
	while (pin_count > 0)
		fd_close(&pins[--pin_count].fd);
}

int generation_send_pins(uint32_t slot, int flags)
{
	int error = 0;

	for (uint32_t i = 0; i < pin_count && !error; i++) {
		pins[i].at.generation = slot;
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_pin, &pins[i].at,
				     &pins[i].fd, flags);
	}
	generation_drop_pins();
	return error;
}

static bool is_profile_possible(const struct plan *plan, const struct plan_profile *profile)
{
	const char *name = plan_string(plan, profile->name);

	if (supervisor.landlock_abi < (int)profile->landlock_abi_min)
		log_line("profile %s requires Landlock ABI %u (ABI 6 is Linux 6.12), this kernel "
			 "has %d: run a newer kernel, or see 'msp doctor' for what 'requirements: "
			 "{landlock: N}' in the configuration gives up",
			 name, profile->landlock_abi_min, supervisor.landlock_abi);
	else if (supervisor.cgroup < 0 && !supervisor.accepts_fallback &&
		 !plan_header(plan)->limits_fallback && !profile->limits_fallback)
		log_line("profile %s requires a delegated cgroup v2 with cpu, memory and pids, and "
			 "there is none here: see 'msp doctor', or accept weaker limits with "
			 "'limits: fallback' in the configuration",
			 name);
	else
		return true;
	return false;
}

/* The launcher's word comes first. */
static const char *default_name(const struct plan *plan)
{
	return supervisor.default_name[0] ? supervisor.default_name
					  : plan_string(plan, plan_header(plan)->default_profile);
}

/* The profile that a request without a name means, or -1. */
static int find_default(const struct plan *plan)
{
	const char *name = default_name(plan);
	const int index = strlen(name) < IPC_NAME_MAX ? plan_profile_find(plan, name) : -1;

	return index >= 0 && !plan_is_internal(plan, plan_profile(plan, (uint32_t)index)) ? index
											  : -1;
}

bool generation_is_possible(const struct plan *plan)
{
	if (find_default(plan) < 0) {
		log_line("there is no profile '%.100s' to be the default one: 'msp profile list' "
			 "shows which there are",
			 default_name(plan));
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
static void enforce_plan(uint32_t slot, const struct plan *plan, int fd)
{
	memset(postures[slot], 0, sizeof(postures[slot]));
	supervisor.generations[slot] = (struct generation){ *plan, fd, 0, postures[slot] };
	supervisor.generations[slot].plan.slot = slot;
	supervisor.plan = supervisor.generations[slot].plan;
	supervisor.plan_fd = fd;
	supervisor.default_profile = (uint32_t)find_default(plan);
	supervisor.generation++;
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
	enforce_plan(0, &plan, fd);
	return true;
}

static void forget_unused(uint32_t slot)
{
	struct generation *generation = &supervisor.generations[slot];
	const struct ipc_factory_forget forget = { .slot = slot };

	if (generation->users > 0 || slot == supervisor.plan.slot)
		return;
	/* A factory that cannot be told is at its end. */
	(void)state_send(&supervisor.factory, IPC_TYPE_factory_forget, &forget, NULL);
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

void generation_stay(const char *why)
{
	supervisor.is_reload_failed = true;
	log_line("the policy stays as it is (generation %u): %s", supervisor.generation, why);
}

static bool give_up(struct plan *plan, const char *why)
{
	plan_close(plan);
	generation_stay(why);
	return false;
}

/* The factory first: what it cannot take shall not hold. */
bool generation_replace(int *fd)
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
	/* Have the factory forget pins that an earlier attempt may have left. */
	if (!error)
		error = state_send(&supervisor.factory, IPC_TYPE_factory_forget, &forget, NULL);
	if (!error)
		error = generation_send_pins(message.slot, MSG_DONTWAIT);
	if (!error)
		error = state_send(&supervisor.factory, IPC_TYPE_factory_policy, &message, fd);
	if (error)
		return give_up(&plan, errno_text(-error));
	enforce_plan(message.slot, &plan, fd_take(fd));
	forget_unused(old);
	supervisor.is_reload_failed = false;
	log_line("policy generation %u is in force", supervisor.generation);
	return true;
}
