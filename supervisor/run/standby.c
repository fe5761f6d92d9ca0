/* SPDX-License-Identifier: Apache-2.0 */
#include "run/standby.h"

#include <errno.h>
#include <string.h>

#include "base/audit.h"
#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "run/cgroup.h"
#include "run/sandbox.h"

/* How long an init may take to say that what it was to kill is gone. */
#define GRACE_US 2000000

/* One standby process per sandbox. It uses leaf 0, because it starts only when nothing else runs.
 */
#define LEAF 0

/* The words of each place are large, and all places are looked at in each turn of the loop. */
static struct words {
	struct ipc_spawn_code code;
	struct ipc_spawn spawn;
} words[STANDBY_MAX];

static struct standby {
	struct sandbox *sandbox; /* NULL: the place is free; if nothing more is set, it can be */
	bool is_noted;           /* the next standby process is known: */
	bool is_bare;            /* a process for any execution; else `words`, with another path */
	bool was_code;           /* the last execution */
	bool other_follows[2];   /* code followed the last command, a command the last code */
	bool is_waiting;         /* it does */
	bool is_ready;           /* that process is there, as the init said */
	bool is_dropped;         /* it did, and its leaf is not gone */
	bool is_gone;            /* but it is, as the init said */
	uint32_t left;           /* how often it may still begin */
	uint64_t due_us;         /* it begins, is dropped, or is looked for */
	uint64_t dropped_us;
	struct standby_parts parts;
	struct words *words; /* NULL: no code has run */
} all[STANDBY_MAX];

static const struct standby_parts no_parts = STANDBY_PARTS_NONE;

static struct standby *find_standby(const struct sandbox *sandbox)
{
	FOR_EACH (standby, standby, all, STANDBY_MAX) {
		if (standby->sandbox == sandbox)
			return standby;
	}
	return NULL;
}

/* The sandbox's place, or one that is free or only remembers what another sandbox ran. */
static struct standby *find_place(struct sandbox *sandbox, bool is_code)
{
	struct standby *place = find_standby(sandbox);

	for (uint32_t i = 0; i < STANDBY_MAX && !place; i++) {
		if (!all[i].is_noted && !all[i].is_waiting && !all[i].is_dropped)
			place = &all[i];
	}
	if (place && place->sandbox != sandbox)
		*place = (struct standby){ sandbox, .was_code = is_code, .parts = no_parts };
	return place;
}

static void close_parts(struct standby_parts *parts)
{
	fd_close_all(parts->stdio_ours, 3);
	fd_close_all(parts->stdio_workload, 3);
	fd_close(&parts->leaf);
}

static void drop_standby(struct standby *standby)
{
	const struct ipc_spawn_kill kill = { .slot = STANDBY_SLOT };

	if (!standby->is_waiting)
		return;
	standby->is_waiting = standby->is_gone = false;
	standby->is_dropped = true;
	standby->dropped_us = standby->due_us = clock_now_us();
	close_parts(&standby->parts);
	sandbox_forget_standby(standby->sandbox);
	if (supervisor.cgroup >= 0)
		cgroup_kill(standby->sandbox->slot, LEAF);
	/* An init that cannot take it is ended when the grace is over. */
	(void)state_send(&standby->sandbox->init, IPC_TYPE_spawn_kill, &kill, NULL);
}

static void forget_standby(struct standby *standby)
{
	standby->is_noted = false;
	drop_standby(standby);
}

/* --- what it is ------------------------------------------------------------------------------- */

/* The processes that an execution left are killed after its report. If a standby process was
 * refused for them, or ended by itself, the next is tried later. */
static uint64_t pause_us(const struct standby *standby)
{
	return (uint64_t)STANDBY_PAUSE_US << (STANDBY_AGAIN - standby->left);
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
static bool are_same_words(const struct standby *standby, const struct request *request)
{
	const struct ipc_spawn *one = &standby->words->spawn;
	const struct ipc_spawn *other = request->spawn;
	uint32_t one_at = 0, other_at = 0, paths = 0;

	for (;;) {
		const char *a = next_word(one->argv, one->argv_size, &one_at);
		const char *b = next_word(other->argv, other->argv_size, &other_at);

		if (!a || !b)
			return !a && !b && paths == 1;
		const bool is_path = strcmp(a, standby->words->code.path) == 0;

		if (is_path != (strcmp(b, request->code_path) == 0) ||
		    (!is_path && strcmp(a, b) != 0))
			return false;
		paths += is_path;
	}
}

static bool fits_interpreter(const struct standby *standby, const struct request *request)
{
	const struct ipc_spawn *one = &standby->words->spawn;
	const struct ipc_spawn *other = request->spawn;

	return request->standby_file && strcmp(one->cwd, other->cwd) == 0 &&
	       one->environment_size == other->environment_size &&
	       memcmp(one->environment, other->environment, one->environment_size) == 0 &&
	       are_same_words(standby, request);
}

static bool fits_request(const struct standby *standby, const struct request *request)
{
	return !request->spawn->use_tty &&
	       (standby->is_bare ? standby->is_ready : fits_interpreter(standby, request));
}

/* Its own words but for the path, which is one of a new file; false: there is no room. */
static bool note_code(struct standby *standby, const struct request *request)
{
	struct ipc_spawn *spawn = &words[standby - all].spawn;
	struct ipc_spawn_code *code = &words[standby - all].code;
	const struct ipc_spawn *from = request->spawn;
	const char *path, *word;
	uint32_t at = 0;

	spawn->slot = code->slot = STANDBY_SLOT;
	spawn->feed = FEED_WAIT;
	memcpy(spawn->cwd, from->cwd, sizeof(from->cwd));
	spawn->environment_size = from->environment_size;
	memcpy(spawn->environment, from->environment, from->environment_size);
	strncpy(code->path, request->code_path, sizeof(code->path) - 1);
	path = request_place_code(request->standby_file, true); /* which the request's may lie at */
	spawn->argv_size = 0;
	while (path && (word = next_word(from->argv, from->argv_size, &at))) {
		const char *put = strcmp(word, code->path) == 0 ? path : word;

		if (!request_put(spawn->argv, IPC_ARGV_MAX, &spawn->argv_size, put,
				 strlen(put) + 1))
			return false;
	}
	if (path)
		strncpy(code->path, path, sizeof(code->path) - 1);
	return path;
}

void standby_note(const struct request *request)
{
	const bool is_code = request->standby_file && !request->spawn->use_tty;
	struct standby *standby = find_place(request->sandbox, is_code);

	if (!standby)
		return;
	standby->other_follows[standby->was_code] = is_code != standby->was_code;
	standby->was_code = is_code;
	if (is_code)
		standby->words = note_code(standby, request) ? &words[standby - all] : NULL;
	standby->is_bare = !standby->words || is_code == standby->other_follows[is_code];
	standby->is_noted = true;
	standby->left = STANDBY_AGAIN;
	standby->due_us = standby->is_dropped ? standby->due_us : UINT64_MAX;
}

/* --- its life --------------------------------------------------------------------------------- */

static int make_standby(struct standby *new)
{
	struct sandbox *sandbox = new->sandbox;
	struct standby_parts *parts = &new->parts;
	struct sandbox_given given = { STANDBY_SLOT,
				       parts->stdio_workload,
				       supervisor.nothing,
				       new->is_bare ? NULL : &new->words->code,
				       -1,
				       -1 };
	int error = new->is_bare ? 0 : sandbox_make_pipes(parts->stdio_ours, parts->stdio_workload);

	if (!error && supervisor.cgroup >= 0) {
		cgroup_read(sandbox->slot, &parts->before);
		given.leaf = parts->leaf = cgroup_add_leaf(sandbox->slot, LEAF);
		error = parts->leaf < 0 ? parts->leaf : 0;
	}
	if (!error && new->is_bare) {
		error = sandbox_ask_standby(sandbox, parts->leaf);
		fd_close(&parts->leaf);
	} else if (!error) {
		error = sandbox_give(&sandbox->init, &given);
		if (!error)
			error = state_send(&sandbox->init, IPC_TYPE_spawn, &new->words->spawn,
					   NULL);
	}
	if (error)
		(void)cgroup_remove_leaf(sandbox->slot, LEAF); /* unused */
	return error;
}

static bool is_interpreter(const struct standby *standby)
{
	return standby->is_waiting && !standby->is_bare;
}

static bool has_room(const struct standby *standby)
{
	uint32_t interpreters = 0;

	FOR_EACH (standby, other, all, STANDBY_MAX)
		interpreters += is_interpreter(other);
	return standby->is_bare || interpreters < STANDBY_INTERPRETERS_MAX;
}

/* A sandbox of an older policy is not asked anything more. */
static bool may_wait(const struct standby *standby)
{
	const struct sandbox *sandbox = standby->sandbox;

	return standby->is_noted && sandbox->state == SANDBOX_LIVE && sandbox->has_answer &&
	       sandbox->init.fd >= 0 && sandbox->persistent.leaves == 0 &&
	       !sandbox->persistent.is_stopping && sandbox->generation == supervisor.plan.slot &&
	       !supervisor.is_ending &&
	       (supervisor.memory_bytes == 0 ||
		sandbox_memory_used() <= supervisor.memory_bytes / 2) &&
	       has_room(standby);
}

static void begin_standby(struct standby *standby)
{
	standby->due_us = UINT64_MAX;
	if (may_wait(standby) && standby->left-- > 0 && make_standby(standby) == 0) {
		standby->is_waiting = true;
		standby->is_ready = false;
		standby->sandbox->persistent.leaves |= 1U << LEAF;
		standby->due_us = clock_now_us() +
				  (standby->is_bare ? STANDBY_BARE_WAIT_US : STANDBY_WAIT_US);
		return;
	}
	close_parts(&standby->parts);
	standby->is_noted = false;
}

static void look_for(struct standby *standby, uint64_t now)
{
	struct sandbox *sandbox = standby->sandbox;
	struct persistent *own = &sandbox->persistent;

	if (standby->is_gone && cgroup_remove_leaf(sandbox->slot, LEAF)) {
		standby->is_dropped = false;
		standby->due_us = own->executions == 0 ? now + pause_us(standby) : UINT64_MAX;
		own->leaves &= ~(1U << LEAF);
		own->is_changed = true;
		sandbox_stir(sandbox);
	} else if (standby->dropped_us + GRACE_US <= now) {
		supervisor.sandbox_handlers->on_lost(sandbox, STAGE_CHANNEL, ETIMEDOUT);
	} else {
		standby->due_us = now + SANDBOX_RETRY_US;
	}
}

void standby_align(struct request *request)
{
	static char path[IPC_PATH_MAX];
	const struct standby *standby = request->sandbox ? find_standby(request->sandbox) : NULL;

	if (!standby || !is_interpreter(standby) || !fits_request(standby, request))
		return;
	memcpy(path, standby->words->code.path, sizeof(path));
	request->code_path = path;
	request->spawn->argv_size = standby->words->spawn.argv_size;
	memcpy(request->spawn->argv, standby->words->spawn.argv, standby->words->spawn.argv_size);
}

bool standby_take(const struct request *request, uint32_t probe, struct standby_parts *ret)
{
	struct standby *standby = find_standby(request->sandbox);

	if (!standby)
		return false;
	if (!standby->is_waiting || probe != PROBE_NONE || !fits_request(standby, request)) {
		forget_standby(standby);
		return false;
	}
	*ret = standby->parts;
	standby->parts = no_parts;
	if (standby->is_bare)
		sandbox_take_streams(request->sandbox, ret->stdio_ours);
	request->sandbox->persistent.leaves &= ~(1U << LEAF); /* which it gets next */
	return true;
}

void standby_taken(const struct request *request, bool is_asked)
{
	struct standby *standby = find_standby(request->sandbox);

	if (!standby || !standby->is_waiting)
		return;
	if (!is_asked)
		request->sandbox->persistent.leaves |= 1U << LEAF;
	standby->is_waiting = !is_asked;
	forget_standby(standby);
}

void standby_rest(const struct sandbox *sandbox)
{
	struct standby *standby = find_standby(sandbox);

	if (standby && sandbox->persistent.executions == 0 && standby->is_noted &&
	    !standby->is_dropped)
		standby->due_us = clock_now_us() + pause_us(standby);
}

int standby_ready(void *sandbox, struct channel_message *message)
{
	struct standby *standby = find_standby(sandbox);

	if (standby)
		standby->is_ready = true;
	return 0;
}

bool standby_gone(struct sandbox *sandbox, const struct ipc_spawn_done *from)
{
	struct standby *standby = find_standby(sandbox);

	if (!standby || !(standby->is_waiting || standby->is_dropped))
		return false;
	if (is_interpreter(standby) && from->error != EBUSY) {
		audit_standby_end(sandbox, from);
		standby->is_noted = false;
	}
	drop_standby(standby); /* and then it begins again if it is noted, later each time */
	standby->is_gone = true;
	return true;
}

static void lose_standby(struct sandbox *sandbox)
{
	struct standby *standby = find_standby(sandbox);

	if (!standby)
		return;
	if (standby->is_waiting || standby->is_dropped) {
		/* Or it is removed with the sandbox's cgroup. */
		(void)cgroup_remove_leaf(sandbox->slot, LEAF);
		sandbox->persistent.leaves &= ~(1U << LEAF);
	}
	close_parts(&standby->parts);
	standby->sandbox = NULL;
	standby->is_noted = standby->is_waiting = standby->is_dropped = false;
}

void standby_end_sandbox(struct sandbox *sandbox)
{
	lose_standby(sandbox);
	sandbox_end(sandbox);
}

bool standby_is_clear(const struct sandbox *sandbox)
{
	struct standby *standby = find_standby(sandbox);

	if (standby)
		forget_standby(standby);
	return !standby || !standby->is_dropped;
}

void standby_drop_all(void)
{
	FOR_EACH (standby, standby, all, STANDBY_MAX)
		forget_standby(standby);
}

void standby_tick(void)
{
	const uint64_t now = clock_now_us();

	FOR_EACH (standby, standby, all, STANDBY_MAX) {
		if (!standby->sandbox || standby->due_us > now)
			continue;
		if (standby->is_waiting)
			forget_standby(standby);
		else if (standby->is_dropped)
			look_for(standby, now);
		else
			begin_standby(standby);
	}
}

uint64_t standby_deadline_us(void)
{
	uint64_t earliest = UINT64_MAX;

	FOR_EACH (standby, standby, all, STANDBY_MAX) {
		if (standby->sandbox && standby->due_us < earliest)
			earliest = standby->due_us;
	}
	return earliest;
}
