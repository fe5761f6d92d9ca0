/* SPDX-License-Identifier: Apache-2.0 */
#include "run/pool.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "run/posture.h"
#include "run/sandbox.h"

#define DOUBLINGS_MAX 9

/* The pool of each profile of the policy in force. */
static struct pool {
	struct sandbox *first, *last; /* that are ready or being made, the oldest first */
	uint32_t count;
	uint32_t wanted;
	uint64_t used_us;
} pools[PLAN_PROFILES_MAX];

static struct sandbox *ending; /* that were not used */
static uint32_t total;         /* sandboxes that are ready, being made or ending */
static uint32_t ready;
static uint32_t failures; /* since one was taken */
static bool is_open;
static int only_leaf = -1;   /* the only sandbox's, of a supervisor for one command */
static int descriptors_most; /* the rest of them is for requests */
static bool is_empty;        /* the last one of a profile was taken, and none was made since */
static uint64_t again_us;    /* none is made before */
static uint64_t fill_us = UINT64_MAX; /* all three: when it is looked at next */
static uint64_t shrink_us = UINT64_MAX;
static uint64_t clear_us = UINT64_MAX;

static uint64_t earlier_us(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* --- sandboxes that end ----------------------------------------------------------------------- */

static void add_ending(struct sandbox *sandbox)
{
	sandbox->ephemeral.execution = NULL;
	sandbox->ephemeral.next = ending;
	ending = sandbox;
	sandbox_end(sandbox);
	if (sandbox_is_over(sandbox))
		clear_us = clock_now_us();
}

/* Ended sandboxes are cleared when their inits have gone. */
void pool_clear(void)
{
	struct sandbox **at = &ending;

	clear_us = UINT64_MAX;
	while (*at) {
		struct sandbox *sandbox = *at;

		if (sandbox_is_over(sandbox) && sandbox_clear(sandbox)) {
			*at = sandbox->ephemeral.next;
			total--;
			continue;
		}
		if (sandbox_is_over(sandbox))
			clear_us = clock_now_us() + SANDBOX_RETRY_US;
		at = &sandbox->ephemeral.next;
	}
}

void pool_drop(struct sandbox *sandbox)
{
	total++;
	add_ending(sandbox);
}

/* --- ready sandboxes -------------------------------------------------------------------------- */

static void add_sandbox(struct pool *pool, struct sandbox *sandbox)
{
	*(pool->last ? &pool->last->ephemeral.next : &pool->first) = sandbox;
	pool->last = sandbox;
	pool->count++;
	ready++;
	total++;
}

static void remove_sandbox(struct pool *pool, struct sandbox *sandbox)
{
	struct sandbox *before = NULL;
	struct sandbox **at = &pool->first;

	while (*at != sandbox) {
		before = *at;
		at = &before->ephemeral.next;
	}
	*at = sandbox->ephemeral.next;
	if (pool->last == sandbox)
		pool->last = before;
	sandbox->ephemeral.next = NULL;
	pool->count--;
	ready--;
}

static void end_first(struct pool *pool)
{
	struct sandbox *sandbox = pool->first;

	remove_sandbox(pool, sandbox);
	add_ending(sandbox);
}

void pool_drop_all(void)
{
	for (uint32_t profile = 0; profile < PLAN_PROFILES_MAX; profile++) {
		while (pools[profile].first)
			end_first(&pools[profile]);
	}
}

static uint32_t least_ready(uint32_t profile)
{
	return profile == supervisor.default_profile;
}

void pool_forget(void)
{
	pool_drop_all();
	for (uint32_t profile = 0; profile < PLAN_PROFILES_MAX; profile++)
		pools[profile] = (struct pool){ .wanted = least_ready(profile) ? POOL_START : 0,
						.used_us = clock_now_us() };
	failures = 0;
}

void pool_open(void)
{
	struct rlimit limit = { 0, 0 };

	(void)getrlimit(RLIMIT_NOFILE, &limit); /* then none is made */
	descriptors_most = limit.rlim_cur / 2 > INT_MAX ? INT_MAX : (int)(limit.rlim_cur / 2);
	is_open = true;
	pool_forget();
	fill_us = shrink_us = clock_now_us() + POOL_PAUSE_US;
}

uint64_t pool_bytes(void)
{
	return ready * POOL_SANDBOX_BYTES;
}

/* A miss means that demand exceeds the pool: double its size. */
static void grow_pool(struct pool *pool)
{
	pool->wanted = pool->wanted > 0 ? pool->wanted * 2 : 1;
	if (pool->wanted > POOL_PROFILE_MAX)
		pool->wanted = POOL_PROFILE_MAX;
	if (shrink_us == UINT64_MAX)
		shrink_us = pool->used_us + POOL_IDLE_US;
}

struct sandbox *pool_take(uint32_t profile, int *ret_leaf)
{
	struct pool *pool = &pools[profile];
	struct sandbox *sandbox = pool->first;

	pool->used_us = clock_now_us();
	if (is_open && (!sandbox || sandbox->ephemeral.made_us + POOL_MAKING_US > pool->used_us))
		grow_pool(pool);
	if (sandbox) {
		remove_sandbox(pool, sandbox);
		total--;
		failures = 0;
		if (only_leaf >= 0)
			*ret_leaf = only_leaf;
		only_leaf = -1;
	}
	is_empty |= pool->count == 0;
	return sandbox;
}

/* --- when more are made ----------------------------------------------------------------------- */

/* Double the delay after a failure. Failures during the delay have the same cause: they do not
 * count. */
static void delay_next(void)
{
	const uint64_t now = clock_now_us();

	fill_us = earlier_us(fill_us, now);
	if (again_us > now)
		return;
	again_us = now + ((uint64_t)POOL_AGAIN_US << failures);
	if (failures < DOUBLINGS_MAX)
		failures++;
}

void pool_lost(struct sandbox *sandbox, uint32_t stage, uint32_t error)
{
	if (supervisor.is_for_one) {
		if (sandbox->ephemeral.lost_stage == STAGE_NONE) {
			sandbox->ephemeral.lost_stage = stage;
			sandbox->ephemeral.lost_error = error;
		}
		return;
	}
	remove_sandbox(&pools[sandbox->profile], sandbox);
	add_ending(sandbox);
	delay_next();
}

static bool has_room(void)
{
	const uint64_t bytes = (ready + 1) * POOL_SANDBOX_BYTES;

	if (total >= POOL_MAX || supervisor.starts_pending >= POOL_STARTS_MAX ||
	    supervisor.executions_live + ready >= supervisor.executions_max)
		return false;
	return supervisor.memory_bytes == 0 ||
	       (bytes <= supervisor.memory_bytes / POOL_MEMORY_PART &&
		sandbox_memory_used() + bytes <= supervisor.memory_bytes / 2);
}

/* Return the pool with the fewest ready of those that lack some; NULL: none does. */
static struct pool *find_short(void)
{
	struct pool *found = NULL;

	for (uint32_t profile = 0; profile < PLAN_PROFILES_MAX; profile++) {
		struct pool *pool = &pools[profile];

		if (pool->count < pool->wanted && posture_is_known(profile) &&
		    (!found || pool->count < found->count))
			found = pool;
	}
	return found;
}

bool pool_may_hold(int fd)
{
	return fd < descriptors_most;
}

static int highest_fd(const struct sandbox *sandbox)
{
	const int init = sandbox->init.fd, standby = sandbox->standby.fd;
	int highest = init > standby ? init : standby;

	for (int i = 0; i < 3; i++)
		highest = sandbox->standby_stdio[i] > highest ? sandbox->standby_stdio[i] : highest;
	return highest;
}

/* As an execution's own is made. Where it is not the only one there is nothing to be probed, and a
 * process waits in it for the request. */
int pool_make(uint32_t profile)
{
	const bool is_only = supervisor.is_for_one;
	struct sandbox *sandbox = sandbox_ephemeral();
	struct sandbox_parts parts = SANDBOX_PARTS_NONE;
	int error;

	sandbox_renew(sandbox, profile);
	error = sandbox_make(sandbox, &parts);
	if (!error)
		error = sandbox_watch(sandbox);
	if (!error && !is_only)
		error = sandbox_ask_standby(sandbox, parts.leaf);
	/* The lowest that is free is given. */
	if (!error && !is_only && !pool_may_hold(highest_fd(sandbox)))
		error = -EMFILE;
	if (error) {
		sandbox_unmake(sandbox, &parts);
	} else {
		sandbox->ephemeral.made_us = clock_now_us();
		add_sandbox(&pools[profile], sandbox);
		sandbox_launch(sandbox, posture_is_known(profile) ? PROBE_NONE : PROBE_FIRST,
			       &parts);
	}
	if (!error && is_only)
		only_leaf = parts.leaf;
	else
		fd_close(&parts.leaf);
	fd_close(&parts.init_end);
	fd_close(&parts.cgroup);
	return error;
}

/* One at a time while some are left; where the last one was taken half of them at once, so that
 * the next requests do not find the same. */
static void fill_pools(uint64_t now)
{
	struct pool *pool = find_short();
	uint32_t most = pool && pool->count == 0 ? (pool->wanted + 1) / 2 : 1;

	is_empty = false;
	for (; pool && most > 0 && again_us <= now && has_room(); most--) {
		if (pool_make((uint32_t)(pool - pools)) != 0)
			delay_next();
	}
	/* If there is no room, the next report may make some. */
	fill_us = pool && most == 0 ? now + POOL_PAUSE_US : UINT64_MAX;
	if (again_us > now)
		fill_us = again_us;
}

void pool_begun(void)
{
	const uint64_t due_us = clock_now_us() + POOL_LONG_US;

	if (is_open)
		fill_us = is_empty ? earlier_us(fill_us, due_us) : due_us;
}

void pool_reported(void)
{
	const uint64_t now = clock_now_us();

	if (!is_open)
		return;
	if (is_empty)
		fill_us = now;
	else if (supervisor.executions_live == 0)
		fill_us = earlier_us(fill_us, now + POOL_PAUSE_US);
}

static void shrink_pools(uint64_t now)
{
	shrink_us = UINT64_MAX;
	for (uint32_t profile = 0; profile < PLAN_PROFILES_MAX; profile++) {
		struct pool *pool = &pools[profile];

		if (pool->wanted <= least_ready(profile))
			continue;
		if (pool->used_us + POOL_IDLE_US <= now) {
			pool->wanted /= 2;
			pool->used_us = now;
		}
		while (pool->count > pool->wanted)
			end_first(pool);
		if (pool->wanted > least_ready(profile))
			shrink_us = earlier_us(shrink_us, pool->used_us + POOL_IDLE_US);
	}
}

void pool_tick(void)
{
	const uint64_t now = clock_now_us();

	if (clear_us <= now)
		pool_clear();
	if (shrink_us <= now)
		shrink_pools(now);
	if (fill_us <= now)
		fill_pools(now);
}

uint64_t pool_deadline_us(void)
{
	return earlier_us(fill_us, earlier_us(shrink_us, clear_us));
}

bool pool_end_all(void)
{
	is_open = false;
	fill_us = shrink_us = UINT64_MAX;
	pool_drop_all();
	pool_clear();
	return total == 0;
}
