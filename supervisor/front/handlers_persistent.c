/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests about persistent sandboxes: to make one, to end one, their checkpoints, and their
 * network.
 */
#include "front/handlers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/audit.h"
#include "base/gateway.h"
#include "base/reply.h"
#include "common/fd.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_store.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "front/handlers_list.h"
#include "persistent/workspace.h"
#include "run/budget.h"
#include "run/deferred.h"
#include "run/request.h"
#include "run/sandbox.h"
#include "stewards/store/store.h"

static struct store_meta meta; /* the new sandbox's */

static void describe_limit(const struct store_meta *of, char detail[IPC_LIST_MAX])
{
	if (of->checkpoint_count == CHECKPOINTS_MAX)
		budget_describe(CHECKPOINTS_MAX, CHECKPOINTS_MAX, "checkpoints", detail);
	else if (of->layer_count == LAYERS_MAX)
		budget_describe(LAYERS_MAX, LAYERS_MAX, "layers", detail);
	else
		budget_describe(LAYERS_DEEP_MAX, LAYERS_DEEP_MAX,
				"layers on one another, until they are merged", detail);
}

/* Explain an error of the store to the client. */
static enum refusal judge_error(int error, const struct store_census *census,
				const struct store_meta *of, char detail[IPC_LIST_MAX])
{
	switch (error) {
	case -EEXIST:
		memcpy(detail, census->id, sizeof(census->id));
		return REFUSAL_SANDBOX_NAME;
	case -EUSERS:
		budget_describe(census->sandboxes, census->sandboxes_max, "sandboxes", detail);
		return REFUSAL_SANDBOXES;
	case -EDQUOT:
		budget_describe(census->bytes >> 20, census->bytes_max >> 20, "MiB", detail);
		return REFUSAL_DISK;
	case -ENOENT:
		return sight_no_checkpoint(of, detail);
	case -E2BIG:
		describe_limit(of, detail);
		return REFUSAL_CHECKPOINT_LIMIT;
	default:
		return reply_reason(REFUSAL_RESOURCES, errno_text(-error), detail);
	}
}

static struct store_census census_limits(void)
{
	const struct plan_header *header = plan_header(&supervisor.plan);

	return (struct store_census){ .sandboxes_max = header->sandboxes_max,
				      .bytes_max = header->sandboxes_bytes };
}

/* Tell of a sandbox that was just made, and unlock it: it has no owner until its first use. If its
 * frontend cannot be told, destroy it. */
static int send_made(const struct frontend *frontend, uint64_t request, int fd, const char *origin,
		     uint32_t checkpoint)
{
	char id[IPC_ID_MAX];
	const struct sight sight = { .id = id, .meta = &meta, .used_s = store_used_s(fd) };
	int error;

	store_id_text(meta.id, id);
	error = sight_tell(frontend, request, &sight);
	if (error)
		(void)store_destroy(id); /* or its time will be over */
	else
		audit_sandbox_begin(frontend, id, &meta, origin, checkpoint);
	fd_close(&fd);
	return error;
}

/* --- a new one -------------------------------------------------------------------------------- */

static bool has_workspace(const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(&supervisor.plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].place && strcmp(plan_string(&supervisor.plan, mounts[i].place),
					      PLAN_PLACE_WORKSPACE) == 0)
			return true;
	}
	return false;
}

/* Check it against the policy and fill in the meta. */
static enum refusal compose_meta(const struct ipc_sandbox_new *from, char detail[IPC_LIST_MAX])
{
	const struct plan_profile *profile;
	const char *name;
	uint32_t index;
	enum refusal refusal = request_profile(from->profile, from->no_hosts, &index);

	if (refusal)
		return refusal;
	profile = plan_profile(&supervisor.plan, index);
	name = plan_string(&supervisor.plan, profile->name);
	(void)snprintf(detail, IPC_LIST_MAX, "%.100s", name);
	if (!plan_lasts(&supervisor.plan, profile) ||
	    (from->workspace_mode != WORKSPACE_NONE && !has_workspace(profile)))
		return REFUSAL_SANDBOX_PROFILE;
	(void)snprintf(detail, IPC_LIST_MAX,
		       "the profile %.100s does not allow to work on a directory of the host in "
		       "this way; 'workspace' of its 'lasting' in the configuration can",
		       name);
	if (!plan_may_work(profile, from->workspace_mode))
		return REFUSAL_WORKSPACE;
	(void)snprintf(detail, IPC_LIST_MAX, "%.400s is no absolute path", from->workspace);
	if (from->workspace[0] != (from->workspace_mode == WORKSPACE_NONE ? '\0' : '/'))
		return REFUSAL_WORKSPACE;
	detail[0] = '\0';
	if (from->name[0] && !store_is_name(from->name))
		return REFUSAL_SANDBOX_NAME;
	memset(&meta, 0, sizeof(meta));
	memcpy(meta.name, from->name, sizeof(meta.name));
	memcpy(meta.owner, from->owner, sizeof(meta.owner));
	(void)snprintf(meta.profile, sizeof(meta.profile), "%.63s", name);
	meta.workspace_mode = from->workspace_mode;
	meta.ttl_s = from->ttl_s == 0                   ? profile->ttl_default_s
		     : from->ttl_s < profile->ttl_max_s ? from->ttl_s
							: profile->ttl_max_s;
	return REFUSAL_NONE;
}

/* 0, with what it is in the meta; -EINPROGRESS: later; -errno with the reason. */
static int open_workspace(struct frontend *frontend, const struct ipc_sandbox_new *from,
			  char detail[IPC_LIST_MAX])
{
	int fd FD_OWNED = -1;
	struct stat is;

	if (from->workspace_mode == WORKSPACE_NONE)
		return 0;
	fd = workspace_find(frontend, from->workspace, !frontend->is_broker, meta.workspace,
			    detail);
	if (fd < 0)
		return fd;
	if (fstat(fd, &is) != 0)
		return -errno;
	meta.workspace_device = is.st_dev;
	meta.workspace_inode = is.st_ino;
	meta.is_persons = !frontend->is_broker;
	return 0;
}

static int create_sandbox(const struct frontend *frontend, uint64_t request)
{
	struct store_census census = census_limits();
	char detail[IPC_LIST_MAX] = "";
	enum refusal refusal;
	int fd = store_create(&meta, &census);

	if ((fd == -EUSERS || fd == -EDQUOT) && sweep_expired() > 0)
		fd = store_create(&meta, &census);
	if (fd >= 0)
		return send_made(frontend, request, fd, NULL, 0);
	refusal = judge_error(fd, &census, &meta, detail);
	return reply_refuse(frontend, request, refusal, detail, 0);
}

int handle_sandbox_new(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_new *from = ipc_body(message, sandbox_new);
	enum refusal refusal = REFUSAL_STATE;
	struct frontend *frontend = context;
	char detail[IPC_LIST_MAX] = "";
	int error = 0;

	if (from->workspace_mode >= WORKSPACE_MODE_COUNT)
		return -EPROTO;
	(void)snprintf(detail, sizeof(detail), "%s", supervisor.stateless);
	if (!detail[0])
		refusal = compose_meta(from, detail);
	if (!refusal)
		error = open_workspace(frontend, from, detail);
	if (error)
		refusal = error == -EINPROGRESS ? REFUSAL_DEFERRED : REFUSAL_WORKSPACE;
	return refusal ? deferred_refuse(frontend, message, from->owner, NULL, refusal, detail)
		       : create_sandbox(frontend, from->request);
}

/* --- the end of one --------------------------------------------------------------------------- */

static int destroy_sandbox(struct sandbox *sandbox)
{
	const int error = store_destroy(sandbox->persistent.id);

	if (error)
		return error;
	audit_sandbox_end(sandbox->persistent.id, "destroyed");
	sandbox_disown(sandbox);
	return 0;
}

/* Discard a damaged sandbox for any client that knows its id. */
static int discard_damaged(const struct frontend *frontend, const struct ipc_sandbox_end *from,
			   const char *damage)
{
	const int error = store_is_id(from->sandbox) ? store_discard(from->sandbox) : -EBADMSG;

	if (error == -EBADMSG)
		return reply_refuse(frontend, from->request, REFUSAL_SANDBOX_DAMAGED, damage, 0);
	if (!error)
		audit_sandbox_end(from->sandbox, "damaged");
	return reply_done(frontend, from->request, error);
}

/* May its files be changed now? An apply that was interrupted comes first: what it displaced of the
 * host's is with them. And what becomes a layer is noted before. */
static enum refusal let_change(struct sandbox *sandbox, struct frontend *frontend, bool is_kept,
			       char detail[IPC_LIST_MAX])
{
	enum refusal refusal = REFUSAL_NONE;
	uint32_t profile;

	if (sandbox->persistent.is_interrupted ||
	    (is_kept && sandbox->persistent.scan.state == SCAN_BLOCKED))
		refusal = sandbox_prepare(sandbox, frontend, false, &profile, detail);
	if (refusal && (refusal == REFUSAL_DEFERRED || sandbox->persistent.is_interrupted))
		return refusal;
	/* Files that were not noted count as changed. */
	return deferred_is_behind(frontend, sandbox) || !sandbox_stop(sandbox) ? REFUSAL_DEFERRED
									       : REFUSAL_NONE;
}

int handle_sandbox_end(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_end *from = ipc_body(message, sandbox_end);
	const bool is_destroyed = from->how != SANDBOX_END_STOP;
	const bool is_spared = from->how == SANDBOX_END_EMPTY; /* if it is in use */
	struct frontend *frontend = context;
	char detail[IPC_LIST_MAX] = "";
	struct sandbox *sandbox;
	enum refusal refusal;

	if (from->how < SANDBOX_END_STOP || from->how > SANDBOX_END_EMPTY)
		return -EPROTO;
	refusal = is_spared ? sandbox_own_idle(&from->head, &sandbox, detail)
			    : sandbox_own(&from->head, &sandbox, detail);
	if (refusal == REFUSAL_SANDBOX_DAMAGED && from->how == SANDBOX_END_DESTROY)
		return discard_damaged(frontend, from, detail);
	if (!refusal && is_spared && !store_is_empty(sandbox->persistent.meta))
		refusal = reply_reason(REFUSAL_SANDBOX_BUSY, "it has files", detail);
	if (!refusal && is_destroyed)
		refusal = let_change(sandbox, frontend, false, detail);
	else if (!refusal && (!sandbox_stop(sandbox) || deferred_is_behind(frontend, sandbox)))
		refusal = REFUSAL_DEFERRED;
	if (refusal)
		return deferred_refuse(frontend, message, from->owner, sandbox, refusal, detail);
	if (is_destroyed)
		return reply_done(frontend, from->request, destroy_sandbox(sandbox));
	audit_sandbox_change(frontend, sandbox->persistent.id, "stop", 0);
	return reply_done(frontend, from->request, 0);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static int send_checkpoint(const struct frontend *frontend, uint64_t request,
			   const struct store_meta *of, const struct store_checkpoint *at)
{
	struct ipc_checkpoint_info info = {
		.request = request,
		.number = at->number,
		.parent = store_checkpoint_of(of, at->layer, at->number),
		.is_current = store_checkpoint_of(of, of->upper, UINT32_MAX) == at->number,
		.created_s = at->created_s,
	};

	memcpy(info.name, at->name, sizeof(info.name));
	return reply_send(frontend, IPC_TYPE_checkpoint_info, &info);
}

static int list_checkpoints(const struct frontend *frontend, const struct ipc_checkpoint_do *from)
{
	char id[IPC_ID_MAX];
	struct sight sight;
	int error = -ENOENT;

	if (supervisor.stateless[0])
		return reply_refuse(frontend, from->request, REFUSAL_STATE, supervisor.stateless,
				    0);
	if (store_find(from->owner, from->sandbox, id))
		error = sight_look(id, &sight);
	if (error == -ENOENT)
		return reply_refuse(frontend, from->request, REFUSAL_SANDBOX_UNKNOWN, "", 0);
	if (error)
		return reply_done(frontend, from->request, error);
	if (!sight.meta)
		return reply_refuse(frontend, from->request, REFUSAL_SANDBOX_DAMAGED,
				    "its meta is not as it was written", 0);
	for (uint32_t i = 0; i < sight.meta->checkpoint_count && !error; i++)
		error = send_checkpoint(frontend, from->request, sight.meta,
					&sight.meta->checkpoints[i]);
	return error ? error : reply_done(frontend, from->request, 0);
}

/* Return the checkpoint that is meant, the newest of a name; 0: none. */
static uint32_t find_number(const struct store_meta *of, const struct ipc_checkpoint_do *from)
{
	uint32_t number = from->of[0] ? 0 : from->number;

	for (uint32_t i = 0; i < of->checkpoint_count && from->of[0]; i++) {
		if (strcmp(of->checkpoints[i].name, from->of) == 0)
			number = of->checkpoints[i].number;
	}
	return number;
}

static int fork_at(const struct ipc_checkpoint_do *from, struct persistent *own, uint32_t number,
		   struct store_census *census)
{
	int fd;

	if (number == 0 && (from->of[0] || from->number > 0))
		return -ENOENT;
	do
		fd = store_fork(own->directory, own->meta, number, from->name, census, &meta);
	while ((fd == -EUSERS || fd == -EDQUOT) && sweep_expired() > 0);
	return fd;
}

/* Change checkpoints: no execution runs in the sandbox, and none of its layers is mounted. */
static int act_on(const struct frontend *frontend, const struct ipc_checkpoint_do *from,
		  struct persistent *own)
{
	static const char *const words[] = { [CHECKPOINT_SAVE] = "save",
					     [CHECKPOINT_ROLLBACK] = "rollback",
					     [CHECKPOINT_DELETE] = "delete" };
	uint32_t number = find_number(own->meta, from);
	struct store_census census = census_limits();
	struct store_checkpoint made;
	char detail[IPC_LIST_MAX] = "";
	enum refusal refusal;
	int result;

	if (from->operation == CHECKPOINT_SAVE)
		result = store_checkpoint(own->directory, own->meta, from->name, &made);
	else if (from->operation == CHECKPOINT_FORK)
		result = fork_at(from, own, number, &census);
	else if (from->operation == CHECKPOINT_ROLLBACK)
		result = store_rollback(own->directory, own->meta, number);
	else
		result = store_forget(own->directory, own->meta, number);
	if (result < 0) {
		refusal = judge_error(result, &census, own->meta, detail);
		return reply_refuse(frontend, from->request, refusal, detail, 0);
	}
	if (from->operation == CHECKPOINT_FORK)
		return send_made(frontend, from->request, result, own->id, number);
	if (from->operation == CHECKPOINT_SAVE)
		number = made.number;
	audit_sandbox_change(frontend, own->id, words[from->operation], number);
	return from->operation == CHECKPOINT_SAVE
		       ? send_checkpoint(frontend, from->request, own->meta, &made)
		       : reply_done(frontend, from->request, 0);
}

int handle_checkpoint_do(void *context, struct channel_message *message)
{
	const struct ipc_checkpoint_do *from = ipc_body(message, checkpoint_do);
	struct frontend *frontend = context;
	char detail[IPC_LIST_MAX] = "";
	enum refusal refusal = REFUSAL_SANDBOX_NAME;
	struct sandbox *sandbox = NULL;

	if (from->operation < CHECKPOINT_SAVE || from->operation >= CHECKPOINT_OPERATION_COUNT)
		return -EPROTO;
	if (from->operation == CHECKPOINT_LIST)
		return list_checkpoints(frontend, from);
	if (!from->name[0] || store_is_name(from->name))
		refusal = sandbox_own_idle(&from->head, &sandbox, detail);
	if (!refusal)
		refusal = let_change(sandbox, frontend,
				     from->operation == CHECKPOINT_SAVE ||
					     from->operation == CHECKPOINT_FORK,
				     detail);
	return refusal ? deferred_refuse(frontend, message, from->owner, sandbox, refusal, detail)
		       : act_on(frontend, from, &sandbox->persistent);
}

/* --- the network ------------------------------------------------------------------------------ */

/* The closed channel says that no such sandbox runs here. */
int handle_network_watch(void *context, struct channel_message *message)
{
	const struct ipc_network_watch *from = ipc_body(message, network_watch);
	const struct frontend *frontend = context;
	const struct sandbox *sandbox =
		from->sandbox[0] ? sandbox_find(from->owner, from->sandbox) : NULL;
	const struct ipc_cable_watch watch = { { from->head },
					       frontend->number,
					       frontend->is_broker,
					       sandbox ? sandbox->slot : GATEWAY_SLOTS };

	if (sandbox || !from->sandbox[0])
		gateway_tell(IPC_TYPE_cable_watch, &watch, message->fds);
	return 0;
}
