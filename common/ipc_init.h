/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the supervisor and the init of a sandbox.
 */
#ifndef COMMON_IPC_INIT_H
#define COMMON_IPC_INIT_H

#include <stdint.h>

#include "common/limits.h"

/* fds: stdin, stdout, stderr of the workload */
struct ipc_spawn_stdio {
	uint32_t slot;
};

/* fd: the program to execute, sealed, in place of what argv[0] names */
struct ipc_spawn_image {
	uint32_t slot;
};

_Static_assert(sizeof(struct ipc_spawn_image) == sizeof(struct ipc_spawn_stdio), "a slot alone");

/* fd: the code, sealed */
struct ipc_spawn_code {
	uint32_t slot;
	char path[IPC_PATH_MAX]; /* its place for the workload */
};

/* fd: the execution's leaf */
struct ipc_spawn_cgroup {
	uint32_t slot;
};

_Static_assert(sizeof(struct ipc_spawn_cgroup) == sizeof(struct ipc_spawn_stdio), "a slot alone");

/* Whether the layers are tried before the workload runs. */
enum probe_mode {
	PROBE_NONE = 0,
	PROBE_FIRST, /* and then the workload runs, unless one is open */
	PROBE_ALONE, /* there is no workload */
};

/* Whether a workload waits for its code. In a sandbox one at most does, while nothing else runs. */
enum feed_mode {
	FEED_NONE = 0, /* a standby process is killed */
	FEED_WAIT,     /* it shall wait before it looks at what a workload could have left */
	FEED_TAKE,     /* the one that waits is this one */
};

/* The slot of the standby process, which waits for code or for a request. Its spawn_done says that
 * it is gone and that nothing was taken from it, with an error: EBUSY: a later one may come to be;
 * ECHILD: it ended, and took cpu_us. A spawn_kill says that it is not needed. Messages that come
 * before its spawn have this number too. */
#define STANDBY_SLOT EXECUTIONS_MAX

struct ipc_spawn {
	uint32_t slot;
	uint32_t probe; /* enum probe_mode */
	uint32_t use_tty;
	uint32_t tty_rows;
	uint32_t tty_columns;
	uint32_t feed; /* enum feed_mode */
	char cwd[IPC_PATH_MAX];
	uint32_t argv_size;
	uint8_t argv[IPC_ARGV_MAX];
	uint32_t environment_size;
	uint8_t environment[IPC_ENVIRONMENT_MAX];
};

/* Have a process wait to be a workload: it reads a spawn, and what comes before it, from a channel
 * of its own. Only while nothing else runs in the sandbox; a request for a terminal or a probe is
 * not for it. One that lasts answers with spawn_waits, or says that it is gone; another ends with
 * it. fd: its end of that channel */
struct ipc_spawn_standby {
	uint32_t sandbox; /* its slot */
};

/* As spawn_standby, where there are cgroups. fds: its socket, and the leaf of the execution to
 * come, which needs no spawn_cgroup then */
struct ipc_spawn_standby_leaf {
	uint32_t sandbox;
};

/* For the workload's first process and its group, while it lives. */
struct ipc_spawn_signal {
	uint32_t slot;
	uint32_t signal;
};

/* Kill every process of this execution; without cgroups, where they cannot be told apart, what of
 * it is known, and everything when nothing else runs in the sandbox. */
struct ipc_spawn_kill {
	uint32_t slot;
};

struct ipc_init_failed {
	uint32_t stage;
	uint32_t error;
};

/* fd: the listener of the new workload's system call filter. Over a socketpair of the two. */
struct ipc_spawn_listener {
	uint32_t slot;
};

struct ipc_spawned_tty {
	uint32_t slot;
};

struct ipc_spawn_waits {
	uint32_t sandbox; /* as it was asked */
};

struct ipc_spawn_done {
	uint32_t slot;
	uint32_t stage; /* NONE: it ran; else where its start failed */
	uint32_t error;
	uint32_t status;      /* as wait(2) gives it */
	uint32_t over_memory; /* 1: the fallback's watch killed it */
	uint32_t over_pids;   /* 1: that watch saw as many as the profile allows */
	uint32_t over_disk;   /* 1: it failed, and left a file system without blocks or inodes */
	/* 1: cpu_us and peak_bytes cover each of its processes. 0: one had not ended, or the
	 * sandbox lasts, where a process may be of another execution. */
	uint32_t is_whole;
	uint64_t cpu_us;
	uint64_t peak_bytes;
	uint64_t taken_us;    /* by the monotonic clock: the spawn was taken up, */
	uint64_t executed_us; /* the kernel asked to execute its workload, */
	uint64_t ended_us;    /* and its first process reaped */
	uint32_t denials_size;
	uint8_t denials[IPC_DENIALS_MAX]; /* struct denial[] */
};

#endif
