/* SPDX-License-Identifier: Apache-2.0 */
#include "run/ahead.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/audit.h"
#include "base/events.h"
#include "common/fd.h"
#include "run/cgroup.h"
#include "run/leaf.h"
#include "run/sandbox.h"

/* How long an init may take to say that what it was to kill is gone. */
#define GRACE_US 2000000

/* One standby process per sandbox. It uses leaf 0, because it starts only when nothing else runs.
 */
#define LEAF 0

struct words;

static struct ahead {
	struct sandbox *sandbox; /* NULL: the place is free */
	bool is_noted;           /* the next standby process is known: */
	bool is_bare;            /* a process for any execution; else `words`, with another path */
	bool is_waiting;         /* it does */
	bool is_ready;           /* that process is there, as the init said */
	bool is_dropped;         /* it did, and its leaf is not gone */
	bool is_gone;            /* but it is, as the init said */
	uint32_t left;           /* how often it may still begin */
	uint64_t due_us;         /* it begins, is dropped, or is looked for */
	uint64_t dropped_us;
	struct ahead_parts parts;
	struct words *words;
} all[AHEAD_MAX];

/* They are large, and all of those are looked at in each turn of the loop. */
static struct words {
	struct ipc_spawn_code code;
	struct ipc_spawn spawn;
} words[AHEAD_MAX];

static const struct ahead_parts no_parts = { { -1, -1, -1 }, { -1, -1, -1 }, -1, { 0 } };

static struct ahead *find_standby(const struct sandbox *sandbox)
{
	for (uint32_t i = 0; i < AHEAD_MAX; i++) {
		if (all[i].sandbox == sandbox)
			return &all[i];
	}
	return NULL;
}

static void close_parts(struct ahead_parts *parts)
{
	fd_close_all(parts->stdio_ours, 3);
	fd_close_all(parts->stdio_workload, 3);
	fd_close(&parts->leaf);
}

static void release_parts(struct ahead *ahead)
{
	if (!ahead->is_noted && !ahead->is_waiting && !ahead->is_dropped)
		ahead->sandbox = NULL;
}

static void drop_standby(struct ahead *ahead)
{
	const struct ipc_spawn_kill kill = { .slot = AHEAD_SLOT };

	if (!ahead->is_waiting)
		return;
	ahead->is_waiting = ahead->is_gone = false;
	ahead->is_dropped = true;
	ahead->dropped_us = ahead->due_us = clock_now_us();
	close_parts(&ahead->parts);
	sandbox_forget_ahead(ahead->sandbox);
	if (supervisor.cgroup >= 0)
		cgroup_kill(ahead->sandbox->slot, LEAF);
	/* An init that cannot take it is ended when the grace is over. */
	(void)channel_send(&ahead->sandbox->init, IPC_TYPE_spawn_kill, &kill, NULL, MSG_DONTWAIT);
}

static void forget_standby(struct ahead *ahead)
{
	ahead->is_noted = false;
	drop_standby(ahead);
	release_parts(ahead);
}

/* --- what it is ------------------------------------------------------------------------------- */

/* The processes that an execution left are killed after its report. If a standby process was
 * refused for them, or ended by itself, the next is tried later. */
static uint64_t pause_us(const struct ahead *ahead)
{
	return (uint64_t)AHEAD_PAUSE_US << (AHEAD_AGAIN - ahead->left);
}

static const char *next_word(const uint8_t *list, uint32_t size, uint32_t *at)
{
	const char *word = (const char *)list + *at;

	if (*at >= size)
		return NULL;
	*at += (uint32_t)strlen(word) + 1;
	return word;
}

/* Compare the arguments without the path, which is in both once and at the same place. */
static bool are_same_words(const struct ahead *ahead, const struct request *request)
{
	const struct ipc_spawn *one = &ahead->words->spawn;
	const struct ipc_spawn *other = request->spawn;
	uint32_t one_at = 0;
	uint32_t other_at = 0;
	uint32_t paths = 0;

	for (;;) {
		const char *a = next_word(one->argv, one->argv_size, &one_at);
		const char *b = next_word(other->argv, other->argv_size, &other_at);

		if (!a || !b)
			return !a && !b && paths == 1;
		const bool is_path = strcmp(a, ahead->words->code.path) == 0;

		if (is_path != (strcmp(b, request->code_path) == 0) ||
		    (!is_path && strcmp(a, b) != 0))
			return false;
		paths += is_path;
	}
}

static bool fits_interpreter(const struct ahead *ahead, const struct request *request)
{
	const struct ipc_spawn *one = &ahead->words->spawn;
	const struct ipc_spawn *other = request->spawn;

	return request->ahead_file && strcmp(one->cwd, other->cwd) == 0 &&
	       one->environment_size == other->environment_size &&
	       memcmp(one->environment, other->environment, one->environment_size) == 0 &&
	       are_same_words(ahead, request);
}

static bool fits_request(const struct ahead *ahead, const struct request *request)
{
	return !request->spawn->use_tty &&
	       (ahead->is_bare ? ahead->is_ready : fits_interpreter(ahead, request));
}

/* Its own words but for the path, which is one of a new file; false: there is no room. */
static bool note_code(struct ahead *ahead, const struct request *request)
{
	struct ipc_spawn *spawn = &words[ahead - all].spawn;
	struct ipc_spawn_code *code = &words[ahead - all].code;
	const struct ipc_spawn *from = request->spawn;
	const char *path;
	const char *word;
	uint32_t at = 0;

	ahead->words = &words[ahead - all];
	spawn->slot = code->slot = AHEAD_SLOT;
	spawn->feed = FEED_WAIT;
	memcpy(spawn->cwd, from->cwd, sizeof(from->cwd));
	spawn->environment_size = from->environment_size;
	memcpy(spawn->environment, from->environment, from->environment_size);
	strncpy(code->path, request->code_path, sizeof(code->path) - 1);
	path = request_place_code(request->ahead_file, true); /* which the request's may lie at */
	spawn->argv_size = 0;
	while (path && (word = next_word(from->argv, from->argv_size, &at))) {
		const char *put = strcmp(word, code->path) == 0 ? path : word;
		const size_t length = strlen(put) + 1;

		if (length > sizeof(spawn->argv) - spawn->argv_size)
			return false;
		memcpy(spawn->argv + spawn->argv_size, put, length);
		spawn->argv_size += (uint32_t)length;
	}
	if (path)
		strncpy(code->path, path, sizeof(code->path) - 1);
	return path;
}

void ahead_note(const struct request *request)
{
	struct ahead *ahead = find_standby(request->sandbox);

	if (!ahead)
		ahead = find_standby(NULL);
	if (!ahead)
		return;
	ahead->sandbox = request->sandbox;
	ahead->is_bare = !request->ahead_file || request->spawn->use_tty;
	ahead->is_noted = ahead->is_bare || note_code(ahead, request);
	ahead->left = AHEAD_AGAIN;
	ahead->due_us = ahead->is_dropped ? ahead->due_us : UINT64_MAX;
}

/* --- its life --------------------------------------------------------------------------------- */

static int ask_init(struct ahead *ahead)
{
	const struct channel *init = &ahead->sandbox->init;
	const struct ipc_spawn_stdio stdio = { .slot = AHEAD_SLOT };
	const struct ipc_spawn_cgroup cgroup = { .slot = AHEAD_SLOT };
	int error = channel_send(init, IPC_TYPE_spawn_stdio, &stdio, ahead->parts.stdio_workload,
				 MSG_DONTWAIT);

	if (!error)
		error = channel_send(init, IPC_TYPE_spawn_code, &ahead->words->code,
				     &supervisor.nothing, MSG_DONTWAIT);
	if (!error && ahead->parts.leaf >= 0)
		error = channel_send(init, IPC_TYPE_spawn_cgroup, &cgroup, &ahead->parts.leaf,
				     MSG_DONTWAIT);
	return error ? error
		     : channel_send(init, IPC_TYPE_spawn, &ahead->words->spawn, NULL, MSG_DONTWAIT);
}

static int make_standby(struct ahead *ahead)
{
	struct sandbox *sandbox = ahead->sandbox;
	int error = ahead->is_bare ? 0
				   : sandbox_make_pipes(ahead->parts.stdio_ours,
							ahead->parts.stdio_workload);

	if (!error && supervisor.cgroup >= 0) {
		cgroup_read(sandbox->slot, &ahead->parts.before);
		ahead->parts.leaf = cgroup_add_leaf(sandbox->slot, LEAF);
		error = ahead->parts.leaf < 0 ? ahead->parts.leaf : 0;
	}
	if (error)
		return error;
	error = ahead->is_bare ? sandbox_ask_ahead(sandbox, ahead->parts.leaf) : ask_init(ahead);
	if (ahead->is_bare)
		fd_close(&ahead->parts.leaf);
	if (error && supervisor.cgroup >= 0)
		(void)cgroup_remove_leaf(sandbox->slot, LEAF); /* unused */
	return error;
}

static bool is_interpreter(const struct ahead *ahead)
{
	return ahead->is_waiting && !ahead->is_bare;
}

static bool has_room(const struct ahead *ahead)
{
	uint32_t interpreters = 0;

	for (uint32_t i = 0; i < AHEAD_MAX; i++)
		interpreters += is_interpreter(&all[i]);
	return ahead->is_bare || interpreters < AHEAD_INTERPRETERS_MAX;
}

/* A sandbox of an older policy is not asked anything more. */
static bool may_wait(const struct ahead *ahead)
{
	const struct sandbox *sandbox = ahead->sandbox;

	return sandbox->state == SANDBOX_LIVE && sandbox->has_answer && sandbox->init.fd >= 0 &&
	       sandbox->leaves == 0 && !sandbox->is_stopping &&
	       sandbox->generation == supervisor.plan.slot && !supervisor.is_ending &&
	       (supervisor.memory_bytes == 0 ||
		sandbox_memory_used() <= supervisor.memory_bytes / 2) &&
	       has_room(ahead);
}

static void begin_standby(struct ahead *ahead)
{
	ahead->parts = no_parts;
	ahead->due_us = UINT64_MAX;
	if (ahead->left-- > 0 && may_wait(ahead) && make_standby(ahead) == 0) {
		ahead->is_waiting = true;
		ahead->is_ready = false;
		ahead->sandbox->leaves |= 1U << LEAF;
		ahead->due_us =
			clock_now_us() + (ahead->is_bare ? AHEAD_BARE_WAIT_US : AHEAD_WAIT_US);
		return;
	}
	close_parts(&ahead->parts);
	ahead->is_noted = false;
	release_parts(ahead);
}

static void look_for(struct ahead *ahead, uint64_t now)
{
	struct sandbox *sandbox = ahead->sandbox;

	if (ahead->is_gone && leaf_clear(sandbox, LEAF)) {
		ahead->is_dropped = false;
		ahead->due_us = sandbox->executions == 0 ? now + pause_us(ahead) : UINT64_MAX;
		sandbox->leaves &= ~(1U << LEAF);
		sandbox->is_changed = true;
		sandbox_stir(sandbox);
		release_parts(ahead);
	} else if (ahead->dropped_us + GRACE_US <= now) {
		event_sandbox_lost(sandbox, STAGE_CHANNEL, ETIMEDOUT);
	} else {
		ahead->due_us = now + SANDBOX_RETRY_US;
	}
}

void ahead_align(struct request *request)
{
	static char path[IPC_PATH_MAX];
	const struct ahead *ahead = request->sandbox ? find_standby(request->sandbox) : NULL;

	if (!ahead || !is_interpreter(ahead) || !fits_request(ahead, request))
		return;
	memcpy(path, ahead->words->code.path, sizeof(path));
	request->code_path = path;
	request->spawn->argv_size = ahead->words->spawn.argv_size;
	memcpy(request->spawn->argv, ahead->words->spawn.argv, ahead->words->spawn.argv_size);
}

bool ahead_take(const struct request *request, uint32_t probe, struct ahead_parts *ret)
{
	struct ahead *ahead = find_standby(request->sandbox);

	if (!ahead)
		return false;
	if (!ahead->is_waiting || probe != PROBE_NONE || !fits_request(ahead, request)) {
		forget_standby(ahead);
		return false;
	}
	*ret = ahead->parts;
	ahead->parts = no_parts;
	if (ahead->is_bare)
		sandbox_take_streams(request->sandbox, ret->stdio_ours);
	request->sandbox->leaves &= ~(1U << LEAF); /* which it gets next */
	return true;
}

void ahead_taken(const struct request *request, bool is_asked)
{
	struct ahead *ahead = find_standby(request->sandbox);

	if (!ahead || !ahead->is_waiting)
		return;
	if (!is_asked)
		request->sandbox->leaves |= 1U << LEAF;
	ahead->is_waiting = !is_asked;
	forget_standby(ahead);
}

void ahead_rest(const struct sandbox *sandbox)
{
	struct ahead *ahead = find_standby(sandbox);

	if (ahead && sandbox->executions == 0 && ahead->is_noted && !ahead->is_dropped)
		ahead->due_us = clock_now_us() + pause_us(ahead);
}

void ahead_ready(const struct sandbox *sandbox)
{
	struct ahead *ahead = find_standby(sandbox);

	if (ahead)
		ahead->is_ready = true;
}

bool ahead_gone(struct sandbox *sandbox, const struct ipc_spawn_done *from)
{
	struct ahead *ahead = find_standby(sandbox);

	if (!ahead || !(ahead->is_waiting || ahead->is_dropped))
		return false;
	if (is_interpreter(ahead) && from->error != EBUSY) {
		audit_standby_end(sandbox, from);
		ahead->is_noted = false;
	}
	drop_standby(ahead); /* and then it begins again if it is noted, later each time */
	ahead->is_gone = true;
	return true;
}

void event_standby_lost(struct sandbox *sandbox)
{
	struct ahead *ahead = find_standby(sandbox);

	if (!ahead)
		return;
	if (ahead->is_waiting || ahead->is_dropped) {
		(void)leaf_clear(sandbox, LEAF); /* else its cgroup is removed with it */
		sandbox->leaves &= ~(1U << LEAF);
	}
	if (ahead->is_waiting)
		close_parts(&ahead->parts);
	ahead->is_noted = ahead->is_waiting = ahead->is_dropped = false;
	release_parts(ahead);
}

bool ahead_is_clear(const struct sandbox *sandbox)
{
	struct ahead *ahead = find_standby(sandbox);

	if (ahead)
		forget_standby(ahead);
	return !ahead || !ahead->is_dropped;
}

void ahead_drop_all(void)
{
	for (uint32_t i = 0; i < AHEAD_MAX; i++) {
		if (all[i].sandbox)
			forget_standby(&all[i]);
	}
}

void ahead_tick(void)
{
	const uint64_t now = clock_now_us();

	for (uint32_t i = 0; i < AHEAD_MAX; i++) {
		struct ahead *ahead = &all[i];

		if (!ahead->sandbox || ahead->due_us > now)
			continue;
		if (ahead->is_waiting)
			forget_standby(ahead);
		else if (ahead->is_dropped)
			look_for(ahead, now);
		else
			begin_standby(ahead);
	}
}

uint64_t ahead_deadline_us(void)
{
	uint64_t earliest = UINT64_MAX;

	for (uint32_t i = 0; i < AHEAD_MAX; i++) {
		if (all[i].sandbox && all[i].due_us < earliest)
			earliest = all[i].due_us;
	}
	return earliest;
}
