/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/gateway.h"
#include "base/generation.h"
#include "common/confine/cgroup.h"
#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/layer_role.h"
#include "common/ipc/workspace_mode.h"
#include "common/kernel.h"
#include "run/cgroup.h"
#include "stewards/store/store.h"

const struct plan *sandbox_plan(const struct sandbox *sandbox)
{
	return &supervisor.generations[sandbox->generation].plan;
}

const struct plan_profile *sandbox_profile(const struct sandbox *sandbox)
{
	return plan_profile(sandbox_plan(sandbox), sandbox->profile);
}

struct sandbox *sandbox_reset(uint32_t slot)
{
	supervisor.sandboxes[slot] = (struct sandbox){ .slot = slot,
						       .init.fd = -1,
						       .standby.fd = -1,
						       .standby_stdio = { -1, -1, -1 },
						       .pidfd = -1,
						       .network = -1,
						       .persistent.hosts = { -1, -1 } };
	return &supervisor.sandboxes[slot];
}

struct sandbox *sandbox_ephemeral(void)
{
	uint32_t slot = supervisor.ephemeral_taken;

	while (slot < EPHEMERAL_MAX - 1 && supervisor.sandboxes[slot].state != SANDBOX_FREE)
		slot++;
	supervisor.ephemeral_taken = slot;
	return sandbox_reset(slot);
}

void sandbox_renew(struct sandbox *sandbox, uint32_t profile)
{
	sandbox->generation = supervisor.plan.slot;
	sandbox->profile = profile;
	sandbox->has_answer = false;
	sandbox->cable = 0;
}

int sandbox_make(struct sandbox *sandbox, struct sandbox_parts *ret)
{
	const struct plan_profile *profile = plan_profile(&supervisor.plan, sandbox->profile);
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	sandbox->init = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_INIT, IPC_SERVE };
	ret->init_end = ends[1];
	if (supervisor.cgroup >= 0)
		error = cgroup_create(sandbox->slot, profile, &ret->cgroup, &ret->leaf);
	return error;
}

int sandbox_watch(struct sandbox *sandbox)
{
	return loop_add(&sandbox->init_watch, sandbox->init.fd,
			supervisor.sandbox_handlers->on_message, sandbox);
}

void sandbox_unmake(struct sandbox *sandbox, const struct sandbox_parts *parts)
{
	loop_close(&sandbox->init_watch, &sandbox->init.fd);
	sandbox_forget_standby(sandbox);
	if (parts->cgroup >= 0)
		(void)cgroup_remove(supervisor.cgroup, sandbox->slot); /* unused */
}

/* As the next one; *number counts them. `layer` NULL: the workspace. There may be many, and the
 * factory always reads. */
static int send_layer(uint32_t *number, uint32_t mount, uint32_t role,
		      const struct store_layer *layer)
{
	struct ipc_sandbox_layer message = { (*number)++, mount, role, "" };

	if (layer)
		store_id_text(layer->id, message.id);
	return channel_send(&supervisor.factory, IPC_TYPE_sandbox_layer, &message, NULL, 0);
}

static int send_workspace(const struct persistent *own, uint32_t *number, uint32_t mount,
			  uint32_t role, bool is_git)
{
	const struct ipc_sandbox_workspace message = { is_git };
	const int error = channel_send(&supervisor.factory, IPC_TYPE_sandbox_workspace, &message,
				       &own->hosts[is_git], 0);

	return error ? error : send_layer(number, mount, role, NULL);
}

static int send_place(const struct persistent *own, uint32_t *number, uint32_t mount,
		      const char *place)
{
	const struct store_meta *meta = own->meta;
	const struct store_layer *upper = &meta->layers[meta->upper];
	const bool is_git = strcmp(place, PLAN_PLACE_GIT) == 0;
	const uint32_t mode = strcmp(place, PLAN_PLACE_WORKSPACE) == 0 ? meta->workspace_mode
			      : is_git                                 ? (uint32_t)WORKSPACE_COPY
								       : (uint32_t)WORKSPACE_NONE;
	int error = 0;

	if (mode == WORKSPACE_READ || mode == WORKSPACE_WRITE)
		return send_workspace(own, number, mount,
				      mode == WORKSPACE_READ ? LAYER_READ : LAYER_WRITE, false);
	for (uint32_t layer = upper->parent; layer != STORE_NO_LAYER && !error;
	     layer = meta->layers[layer].parent)
		error = send_layer(number, mount, LAYER_LOWER, &meta->layers[layer]);
	if (!error && mode == WORKSPACE_COPY)
		error = send_workspace(own, number, mount, LAYER_LOWER, is_git);
	if (!error)
		error = send_layer(number, mount, LAYER_UPPER, upper);
	return error ? error : send_layer(number, mount, LAYER_WORK, upper);
}

/* Send the factory, before it is asked for the init of a persistent sandbox, the directories that
 * its persistent mounts are made of. *ret_count is how many were sent. */
static int send_layers(const struct sandbox *sandbox, uint32_t *ret_count)
{
	const struct plan *plan = &supervisor.plan;
	const struct plan_profile *profile = plan_profile(plan, sandbox->profile);
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	int error = 0;

	*ret_count = 0;
	for (uint32_t i = 0; i < profile->mount_count && !error; i++) {
		if (mounts[i].place &&
		    (mounts[i].kind != PLAN_DIRECTORY || sandbox->persistent.hosts[1] >= 0))
			error = send_place(&sandbox->persistent, ret_count, i,
					   plan_string(plan, mounts[i].place));
	}
	return error;
}

static int ask_factory(const struct sandbox *sandbox, uint32_t probe,
		       const struct sandbox_parts *parts)
{
	const struct ipc_sandbox_cgroup cgroup = { .slot = sandbox->slot };
	struct ipc_sandbox_create create = { .slot = sandbox->slot,
					     .profile = sandbox->profile,
					     .generation = sandbox->generation,
					     .probe = probe,
					     .lasts = (uint32_t)sandbox_lasts(sandbox) +
						      sandbox->persistent.is_full,
					     .is_last = supervisor.is_for_one };
	int error = create.lasts ? send_layers(sandbox, &create.layers) : 0;

	if (!error && parts->cgroup >= 0)
		error = state_send(&supervisor.factory, IPC_TYPE_sandbox_cgroup, &cgroup,
				   &parts->cgroup);
	if (!error)
		error = state_send(&supervisor.factory, IPC_TYPE_sandbox_create, &create,
				   &parts->init_end);
	return error;
}

void sandbox_launch(struct sandbox *sandbox, uint32_t probe, const struct sandbox_parts *parts)
{
	int error;

	sandbox->state = SANDBOX_LIVE;
	generation_hold(sandbox->generation);
	supervisor.starts_pending++;
	error = ask_factory(sandbox, probe, parts);
	/* No answer comes: what it heard of this one it forgets with the next. Where it has ended,
	 * why waits in its channel, and ends us. */
	if (error && error != -EPIPE)
		(void)sandbox_failed(sandbox->slot, STAGE_CLONE, (uint32_t)-error);
}

void sandbox_take_streams(struct sandbox *sandbox, int ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = fd_take(&sandbox->standby_stdio[i]);
}

void sandbox_forget_standby(struct sandbox *sandbox)
{
	fd_close(&sandbox->standby.fd);
	fd_close_all(sandbox->standby_stdio, 3);
}

int sandbox_make_pipes(int ours[3], int workload[3])
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) != 0)
			return -errno;
		ours[i] = i == 0 ? ends[1] : ends[0];
		workload[i] = i == 0 ? ends[0] : ends[1];
	}
	return 0;
}

int sandbox_give(const struct channel *init, const struct sandbox_given *given)
{
	const struct ipc_spawn_stdio slot = {
		.slot = given->slot
	}; /* the others have it alone, too */
	const struct {
		uint32_t type;
		const void *message;
		const int *fds; /* the message is left out without them */
	} parts[] = {
		{ IPC_TYPE_spawn_stdio, &slot, given->stdio },
		{ IPC_TYPE_spawn_code, given->where, &given->code },
		{ IPC_TYPE_spawn_image, &slot, &given->image },
		{ IPC_TYPE_spawn_cgroup, &slot, &given->leaf },
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !error; i++) {
		if (parts[i].fds[0] >= 0)
			error = state_send(init, parts[i].type, parts[i].message, parts[i].fds);
	}
	return error;
}

/* They need not wait for a request, and are there before the process is. */
static int hand_streams(struct sandbox *sandbox)
{
	const struct ipc_spawn_stdio stdio = { .slot = STANDBY_SLOT };
	int workload[3] = { -1, -1, -1 };
	int error = sandbox_make_pipes(sandbox->standby_stdio, workload);

	if (!error)
		error = state_send(&sandbox->standby, IPC_TYPE_spawn_stdio, &stdio, workload);
	fd_close_all(workload, 3);
	return error;
}

/* It waits in the init's channel, like what comes later. */
int sandbox_ask_standby(struct sandbox *sandbox, int leaf)
{
	const struct ipc_spawn_standby standby = { .sandbox = sandbox->slot };
	const struct ipc_spawn_standby_leaf in_leaf = { .sandbox = sandbox->slot };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	const int fds[] = { ends[1], leaf };

	sandbox->standby = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_INIT, IPC_SERVE };
	error = hand_streams(sandbox);
	if (!error)
		error = leaf < 0 ? state_send(&sandbox->init, IPC_TYPE_spawn_standby, &standby, fds)
				 : state_send(&sandbox->init, IPC_TYPE_spawn_standby_leaf, &in_leaf,
					      fds);
	fd_close(&ends[1]);
	if (error)
		sandbox_forget_standby(sandbox);
	return error;
}

static void on_pid(void *context)
{
	struct sandbox *sandbox = context;

	loop_close(&sandbox->pid_watch, &sandbox->pidfd);
	supervisor.sandbox_handlers->on_over(sandbox);
}

static struct sandbox *find_waiting(uint32_t slot)
{
	struct sandbox *sandbox = slot < SANDBOX_SLOTS ? &supervisor.sandboxes[slot] : NULL;

	return sandbox && sandbox->state >= SANDBOX_LIVE && !sandbox->has_answer ? sandbox : NULL;
}

static void note_answer(struct sandbox *sandbox)
{
	sandbox->has_answer = true;
	supervisor.starts_pending--;
}

int sandbox_created(void *context, struct channel_message *message)
{
	struct sandbox *sandbox = find_waiting(ipc_slot(message));
	int error;

	if (!sandbox)
		return -EPROTO;
	note_answer(sandbox);
	sandbox->pidfd = channel_take_fd(message, 0);
	error = loop_add(&sandbox->pid_watch, sandbox->pidfd, on_pid, sandbox);
	if (!error && sandbox->state == SANDBOX_ENDING)
		sandbox_end(sandbox);
	else if (!error && sandbox->init.fd < 0)
		supervisor.sandbox_handlers->on_lost(sandbox, STAGE_CHANNEL, EPIPE);
	return error;
}

int sandbox_failed(uint32_t slot, uint32_t stage, uint32_t error)
{
	struct sandbox *sandbox = find_waiting(slot);

	if (!sandbox)
		return -EPROTO;
	note_answer(sandbox);
	if (sandbox->state == SANDBOX_LIVE)
		supervisor.sandbox_handlers->on_lost(sandbox, stage, error);
	else
		supervisor.sandbox_handlers->on_over(sandbox);
	return 0;
}

void sandbox_end(struct sandbox *sandbox)
{
	sandbox->state = SANDBOX_ENDING;
	if (sandbox_lasts(sandbox))
		sandbox_stir(sandbox);
	if (sandbox->cable > 0)
		gateway_tell(IPC_TYPE_cable_end, &(struct ipc_cable_end){ sandbox->slot }, NULL);
	fd_close(&sandbox->network);
	loop_close(&sandbox->init_watch, &sandbox->init.fd);
	sandbox_forget_standby(sandbox);
	/* ESRCH: it went by itself when its channel ended. EBADF: the factory has not answered. */
	(void)kernel_pidfd_send_signal(sandbox->pidfd, SIGKILL);
}

bool sandbox_is_over(const struct sandbox *sandbox)
{
	return sandbox->pidfd < 0 && (sandbox->has_answer || supervisor.factory.fd < 0);
}

bool sandbox_clear(struct sandbox *sandbox)
{
	if (supervisor.cgroup >= 0 && !cgroup_remove(supervisor.cgroup, sandbox->slot))
		return false;
	sandbox->state = sandbox_lasts(sandbox) ? SANDBOX_COLD : SANDBOX_FREE;
	if (!sandbox_lasts(sandbox) && sandbox->slot < supervisor.ephemeral_taken)
		supervisor.ephemeral_taken = sandbox->slot;
	generation_release(sandbox->generation);
	return true;
}

static uint64_t reserved_bytes(void)
{
	uint64_t sum = 0;

	FOR_EACH_EXECUTION (execution) {
		if (execution->state != EXECUTION_FREE && !sandbox_lasts(execution->sandbox))
			sum += sandbox_profile(execution->sandbox)->memory_bytes;
	}
	FOR_EACH_PERSISTENT (sandbox) {
		if (sandbox->state == SANDBOX_LIVE || sandbox->state == SANDBOX_ENDING)
			sum += sandbox_profile(sandbox)->memory_bytes;
	}
	return sum;
}

uint64_t sandbox_memory_used(void)
{
	return supervisor.cgroup >= 0 ? cgroup_memory_used() : reserved_bytes();
}
