/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/reply.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "common/log.h"
#include "persistent/layers_job.h"
#include "run/execution.h"

/* Between two looks at a sandbox while something runs in it. */
#define LOOK_US 2000000

/* No count begins before this many times as long as the last one took, because msp-layers works
 * outside of the sandbox's limits; unless the sandbox may have passed its limit meanwhile. */
#define PAUSE_TIMES 20
#define PAUSE_MOST_US 120000000

/* Until a job that could not be begun is tried again. */
#define LATER_US 100000

/* How long something may run while this machine cannot count; where its own files are what cannot
 * be counted, it ends at once. */
#define UNCOUNTED_US 10000000
#define FAILED_TREE 1

/* If less than this part of the file system is left, and fewer bytes than that, executions end: no
 * count sees open files without a name. */
#define LOW_PART 32
#define LOW_BYTES ((uint64_t)1 << 30)

/* --- states ----------------------------------------------------------------------------------- */

static void make_mark(struct persistent *own)
{
	(void)store_mark(own->directory); /* without it a crash would let too much count as known */
	store_touch(own->directory);
}

/* A mark that says an earlier time than it could only makes a crash let less count as known. */
static void keep_mark(struct persistent *own)
{
	own->scan.since_us = 0;
	(void)utimensat(own->directory, STORE_MARK, NULL, 0);
}

static void remove_mark(struct persistent *own)
{
	(void)store_unmark(own->directory); /* a mark more is no fault */
}

/* Let waiting requests go on without the scan. */
static void delay_scan(struct persistent *own)
{
	own->scan.due_us = clock_now_us() + LATER_US;
	own->is_changed = true;
}

void scan_step(struct persistent *own, enum scan_event event)
{
	static const struct {
		enum scan_state next;
		void (*act)(struct persistent *own);
	} steps[SCAN_STATES][SCAN_EVENTS] = {
#define SCAN(state, event, next, action) [SCAN_##state][SCAN_ON_##event] = { SCAN_##next, action },
#include "persistent/scan.def"
#undef SCAN
	};
	const enum scan_state state = own->scan.state;

	if (steps[state][event].next == SCAN_NONE)
		log_fatal(MSP_EXIT_SOFTWARE, "the scan of sandbox %s: event %u in state %u",
			  own->id, event, state);
	own->scan.state = steps[state][event].next;
	if (steps[state][event].act)
		steps[state][event].act(own);
}

/* --- when it is due --------------------------------------------------------------------------- */

/* End executions if their files cannot be counted, or the file system is nearly full. Return
 * whether the sandbox may have passed its limit since the last count: whatever the file system lost
 * may be in it. */
static bool look_at_room(struct sandbox *sandbox, uint64_t now)
{
	const struct plan_profile *profile = sandbox_profile(sandbox);
	const struct persistent *own = &sandbox->persistent;
	const struct statvfs *then = &own->scan.room;
	struct statvfs room = { .f_bavail = 0 }; /* a look that fails finds no room */
	uint64_t low, before, left;

	(void)fstatvfs(own->directory, &room);
	low = room.f_blocks * room.f_frsize / LOW_PART;
	left = room.f_bavail * room.f_frsize;
	before = then->f_bavail * then->f_frsize;
	if (left == 0 || left < (low < LOW_BYTES ? low : LOW_BYTES) ||
	    (own->scan.uncounted_us && own->scan.uncounted_us + UNCOUNTED_US < now))
		execution_kill_all(sandbox, VERDICT_DISK);
	return before > left + profile->disk_bytes - own->meta->disk_bytes ||
	       then->f_favail > room.f_favail + profile->disk_inodes - own->meta->disk_inodes;
}

void scan_recall(struct persistent *own)
{
	struct stat is;

	own->scan.state = SCAN_CLEAN;
	if (fstatat(own->directory, STORE_MARK, &is, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	scan_step(own, SCAN_ON_FOUND);
	own->scan.uncounted_us = clock_now_us(); /* the files of what ran are not counted */
	own->scan.since_us =
		(uint64_t)is.st_mtim.tv_sec * 1000000 + (uint64_t)is.st_mtim.tv_nsec / 1000;
}

static bool is_wanted(const struct scan *scan)
{
	return scan->state == SCAN_DUE || scan->state == SCAN_BEHIND;
}

void scan_execution_begin(struct persistent *own)
{
	if (!is_wanted(&own->scan))
		own->scan.dirty_us = clock_now_us();
	if (own->scan.since_us == 0)
		own->scan.since_us = clock_real_us();
	scan_step(own, SCAN_ON_EXECUTION);
	own->scan.due_us = own->scan.dirty_us + LOOK_US;
}

bool scan_is_needed(struct persistent *own)
{
	const uint64_t now = clock_now_us();

	if (!is_wanted(&own->scan))
		return false;
	if (own->executions == 0)
		own->scan.due_us = own->due_us = own->scan.pause_us = now;
	return own->scan.due_us <= now && own->scan.pause_us <= now;
}

bool scan_is_over(const struct persistent *own, const struct plan_profile *profile)
{
	return own->meta->disk_bytes > profile->disk_bytes ||
	       own->meta->disk_inodes > profile->disk_inodes;
}

enum refusal scan_await_count(struct persistent *own, char detail[IPC_LIST_MAX])
{
	if (!own->scan.uncounted_us)
		return REFUSAL_NONE;
	if (own->scan.due_us <= clock_now_us())
		scan_step(own, SCAN_ON_RETRY);
	if (scan_is_needed(own))
		return REFUSAL_DEFERRED;
	return reply_reason(REFUSAL_DISK, "its files cannot be counted now", detail);
}

/* FAILED_TREE stands for a time long ago. */
static void fail_count(struct scan *scan, uint64_t since_us)
{
	if (!scan->uncounted_us || since_us < scan->uncounted_us)
		scan->uncounted_us = since_us;
}

void sandbox_scanned(struct sandbox *sandbox, uint64_t began_us, const struct ipc_layers_done *done)
{
	struct persistent *own = &sandbox->persistent;
	struct scan *scan = &own->scan;
	const uint64_t now = clock_now_us();
	const uint64_t pause = (now - scan->began_us) * PAUSE_TIMES;

	scan->due_us = now + LOOK_US;
	if (pause > LOOK_US)
		scan->pause_us = now + (pause < PAUSE_MOST_US ? pause : PAUSE_MOST_US);
	if (!done->error)
		scan->since_us = began_us;
	scan_step(own, done->error ? SCAN_ON_FAILED : SCAN_ON_DONE);
	if (done->error && done->step != LAYERS_SCAN_BASES) {
		scan->pause_us = now;
		fail_count(scan, done->step == LAYERS_SCAN_TREE ? FAILED_TREE : now);
		return;
	}
	scan->uncounted_us = 0;
	store_count(own->directory, own->meta, done->bytes, done->inodes);
	store_touch(own->directory);
	if (sandbox->state == SANDBOX_LIVE && !own->is_full &&
	    scan_is_over(own, sandbox_profile(sandbox)))
		execution_kill_all(sandbox, VERDICT_DISK);
}

/* Return whether no next call is expected, or no caller may wait. */
static bool is_at_rest(const struct sandbox *sandbox)
{
	return sandbox->persistent.executions == 0 &&
	       (sandbox->state != SANDBOX_LIVE || sandbox->persistent.is_stopping ||
		supervisor.is_ending);
}

static void begin_scan(struct sandbox *sandbox, uint64_t now)
{
	struct persistent *own = &sandbox->persistent;
	struct scan *scan = &own->scan;
	const int error = layers_job_begin_own(sandbox, LAYERS_SCAN);

	scan->due_us = now + (error ? LATER_US : LOOK_US);
	if (error == -EAGAIN && now < scan->dirty_us + UNCOUNTED_US)
		return; /* others' end */
	scan_step(own, error ? SCAN_ON_FAILED : SCAN_ON_BEGUN);
	if (error) {
		fail_count(scan, now);
		return;
	}
	scan->began_us = scan->dirty_us = now;
	(void)fstatvfs(own->directory, &scan->room); /* or it is what it was */
	if (own->executions > 0)
		scan_execution_begin(own);
}

void scan_settle(struct sandbox *sandbox, uint64_t now)
{
	struct persistent *own = &sandbox->persistent;
	struct scan *scan = &own->scan;
	const bool runs = sandbox->state == SANDBOX_LIVE && own->executions > 0;
	const bool rests = is_at_rest(sandbox);
	const bool is_due = scan->due_us <= now || rests;

	if (sandbox->state == SANDBOX_COLD)
		scan_step(own, SCAN_ON_COLD);
	/* Only the workspace tells what the host's files were. */
	if (scan->state == SCAN_DUE && own->hosts[0] < 0 &&
	    own->meta->workspace_mode == WORKSPACE_COPY)
		scan_step(own, SCAN_ON_FAILED);
	if (is_due && runs) {
		scan_step(own, SCAN_ON_RETRY);
		if (look_at_room(sandbox, now))
			scan->pause_us = now;
	}
	if (scan->state == SCAN_DUE && is_due && !own->writer && (scan->pause_us <= now || rests))
		begin_scan(sandbox, now);
	else if (is_wanted(scan) && is_due && !rests)
		scan->due_us = runs ? now + LOOK_US : scan->pause_us;
	if ((is_wanted(scan) || runs) && (runs || !own->writer) && scan->due_us < own->due_us)
		own->due_us = scan->due_us;
}
