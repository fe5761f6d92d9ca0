/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a sandbox and their use, as its init sees it: the limits of the fallback,
 * without a cgroup, and whether its files reached theirs.
 */
#ifndef CHILD_INIT_WATCH_H
#define CHILD_INIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "factory.h"

/* Between two looks, in milliseconds. One look at one process costs about 50 microseconds, and
 * some 10 ms when it uses gigabytes; the less is left of the limit, the sooner comes the next. */
#define WATCH_LEAST_MS 10
#define WATCH_MOST_MS 50

/* Longest measure of shared pages, in microseconds: while the resident sizes stay below the limit,
 * and once they are above it, on a machine that has much to do. The init hears nothing meanwhile.
 * The process being read at the end comes on top: some 60 ms for 65,530 mappings. */
#define WATCH_GLANCE_US 10000
#define WATCH_LOOK_US 5000000

/* Memory that a few processors touch in a millisecond: as much may be taken between two looks, on
 * top of the limit. */
#define WATCH_BYTES_PER_MS (4 << 20)

struct watch_usage {
	uint64_t bytes; /* files, and what the processes have resident */
	uint64_t tasks; /* processes, their threads and zombies */
	uint64_t live;  /* processes with memory, so that they are no zombies */
	/* While it is measured: the same with shared pages shared out, and until when. */
	uint64_t shares;
	uint64_t late_us;
};

/* Open what watch_processes() reads; 0 or -errno. */
int watch_open(void);

/*
 * Measure all processes of this pid namespace but PID 1, with `files` bytes beside them. Shared
 * pages are shared out (proportional set sizes). If that takes too long, or if since the look
 * before the machine lost more memory than was left of `limit` and a quarter of it, each process
 * counts with all that it has resident.
 */
struct watch_usage watch_processes(uint64_t files, uint64_t limit);

/* Measure System V IPC of this IPC namespace, which is there without a process: its bytes, when
 * `tasks` can undo their changes of semaphores. */
uint64_t watch_ipc(uint32_t tasks);

/* Remove all of it, which no kill frees. */
void watch_clear_ipc(void);

/*
 * Kill a process of this pid namespace, its process group, and of its descendants those that can be
 * told by their parents: whose parent is gone belongs to nobody.
 */
void watch_kill_family(pid_t first);

/* Return whether PID 1, the caller, has a child. Orphans become its children: without one nothing
 * else is in this pid namespace. */
bool watch_has_children(void);

/* Kill everything in this pid namespace but the caller. Return how many processes lived, without
 * `dying` ones that were killed before; 0 if that cannot be read. */
uint32_t watch_kill_all(uint32_t dying);

struct watch_store {
	uint64_t bytes; /* in memory: what lasts is not */
	bool is_full;   /* one of them has no block or no inode left */
};

/* The file systems that the profile's workloads write to. */
struct watch_store watch_files(const struct factory *factory, const struct plan_profile *profile);

/* Until the next look when `used` of `limit` bytes are taken, in milliseconds. */
int watch_pause_ms(uint64_t used, uint64_t limit);

#endif
