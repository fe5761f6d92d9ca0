/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/reply.h"
#include "common/fd.h"
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

/* End executions if their files cannot be counted, or the file system is nearly full. Return
 * whether the sandbox may have passed its limit since the last count: whatever the file system lost
 * may be in it. */
static bool look_at_room(struct sandbox *sandbox, uint64_t now)
{
	const struct plan_profile *profile = sandbox_profile(sandbox);
	const struct statvfs *then = &sandbox->persistent.room;
	struct statvfs room = { .f_bavail = 0 }; /* a look that fails finds no room */
	uint64_t low, before, left;

	(void)fstatvfs(sandbox->persistent.directory, &room);
	low = room.f_blocks * room.f_frsize / LOW_PART;
	left = room.f_bavail * room.f_frsize;
	before = then->f_bavail * then->f_frsize;
	if (left == 0 || left < (low < LOW_BYTES ? low : LOW_BYTES) ||
	    (sandbox->persistent.failed_us && sandbox->persistent.failed_us + UNCOUNTED_US < now))
		execution_kill_all(sandbox, VERDICT_DISK);
	return before > left + profile->disk_bytes - sandbox->persistent.meta->disk_bytes ||
	       then->f_favail >
		       room.f_favail + profile->disk_inodes - sandbox->persistent.meta->disk_inodes;
}

void note_recall(struct sandbox *sandbox)
{
	struct stat is;

	if (fstatat(sandbox->persistent.directory, STORE_MARK, &is, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	sandbox->persistent.is_dirty = sandbox->persistent.has_mark = true;
	sandbox->persistent.failed_us = clock_now_us(); /* the files of what ran are not counted */
	sandbox->persistent.since_us =
		(uint64_t)is.st_mtim.tv_sec * 1000000 + (uint64_t)is.st_mtim.tv_nsec / 1000;
}

void note_execution_begin(struct sandbox *sandbox)
{
	if (!sandbox->persistent.is_dirty)
		sandbox->persistent.dirty_us = clock_now_us();
	sandbox->persistent.is_dirty = true;
	sandbox->persistent.scan_us = sandbox->persistent.dirty_us + LOOK_US;
	sandbox->persistent.since_us =
		sandbox->persistent.since_us ? sandbox->persistent.since_us : sandbox_real_us();
	if (sandbox->persistent.has_mark)
		return;
	sandbox->persistent.has_mark = true;
	store_mark(sandbox->persistent.directory);
	store_touch(sandbox->persistent.directory);
}

/* All is noted. A live sandbox keeps the file for its next execution: that it says an earlier time
 * than it could only makes a crash let less count as known. */
static void clear_mark(struct sandbox *sandbox)
{
	sandbox->persistent.since_us = 0;
	sandbox->persistent.has_mark = sandbox->state == SANDBOX_LIVE;
	if (sandbox->persistent.has_mark)
		(void)utimensat(sandbox->persistent.directory, STORE_MARK, NULL, 0);
	else
		store_unmark(sandbox->persistent.directory);
}

bool scan_is_needed(struct sandbox *sandbox)
{
	const uint64_t now = clock_now_us();

	if (!sandbox->persistent.is_dirty || sandbox->persistent.is_unscanned)
		return false;
	if (sandbox->persistent.executions == 0)
		sandbox->persistent.scan_us = sandbox->persistent.due_us =
			sandbox->persistent.pause_us = now;
	return sandbox->persistent.scan_us <= now && sandbox->persistent.pause_us <= now;
}

bool scan_is_over(const struct sandbox *sandbox, const struct plan_profile *profile)
{
	return sandbox->persistent.meta->disk_bytes > profile->disk_bytes ||
	       sandbox->persistent.meta->disk_inodes > profile->disk_inodes;
}

enum refusal note_await_count(struct sandbox *sandbox, char detail[IPC_LIST_MAX])
{
	if (!sandbox->persistent.failed_us)
		return REFUSAL_NONE;
	sandbox->persistent.is_unscanned &=
		sandbox->persistent.scan_us > clock_now_us(); /* else it is tried again */
	if (scan_is_needed(sandbox))
		return REFUSAL_DEFERRED;
	return reply_reason(REFUSAL_DISK, "its files cannot be counted now", detail);
}

/* Let waiting requests go on without the note. A sandbox that runs is noted later, others when they
 * are used. */
static void fail_note(struct sandbox *sandbox, uint64_t now)
{
	sandbox->persistent.is_dirty = sandbox->persistent.is_unscanned =
		sandbox->persistent.is_changed = true;
	sandbox->persistent.scan_us = now + LATER_US;
}

void sandbox_scanned(struct sandbox *sandbox, uint64_t began_us, const struct ipc_layers_done *done)
{
	const uint64_t now = clock_now_us();
	const uint64_t pause = (now - sandbox->persistent.scanned_us) * PAUSE_TIMES;

	sandbox->persistent.scan_us = now + LOOK_US;
	if (pause > LOOK_US)
		sandbox->persistent.pause_us =
			now + (pause < PAUSE_MOST_US ? pause : PAUSE_MOST_US);
	if (done->error)
		fail_note(sandbox, now);
	if (done->error && done->step != LAYERS_SCAN_BASES) {
		sandbox->persistent.pause_us = now;
		sandbox->persistent.failed_us = done->step == LAYERS_SCAN_TREE ? FAILED_TREE
						: sandbox->persistent.failed_us
							? sandbox->persistent.failed_us
							: now;
		return;
	}
	sandbox->persistent.failed_us = 0;
	if (!done->error)
		sandbox->persistent.since_us = began_us;
	store_count(sandbox->persistent.directory, sandbox->persistent.meta, done->bytes,
		    done->inodes);
	if (!sandbox->persistent.is_dirty)
		clear_mark(sandbox);
	store_touch(sandbox->persistent.directory);
	if (sandbox->state == SANDBOX_LIVE && scan_is_over(sandbox, sandbox_profile(sandbox)))
		execution_kill_all(sandbox, VERDICT_DISK);
}

/* Return whether no next call is expected, or no caller may wait. */
static bool is_at_rest(const struct sandbox *sandbox)
{
	return sandbox->persistent.executions == 0 &&
	       (sandbox->state != SANDBOX_LIVE || sandbox->persistent.is_stopping ||
		supervisor.is_ending);
}

static void begin_note(struct sandbox *sandbox, uint64_t now)
{
	const int error = layers_job_begin_own(sandbox, LAYERS_SCAN);

	sandbox->persistent.scan_us = now + (error ? LATER_US : LOOK_US);
	if (error == -EAGAIN && now < sandbox->persistent.dirty_us + UNCOUNTED_US)
		return; /* others' end */
	if (error) {
		fail_note(sandbox, now);
		sandbox->persistent.failed_us =
			sandbox->persistent.failed_us ? sandbox->persistent.failed_us : now;
		return;
	}
	sandbox->persistent.is_dirty = sandbox->persistent.executions > 0;
	sandbox->persistent.is_unscanned = false;
	sandbox->persistent.dirty_us = sandbox->persistent.scanned_us = now;
	(void)fstatvfs(sandbox->persistent.directory,
		       &sandbox->persistent.room); /* or it is what it was */
}

void note_settle(struct sandbox *sandbox, uint64_t now)
{
	const bool runs = sandbox->state == SANDBOX_LIVE && sandbox->persistent.executions > 0;
	const bool is_due = sandbox->persistent.scan_us <= now || is_at_rest(sandbox);

	if (sandbox->state == SANDBOX_COLD && sandbox->persistent.has_mark &&
	    !sandbox->persistent.since_us)
		clear_mark(sandbox);
	/* Only the workspace tells what the host's files were. */
	if (sandbox->persistent.is_dirty && !sandbox->persistent.is_unscanned &&
	    sandbox->persistent.workspace < 0 &&
	    sandbox->persistent.meta->workspace_mode == WORKSPACE_COPY)
		sandbox->persistent.is_unscanned = sandbox->persistent.is_changed = true;
	if (!sandbox->persistent.is_dirty || (sandbox->persistent.is_unscanned && !runs))
		return;
	if (is_due && runs && look_at_room(sandbox, now))
		sandbox->persistent.pause_us = now;
	if (is_due && !sandbox->persistent.writer &&
	    (sandbox->persistent.pause_us <= now || is_at_rest(sandbox)))
		begin_note(sandbox, now);
	else if (is_due && !is_at_rest(sandbox))
		sandbox->persistent.scan_us = runs ? now + LOOK_US : sandbox->persistent.pause_us;
	if (sandbox->persistent.is_dirty && (runs || !sandbox->persistent.writer) &&
	    sandbox->persistent.scan_us < sandbox->persistent.due_us)
		sandbox->persistent.due_us = sandbox->persistent.scan_us;
}
