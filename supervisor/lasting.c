/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes that last: who has them, when they live, and when what was done in them is noted.
 *
 * What an execution changed msp-layers notes later. Until then a mark in the sandbox's directory
 * says since when: what the host changed after that may not be what a copy was made from.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ahead.h"
#include "cgroup.h"
#include "common/fd.h"
#include "execution.h"
#include "handlers.h"
#include "lasting_rest.h"
#include "layers_job.h"
#include "sandbox.h"
#include "store.h"
#include "workspace.h"

/* Between two counts of what a sandbox takes while something runs in it. */
#define NOTE_US 2000000

/* From the end of an execution to a note: longer than a client takes for the next call of a series,
 * with which msp-layers would compete. Who asks for what is noted has it noted at once. */
#define SETTLED_US 300000

/* Until what could not be begun is tried again. */
#define LATER_US 100000

#define MARK "unnoted"

static struct store_meta metas[SANDBOXES_MAX];

/* By these one is found without a look at the metas, which are far from one another. */
static struct {
	uint32_t id, name;
} keys[SANDBOXES_MAX];

/* --- whose they are --------------------------------------------------------------------------- */

/* The next one that is ours, behind that one or (NULL) the first; NULL: there is none. */
static struct sandbox *next_of(const struct sandbox *sandbox)
{
	uint32_t slot = sandbox ? sandbox->slot + 1 : EPHEMERAL_MAX;

	while (slot < supervisor.sandboxes_used && supervisor.sandboxes[slot].state == SANDBOX_FREE)
		slot++;
	return slot < supervisor.sandboxes_used ? &supervisor.sandboxes[slot] : NULL;
}

static uint32_t key_of(const char *text)
{
	uint32_t key = 2166136261U; /* FNV-1a; who makes two alike only makes them slower to find */

	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 16777619U;
	return key;
}

struct sandbox *sandbox_find(const char *id)
{
	const uint32_t key = key_of(id);

	for (uint32_t slot = EPHEMERAL_MAX; slot < supervisor.sandboxes_used; slot++) {
		struct sandbox *sandbox = &supervisor.sandboxes[slot];

		if (keys[slot - EPHEMERAL_MAX].id == key && sandbox->state != SANDBOX_FREE &&
		    strcmp(sandbox->id, id) == 0)
			return sandbox;
	}
	return NULL;
}

static struct sandbox *find_called(const char *owner, const char *name)
{
	const uint32_t key = key_of(name);

	for (uint32_t slot = EPHEMERAL_MAX; slot < supervisor.sandboxes_used; slot++) {
		struct sandbox *sandbox = &supervisor.sandboxes[slot];
		const uint32_t at = slot - EPHEMERAL_MAX;

		if ((keys[at].id == key || keys[at].name == key) &&
		    sandbox->state != SANDBOX_FREE && strcmp(sandbox->meta->owner, owner) == 0 &&
		    (strcmp(sandbox->id, name) == 0 || strcmp(sandbox->meta->name, name) == 0))
			return sandbox;
	}
	return NULL;
}

bool sandbox_look_up(const char *owner, const char *name, char ret[IPC_ID_MAX])
{
	const struct sandbox *sandbox = find_called(owner, name);

	if (sandbox)
		memcpy(ret, sandbox->id, IPC_ID_MAX);
	return sandbox || store_find(owner, name, ret);
}

/* What a crash left: files of which nobody noted what they are made from, and half an apply. */
static void look_back(struct sandbox *sandbox)
{
	struct stat is;

	sandbox->is_marked = fstatat(sandbox->directory, MARK, &is, AT_SYMLINK_NOFOLLOW) == 0;
	sandbox->is_dirty = sandbox->has_mark = sandbox->is_marked;
	if (sandbox->is_marked)
		sandbox->since_us =
			(uint64_t)is.st_mtim.tv_sec * 1000000 + (uint64_t)is.st_mtim.tv_nsec / 1000;
	sandbox->is_interrupted = store_is_interrupted(sandbox->directory);
}

static int take(const char *id, struct sandbox **ret)
{
	uint32_t slot = EPHEMERAL_MAX;
	struct sandbox *sandbox;
	int directory;

	while (slot < SANDBOX_SLOTS && supervisor.sandboxes[slot].state != SANDBOX_FREE)
		slot++;
	if (slot == SANDBOX_SLOTS)
		return -EMFILE;
	directory = store_take(id, &metas[slot - EPHEMERAL_MAX]);
	if (directory < 0)
		return directory;
	sandbox = &supervisor.sandboxes[slot];
	*sandbox = (struct sandbox){ .state = SANDBOX_COLD,
				     .slot = slot,
				     .init.fd = -1,
				     .ahead.fd = -1,
				     .ahead_stdio = { -1, -1, -1 },
				     .pidfd = -1,
				     .meta = &metas[slot - EPHEMERAL_MAX],
				     .directory = directory,
				     .workspace = -1 };
	memcpy(sandbox->id, id, sizeof(sandbox->id));
	keys[slot - EPHEMERAL_MAX].id = key_of(id);
	keys[slot - EPHEMERAL_MAX].name = key_of(sandbox->meta->name);
	if (slot >= supervisor.sandboxes_used)
		supervisor.sandboxes_used = slot + 1;
	look_back(sandbox);
	*ret = sandbox;
	return 0;
}

enum refusal sandbox_refuse(enum refusal reason, const char *text, char detail[IPC_LIST_MAX])
{
	(void)snprintf(detail, IPC_LIST_MAX, "%s", text);
	return reason;
}

enum refusal sandbox_own(const char *owner, const char *name, struct sandbox **ret,
			 char detail[IPC_LIST_MAX])
{
	struct sandbox *sandbox = find_called(owner, name);
	char id[IPC_ID_MAX];
	int error = 0;

	if (!sandbox && supervisor.stateless[0])
		return sandbox_refuse(REFUSAL_STATE, supervisor.stateless, detail);
	if (!sandbox)
		error = store_find(owner, name, id) ? take(id, &sandbox) : -ENOENT;
	if (error == -ENOENT)
		return REFUSAL_SANDBOX_UNKNOWN;
	if (error == -EBUSY)
		return REFUSAL_SANDBOX_ELSEWHERE;
	if (error == -EBADMSG)
		return sandbox_refuse(REFUSAL_SANDBOX_DAMAGED,
				      "its meta is not as it was written, or a layer is missing",
				      detail);
	if (error)
		return sandbox_refuse(REFUSAL_RESOURCES, strerror(-error), detail);
	sandbox_stir(sandbox);
	*ret = sandbox;
	return REFUSAL_NONE;
}

void sandbox_disown(struct sandbox *sandbox)
{
	fd_close(&sandbox->workspace);
	fd_close(&sandbox->directory);
	sandbox->state = SANDBOX_FREE;
	while (supervisor.sandboxes_used > EPHEMERAL_MAX &&
	       supervisor.sandboxes[supervisor.sandboxes_used - 1].state == SANDBOX_FREE)
		supervisor.sandboxes_used--;
	layers_job_empty_trash();
	handlers_wake(sandbox);
}

/* --- what may be asked of them ---------------------------------------------------------------- */

enum refusal sandbox_own_idle(const char *owner, const char *name, struct sandbox **ret,
			      char detail[IPC_LIST_MAX])
{
	const enum refusal refusal = sandbox_own(owner, name, ret, detail);
	const uint32_t running = refusal ? 0 : execution_count(*ret);

	if (running > 0)
		(void)snprintf(detail, IPC_LIST_MAX, "%u execution(s)", running);
	return running > 0 ? REFUSAL_SANDBOX_BUSY : refusal;
}

/* Has it to be noted first? That is not put off any longer, then; nor is it waited for where it
 * cannot be begun. */
static bool needs_note(struct sandbox *sandbox)
{
	const uint64_t now = clock_now_us();

	if (!sandbox->is_dirty || sandbox->is_unnoted || sandbox->is_overdue)
		return false;
	if (sandbox->executions == 0 && sandbox->note_us > now)
		sandbox->note_us = sandbox->due_us = now;
	return sandbox->note_us <= now;
}

bool sandbox_stop(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_COLD && sandbox->jobs == 0 && !needs_note(sandbox))
		return true;
	sandbox->is_stopping = true;
	sandbox_stir(sandbox);
	execution_kill_all(sandbox, VERDICT_STOPPED);
	return false;
}

int sandbox_await(const struct sandbox *sandbox, struct frontend *frontend,
		  struct channel_message *message)
{
	frontend->awaits = sandbox;
	return handlers_later(frontend, message);
}

static bool is_over_disk(const struct sandbox *sandbox, const struct plan_profile *profile)
{
	return sandbox->meta->disk_bytes > profile->disk_bytes ||
	       sandbox->meta->disk_inodes > profile->disk_inodes;
}

static enum refusal find_profile(const struct sandbox *sandbox, uint32_t *ret,
				 char detail[IPC_LIST_MAX])
{
	const int index = plan_profile_find(&supervisor.plan, sandbox->meta->profile);
	const struct plan_profile *profile =
		index < 0 ? NULL : plan_profile(&supervisor.plan, (uint32_t)index);

	if (!profile || plan_is_internal(&supervisor.plan, profile) ||
	    !plan_lasts(&supervisor.plan, profile))
		return sandbox_refuse(REFUSAL_SANDBOX_PROFILE, sandbox->meta->profile, detail);
	*ret = (uint32_t)index;
	if (plan_may_work(profile, sandbox->meta->workspace_mode))
		return REFUSAL_NONE;
	return sandbox_refuse(
		REFUSAL_WORKSPACE,
		"its profile no longer allows to work on a directory of the host in this way",
		detail);
}

/* Can it have one more execution? */
static enum sandbox_answer make_room(struct sandbox *sandbox, const struct plan_profile *profile,
				     enum refusal *ret, char detail[IPC_LIST_MAX])
{
	const uint32_t running = execution_count(sandbox);
	const bool is_older = sandbox->generation != supervisor.plan.slot;

	if (running == SANDBOX_EXECUTIONS_MAX ||
	    (sandbox->state == SANDBOX_LIVE && is_older && running > 0)) {
		(void)snprintf(detail, IPC_LIST_MAX, "%u executions%s", running,
			       is_older ? " that began under an older policy" : "");
		*ret = REFUSAL_SANDBOX_BUSY;
		return SANDBOX_REFUSED;
	}
	if (is_over_disk(sandbox, profile)) {
		(void)snprintf(detail, IPC_LIST_MAX, "%llu of %llu MiB, %llu of %llu files",
			       (unsigned long long)sandbox->meta->disk_bytes >> 20,
			       (unsigned long long)profile->disk_bytes >> 20,
			       (unsigned long long)sandbox->meta->disk_inodes,
			       (unsigned long long)profile->disk_inodes);
		*ret = REFUSAL_DISK;
		return SANDBOX_REFUSED;
	}
	if (sandbox->executions == SANDBOX_EXECUTIONS_MAX ||
	    (sandbox->leaves == (1U << SANDBOX_EXECUTIONS_MAX) - 1 && !ahead_is_clear(sandbox)))
		return SANDBOX_WAIT;
	if (sandbox->state == SANDBOX_LIVE && (is_older || sandbox->init.fd < 0)) {
		sandbox->is_stopping = true;
		return SANDBOX_WAIT;
	}
	return SANDBOX_READY;
}

static bool is_meant(const struct store_meta *meta, int fd, const char *path)
{
	struct stat is;

	return strcmp(path, meta->workspace) == 0 && fstat(fd, &is) == 0 &&
	       is.st_dev == meta->workspace_device && is.st_ino == meta->workspace_inode;
}

/* What the path leads to has to be what the sandbox was made on; see is_persons for who asks. Where
 * a broker made it, each other one has to have it open, too, also while it is live. */
static enum sandbox_answer open_workspace(struct sandbox *sandbox, struct frontend *frontend,
					  enum refusal *ret, char detail[IPC_LIST_MAX])
{
	const struct store_meta *meta = sandbox->meta;
	static char path[IPC_PATH_MAX];
	int fd;

	if (meta->workspace_mode == WORKSPACE_NONE ||
	    (sandbox->workspace >= 0 && (meta->is_persons || !frontend->is_broker ||
					 strcmp(frontend->opened, sandbox->id) == 0)))
		return SANDBOX_READY;
	fd = workspace_find(frontend, meta->workspace, meta->is_persons || !frontend->is_broker,
			    path, detail);
	if (fd == -EINPROGRESS)
		return SANDBOX_WAIT;
	if (fd >= 0 && is_meant(meta, fd, path)) {
		fd_close(&sandbox->workspace);
		sandbox->workspace = fd;
		memcpy(frontend->opened, sandbox->id, IPC_ID_MAX);
		sandbox->is_unnoted = false;
		return SANDBOX_READY;
	}
	*ret = REFUSAL_WORKSPACE;
	if (fd >= 0)
		(void)snprintf(detail, IPC_LIST_MAX,
			       "%.400s is another directory (%.400s) than the sandbox was made on: "
			       "put that back in its place",
			       meta->workspace, path);
	fd_close(&fd);
	return SANDBOX_REFUSED;
}

/* What nobody asks for. */
static int begin_job(struct sandbox *sandbox, uint32_t operation)
{
	const struct layers_ask ask = { .sandbox = sandbox,
					.operation = operation,
					.since_us = sandbox->since_us,
					.chosen = -1 };

	return layers_job_begin(&ask);
}

/* Half an apply is made a whole one or none. What that fails for, the next apply will say. */
static enum sandbox_answer recover(struct sandbox *sandbox)
{
	if (!sandbox->is_interrupted || sandbox->meta->workspace_mode != WORKSPACE_COPY)
		return SANDBOX_READY;
	if (!sandbox->writer) {
		sandbox->is_interrupted = false;
		if (begin_job(sandbox, LAYERS_RECOVER) != 0)
			return SANDBOX_READY;
	}
	return SANDBOX_WAIT;
}

enum sandbox_answer sandbox_prepare(struct sandbox *sandbox, struct frontend *frontend,
				    bool execute, uint32_t *ret_profile, enum refusal *ret,
				    char detail[IPC_LIST_MAX])
{
	enum sandbox_answer answer = SANDBOX_READY;

	*ret = find_profile(sandbox, ret_profile, detail);
	if (*ret)
		return SANDBOX_REFUSED;
	if (sandbox->is_stopping || sandbox->state == SANDBOX_ENDING)
		return SANDBOX_WAIT;
	if (!execute && !ahead_is_clear(sandbox))
		return SANDBOX_WAIT;
	if (execute)
		answer = layers_job_writes_host(sandbox->writer)
				 ? SANDBOX_WAIT
				 : make_room(sandbox, plan_profile(&supervisor.plan, *ret_profile),
					     ret, detail);
	if (answer == SANDBOX_READY)
		answer = open_workspace(sandbox, frontend, ret, detail);
	if (answer == SANDBOX_READY)
		answer = recover(sandbox);
	if (answer != SANDBOX_READY || execute)
		return answer;
	if (layers_job_is_long(sandbox->writer)) {
		*ret = sandbox_refuse(REFUSAL_SANDBOX_BUSY,
				      "its changes are being applied or merged", detail);
		return SANDBOX_REFUSED;
	}
	return sandbox->writer || needs_note(sandbox) ? SANDBOX_WAIT : SANDBOX_READY;
}

/* --- their executions ------------------------------------------------------------------------- */

static void set_mark(struct sandbox *sandbox)
{
	int fd;

	if (!sandbox->is_dirty)
		sandbox->dirty_us = clock_now_us();
	sandbox->is_dirty = true;
	sandbox->is_unnoted = false;
	if (sandbox->is_marked)
		return;
	sandbox->is_marked = true;
	sandbox->since_us = sandbox_real_us();
	if (sandbox->has_mark)
		return;
	sandbox->has_mark = true;
	/* Without it a crash would let too much count as known; nothing else needs it. */
	fd = openat(sandbox->directory, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	fd_close(&fd);
	store_touch(sandbox->directory);
}

/* All is noted. One that lives keeps the file for its next execution: that it says an earlier time
 * than it could only makes a crash let less count as known. */
static void clear_mark(struct sandbox *sandbox)
{
	sandbox->is_marked = false;
	if (sandbox->state == SANDBOX_LIVE) {
		(void)utimensat(sandbox->directory, MARK, NULL, 0);
		return;
	}
	sandbox->has_mark = false;
	(void)unlinkat(sandbox->directory, MARK, 0); /* a mark more is no fault */
}

int sandbox_join(struct sandbox *sandbox, uint32_t *ret_leaf)
{
	for (uint32_t leaf = 0; leaf < SANDBOX_EXECUTIONS_MAX; leaf++) {
		if (sandbox->leaves & 1U << leaf)
			continue;
		sandbox->leaves |= 1U << leaf;
		sandbox->executions++;
		set_mark(sandbox);
		sandbox->note_us = sandbox->dirty_us + NOTE_US;
		sandbox_stir(sandbox);
		*ret_leaf = leaf;
		return 0;
	}
	return -EBUSY;
}

bool sandbox_clear_leaf(const struct sandbox *sandbox, uint32_t leaf)
{
	return supervisor.cgroup < 0 || cgroup_remove_leaf(sandbox->slot, leaf);
}

void sandbox_leave(struct sandbox *sandbox, uint32_t leaf)
{
	sandbox->leaves &= ~(1U << leaf);
	sandbox->executions--;
	sandbox->idle_us = clock_now_us();
	if (sandbox->idle_us + SETTLED_US < sandbox->note_us)
		sandbox->note_us = sandbox->idle_us + SETTLED_US;
	sandbox->is_changed = true;
	sandbox_stir(sandbox);
	ahead_rest(sandbox);
}

/* --- what is due ------------------------------------------------------------------------------ */

void sandbox_noted(struct sandbox *sandbox, uint64_t began_us, int error,
		   const struct ipc_layers_done *done)
{
	sandbox->note_us = clock_now_us() + NOTE_US;
	if (error) {
		sandbox->is_dirty = true;
		sandbox->is_unnoted = sandbox->executions == 0;
		return;
	}
	sandbox->since_us = began_us;
	store_count(sandbox->directory, sandbox->meta, done->bytes, done->inodes);
	if (!sandbox->is_dirty)
		clear_mark(sandbox);
	store_touch(sandbox->directory);
	if (sandbox->state == SANDBOX_LIVE && is_over_disk(sandbox, sandbox_profile(sandbox)))
		execution_kill_all(sandbox, VERDICT_DISK);
}

/* What the host's files were is told only by them. */
static bool can_note(const struct sandbox *sandbox)
{
	return sandbox->meta->workspace_mode != WORKSPACE_COPY || sandbox->workspace >= 0;
}

/* Nobody will call again, or wants to wait. */
static bool is_at_rest(const struct sandbox *sandbox)
{
	return sandbox->executions == 0 &&
	       (sandbox->state != SANDBOX_LIVE || sandbox->is_stopping || supervisor.is_ending);
}

static void note(struct sandbox *sandbox)
{
	int error;

	sandbox->is_dirty = sandbox->executions > 0;
	sandbox->dirty_us = clock_now_us();
	error = begin_job(sandbox, LAYERS_NOTE);
	sandbox->is_overdue = error && error != -EAGAIN;
	if (!error)
		return;
	sandbox->is_dirty = true;
	/* One that ends is noted when it is used the next time. */
	sandbox->is_unnoted = sandbox->is_overdue && is_at_rest(sandbox);
	sandbox->is_changed |= sandbox->is_overdue; /* who waits goes on without it */
	sandbox->note_us = clock_now_us() + LATER_US;
	if (sandbox->note_us < sandbox->due_us)
		sandbox->due_us = sandbox->note_us;
}

static bool is_awaited(const struct sandbox *sandbox)
{
	size_t i = 0;

	while (i < FRONTENDS_MAX && supervisor.frontends[i].awaits != sandbox)
		i++;
	return i < FRONTENDS_MAX;
}

static bool merge(struct sandbox *sandbox)
{
	if ((supervisor.is_ending && !supervisor.is_persons) || sandbox->is_merged)
		return false;
	sandbox->is_merged = true; /* or will be, when it is owned the next time */
	return begin_job(sandbox, LAYERS_MERGE) == 0;
}

static uint64_t idle_end_us(const struct sandbox *sandbox)
{
	if (sandbox->is_stopping || supervisor.is_ending)
		return 0;
	return sandbox->idle_us + (uint64_t)sandbox_profile(sandbox)->idle_s * 1000000;
}

static void settle(struct sandbox *sandbox, uint64_t now)
{
	sandbox->due_us = UINT64_MAX;
	if (sandbox->state == SANDBOX_LIVE && sandbox->executions == 0) {
		sandbox->due_us = idle_end_us(sandbox);
		if (sandbox->due_us <= now)
			sandbox_end(sandbox);
	}
	if (sandbox->state == SANDBOX_ENDING && sandbox->executions == 0 &&
	    sandbox_is_over(sandbox)) {
		sandbox->is_changed |= sandbox_clear(sandbox);
		sandbox->due_us = now + SANDBOX_RETRY_US;
	}
	if (sandbox->state == SANDBOX_COLD && sandbox->has_mark && !sandbox->is_marked)
		clear_mark(sandbox);
	if (sandbox->is_dirty && !sandbox->is_unnoted && !can_note(sandbox))
		sandbox->is_unnoted = sandbox->is_changed = true;
	if (sandbox->is_dirty && !sandbox->is_unnoted && !sandbox->writer) {
		if (sandbox->note_us <= now || is_at_rest(sandbox))
			note(sandbox);
		else if (sandbox->note_us < sandbox->due_us)
			sandbox->due_us = sandbox->note_us;
	}
	if (sandbox->is_changed) {
		sandbox->is_changed = false;
		sandbox->due_us = now; /* who is woken may change anything */
		sandbox->is_stopping &= sandbox->state != SANDBOX_COLD;
		handlers_wake(sandbox);
	} else if (sandbox->state == SANDBOX_COLD && sandbox->jobs == 0 && !is_awaited(sandbox) &&
		   !(sandbox->is_dirty && !sandbox->is_unnoted) && !merge(sandbox)) {
		sandbox_disown(sandbox);
	}
}

/* Nothing but the time, or who stirs it, changes anything about it. */
static bool may_rest(const struct sandbox *sandbox, uint64_t now)
{
	return sandbox->state == SANDBOX_LIVE && sandbox->jobs == 0 && !sandbox->is_changed &&
	       !sandbox->is_stopping && sandbox->due_us > now;
}

void sandbox_tick(void)
{
	const uint64_t now = clock_now_us();
	struct sandbox *sandbox;

	rest_end_due(now);
	for (sandbox = rest_next(NULL); sandbox; sandbox = rest_next(sandbox)) {
		if (sandbox->state != SANDBOX_FREE)
			settle(sandbox, now);
		if (sandbox->state == SANDBOX_FREE || may_rest(sandbox, now))
			rest_begin(sandbox);
	}
}

bool sandbox_end_all(void)
{
	rest_end_due(UINT64_MAX);
	sandbox_tick();
	return next_of(NULL) == NULL;
}
