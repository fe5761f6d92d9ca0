/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes: who has them, when they live, and when what was done in them is noted.
 *
 * What an execution changed msp-layers notes later. Until then a mark in the sandbox's directory
 * says since when: what the host changed after that may not be what a copy was made from.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reply.h"
#include "common/fd.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "persistent/layers_job.h"
#include "persistent/scan.h"
#include "persistent/workspace.h"
#include "run/deferred.h"
#include "run/execution.h"
#include "run/persistent_rest.h"
#include "run/sandbox.h"
#include "run/standby.h"
#include "stewards/store/store.h"

static struct store_meta metas[SANDBOXES_MAX];

/* By these one is found without a look at the metas, which are far from one another. */
static struct {
	uint32_t id, name;
} keys[SANDBOXES_MAX];

/* --- whose they are --------------------------------------------------------------------------- */

struct sandbox *sandbox_find(const char *owner, const char *name)
{
	const uint32_t key = state_key(name);

	FOR_EACH_PERSISTENT (sandbox) {
		const struct persistent *own = &sandbox->persistent;
		const uint32_t at = sandbox->slot - EPHEMERAL_MAX;

		if ((keys[at].id != key && keys[at].name != key) || sandbox->state == SANDBOX_FREE)
			continue;
		if ((!owner || strcmp(own->meta->owner, owner) == 0) &&
		    (strcmp(own->id, name) == 0 || (owner && strcmp(own->meta->name, name) == 0)))
			return sandbox;
	}
	return NULL;
}

bool sandbox_look_up(const char *owner, const char *name, char ret[IPC_ID_MAX])
{
	const struct sandbox *sandbox = sandbox_find(owner, name);

	if (sandbox)
		memcpy(ret, sandbox->persistent.id, IPC_ID_MAX);
	return sandbox || store_find(owner, name, ret);
}

static int lock_sandbox(const char *id, struct sandbox **ret)
{
	uint32_t slot = EPHEMERAL_MAX;
	struct persistent *own;
	int directory;

	while (slot < SANDBOX_SLOTS && supervisor.sandboxes[slot].state != SANDBOX_FREE)
		slot++;
	if (slot == SANDBOX_SLOTS)
		return -EMFILE;
	directory = store_take(id, &metas[slot - EPHEMERAL_MAX]);
	if (directory < 0)
		return directory;
	*ret = sandbox_reset(slot);
	(*ret)->state = SANDBOX_COLD;
	own = &(*ret)->persistent;
	own->meta = &metas[slot - EPHEMERAL_MAX];
	own->directory = directory;
	memcpy(own->id, id, sizeof(own->id));
	keys[slot - EPHEMERAL_MAX].id = state_key(id);
	keys[slot - EPHEMERAL_MAX].name = state_key(own->meta->name);
	if (slot >= supervisor.sandboxes_used)
		supervisor.sandboxes_used = slot + 1;
	scan_recall(own);
	own->is_interrupted = store_is_interrupted(directory);
	return 0;
}

enum refusal sandbox_own(const struct ipc_head *head, struct sandbox **ret,
			 char detail[IPC_LIST_MAX])
{
	struct sandbox *sandbox = sandbox_find(head->owner, head->sandbox);
	char id[IPC_ID_MAX];
	int error = 0;

	if (!sandbox && supervisor.stateless[0])
		return reply_reason(REFUSAL_STATE, supervisor.stateless, detail);
	if (!sandbox)
		error = store_find(head->owner, head->sandbox, id) ? lock_sandbox(id, &sandbox)
								   : -ENOENT;
	if (error == -ENOENT)
		return REFUSAL_SANDBOX_UNKNOWN;
	if (error == -EBUSY)
		return reply_reason(REFUSAL_SANDBOX_ELSEWHERE, id, detail);
	if (error == -EBADMSG)
		return reply_reason(REFUSAL_SANDBOX_DAMAGED,
				    "its meta is not as it was written, or a layer is missing",
				    detail);
	if (error)
		return reply_reason(REFUSAL_RESOURCES, errno_text(-error), detail);
	sandbox_stir(sandbox);
	*ret = sandbox;
	return REFUSAL_NONE;
}

void sandbox_disown(struct sandbox *sandbox)
{
	fd_close_all(sandbox->persistent.hosts, 2);
	fd_close(&sandbox->persistent.directory);
	sandbox->state = SANDBOX_FREE;
	while (supervisor.sandboxes_used > EPHEMERAL_MAX &&
	       supervisor.sandboxes[supervisor.sandboxes_used - 1].state == SANDBOX_FREE)
		supervisor.sandboxes_used--;
	layers_job_empty_trash();
	deferred_wake(sandbox);
}

/* --- what may be asked of them ---------------------------------------------------------------- */

enum refusal sandbox_own_idle(const struct ipc_head *head, struct sandbox **ret,
			      char detail[IPC_LIST_MAX])
{
	const enum refusal refusal = sandbox_own(head, ret, detail);
	const uint32_t running = refusal ? 0 : execution_count(*ret);

	if (running > 0)
		(void)snprintf(detail, IPC_LIST_MAX, "%u execution(s)", running);
	return running > 0 ? REFUSAL_SANDBOX_BUSY : refusal;
}

bool sandbox_stop(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_COLD && sandbox->persistent.jobs == 0 &&
	    !scan_is_needed(&sandbox->persistent))
		return true;
	sandbox->persistent.is_stopping = true;
	sandbox_stir(sandbox);
	execution_kill_all(sandbox, VERDICT_STOPPED);
	return false;
}

static enum refusal find_profile(const struct store_meta *meta, uint32_t *ret,
				 char detail[IPC_LIST_MAX])
{
	const int index = plan_profile_find(&supervisor.plan, meta->profile);
	const struct plan_profile *profile =
		index < 0 ? NULL : plan_profile(&supervisor.plan, (uint32_t)index);

	if (!profile || plan_is_internal(&supervisor.plan, profile) ||
	    !plan_lasts(&supervisor.plan, profile))
		return reply_reason(REFUSAL_SANDBOX_PROFILE, meta->profile, detail);
	*ret = (uint32_t)index;
	if (plan_may_work(profile, meta->workspace_mode))
		return REFUSAL_NONE;
	return reply_reason(REFUSAL_WORKSPACE,
			    "its profile no longer allows this kind of workspace", detail);
}

/* Can it have one more execution? At the disk limit it is made live with other rights (child-init),
 * by which nothing grows and files can be removed. */
static enum refusal make_room(struct sandbox *sandbox, const struct plan_profile *profile,
			      char detail[IPC_LIST_MAX])
{
	const uint32_t running = execution_count(sandbox);
	const bool is_older = sandbox->generation != supervisor.plan.slot;
	struct persistent *own = &sandbox->persistent;
	const bool is_full = scan_is_over(own, profile);
	const char *before = is_older                   ? " that began under an older policy"
			     : own->is_full && !is_full ? " that began at its disk limit"
							: "";

	if (running == SANDBOX_EXECUTIONS_MAX ||
	    (sandbox->state == SANDBOX_LIVE && before[0] && running > 0)) {
		(void)snprintf(detail, IPC_LIST_MAX, "%u executions%s", running, before);
		return REFUSAL_SANDBOX_BUSY;
	}
	/* At the limit its executions end first, and what the last one removed is counted. */
	if (own->executions == SANDBOX_EXECUTIONS_MAX ||
	    (is_full && (running == 0 || !own->is_full) &&
	     (own->executions || own->writer || scan_is_needed(own))) ||
	    (own->leaves == (1U << SANDBOX_EXECUTIONS_MAX) - 1 && !standby_is_clear(sandbox)))
		return REFUSAL_DEFERRED;
	own->is_full = sandbox->state == SANDBOX_LIVE ? own->is_full : is_full;
	own->is_stopping = sandbox->state == SANDBOX_LIVE &&
			   (is_older || own->is_full != is_full || sandbox->init.fd < 0);
	return own->is_stopping ? REFUSAL_DEFERRED : REFUSAL_NONE;
}

/* Open the workspace, which must be the directory that the sandbox was made on; is_persons says who
 * asks. If a broker made the sandbox, each other one has to have it open, too, also while it is
 * live. A request that is no execution asks for it anew: git may name other paths in it by now. */
static enum refusal open_workspace(struct persistent *own, struct frontend *frontend, bool execute,
				   char detail[IPC_LIST_MAX])
{
	const struct store_meta *meta = own->meta;
	static char path[IPC_PATH_MAX];
	int fd FD_OWNED = -1;
	struct stat is;

	if (meta->workspace_mode == WORKSPACE_NONE ||
	    (execute && own->hosts[0] >= 0 &&
	     (meta->is_persons || !frontend->is_broker || strcmp(frontend->opened, own->id) == 0)))
		return REFUSAL_NONE;
	fd = workspace_find(frontend, meta->workspace, meta->is_persons || !frontend->is_broker,
			    path, detail);
	if (fd == -EINPROGRESS)
		return REFUSAL_DEFERRED;
	if (fd >= 0 && strcmp(path, meta->workspace) == 0 && fstat(fd, &is) == 0 &&
	    is.st_dev == meta->workspace_device && is.st_ino == meta->workspace_inode) {
		fd_replace(&own->hosts[0], fd_take(&fd));
		fd_replace(&own->hosts[1], fd_take(&workspace_came()[1]));
		memcpy(frontend->opened, own->id, IPC_ID_MAX);
		scan_step(own, SCAN_ON_RETRY);
		return REFUSAL_NONE;
	}
	if (fd >= 0)
		(void)snprintf(detail, IPC_LIST_MAX,
			       "%.400s is another directory (%.400s) than the sandbox was made on: "
			       "put that back in its place",
			       meta->workspace, path);
	return REFUSAL_WORKSPACE;
}

/* Half an apply is made a whole one or none. What that fails for, the next apply will say. */
static enum refusal recover_apply(struct sandbox *sandbox)
{
	struct persistent *own = &sandbox->persistent;

	if (!own->is_interrupted || own->meta->workspace_mode != WORKSPACE_COPY)
		return REFUSAL_NONE;
	if (own->writer)
		return REFUSAL_DEFERRED;
	own->is_interrupted = false;
	return layers_job_begin_own(sandbox, LAYERS_RECOVER) == 0 ? REFUSAL_DEFERRED : REFUSAL_NONE;
}

enum refusal sandbox_prepare(struct sandbox *sandbox, struct frontend *frontend, bool execute,
			     uint32_t *ret_profile, char detail[IPC_LIST_MAX])
{
	struct persistent *own = &sandbox->persistent;
	enum refusal refusal = find_profile(own->meta, ret_profile, detail);

	if (refusal)
		return refusal;
	if (own->is_stopping || sandbox->state == SANDBOX_ENDING ||
	    deferred_is_behind(frontend, sandbox) ||
	    (execute ? layers_job_writes_host(own->writer) : !standby_is_clear(sandbox)))
		return REFUSAL_DEFERRED;
	if (execute)
		refusal = make_room(sandbox, plan_profile(&supervisor.plan, *ret_profile), detail);
	if (!refusal)
		refusal = open_workspace(own, frontend, execute, detail);
	if (!refusal)
		refusal = recover_apply(sandbox);
	if (!refusal && execute)
		refusal = scan_await_count(own, detail);
	if (refusal || execute)
		return refusal;
	if (layers_job_is_long(own->writer))
		return reply_reason(REFUSAL_SANDBOX_BUSY, "its changes are being applied or merged",
				    detail);
	return own->writer || scan_is_needed(own) ? REFUSAL_DEFERRED : REFUSAL_NONE;
}

/* --- what is due ------------------------------------------------------------------------------ */

static bool merge_layers(struct sandbox *sandbox)
{
	if ((supervisor.is_ending && !supervisor.is_persons) || sandbox->persistent.is_merged)
		return false;
	sandbox->persistent.is_merged = true; /* or will be, when it is owned the next time */
	return layers_job_begin_own(sandbox, LAYERS_MERGE) == 0;
}

static void settle_sandbox(struct sandbox *sandbox, uint64_t now)
{
	struct persistent *own = &sandbox->persistent;

	own->due_us = UINT64_MAX;
	if (sandbox->state == SANDBOX_LIVE && own->executions == 0) {
		own->due_us = own->idle_us + (uint64_t)sandbox_profile(sandbox)->idle_s * 1000000;
		if (own->due_us <= now || own->is_stopping || supervisor.is_ending)
			standby_end_sandbox(sandbox);
	}
	if (sandbox->state == SANDBOX_ENDING && own->executions == 0 && sandbox_is_over(sandbox)) {
		own->is_changed |= sandbox_clear(sandbox);
		own->due_us = now + SANDBOX_RETRY_US;
	}
	scan_settle(sandbox, now);
	if (own->is_changed) {
		own->is_changed = false;
		own->due_us = now; /* a woken request may change anything */
		own->is_stopping &= sandbox->state != SANDBOX_COLD;
		deferred_wake(sandbox);
	} else if (sandbox->state == SANDBOX_COLD && own->jobs == 0 &&
		   !deferred_is_awaited(sandbox) && own->scan.state != SCAN_DUE &&
		   !merge_layers(sandbox)) {
		sandbox_disown(sandbox);
	}
}

void sandbox_tick(void)
{
	const uint64_t now = clock_now_us();
	struct sandbox *sandbox;

	rest_end_due(now);
	for (sandbox = rest_next(NULL); sandbox; sandbox = rest_next(sandbox)) {
		if (sandbox->state != SANDBOX_FREE)
			settle_sandbox(sandbox, now);
		/* Only the time or sandbox_stir() changes anything about a sandbox that rests. */
		if (sandbox->state == SANDBOX_FREE ||
		    (sandbox->state == SANDBOX_LIVE && sandbox->persistent.jobs == 0 &&
		     !sandbox->persistent.is_changed && !sandbox->persistent.is_stopping &&
		     sandbox->persistent.due_us > now))
			rest_begin(sandbox);
	}
}

bool sandbox_end_all(void)
{
	rest_end_due(UINT64_MAX);
	sandbox_tick();
	/* The last that is used is no free one; 0: none ever was. */
	return supervisor.sandboxes_used <= EPHEMERAL_MAX;
}
