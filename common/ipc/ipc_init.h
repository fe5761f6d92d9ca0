/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the supervisor and the init of a sandbox.
 */
#ifndef COMMON_IPC_IPC_INIT_H
#define COMMON_IPC_IPC_INIT_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* fds: stdin, stdout, stderr of the workload */
IPC_MESSAGE(spawn_stdio, (U32, slot));

/* fd: the program to execute, sealed, in place of what argv[0] names */
IPC_MESSAGE(spawn_image, (U32, slot));

_Static_assert(sizeof(struct ipc_spawn_image) == sizeof(struct ipc_spawn_stdio), "a slot alone");

/* fd: the code, sealed */
IPC_MESSAGE(spawn_code,
	(U32, slot),
	(STR, path, IPC_PATH_MAX)); /* its place for the workload */

/* fd: the execution's leaf */
IPC_MESSAGE(spawn_cgroup, (U32, slot));

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

IPC_MESSAGE(spawn,
	(U32, slot),
	(U32, probe), /* enum probe_mode */
	(U32, use_tty), (U32, tty_rows), (U32, tty_columns),
	(U32, feed), /* enum feed_mode */
	(STR, cwd, IPC_PATH_MAX), (BYTES, argv, IPC_ARGV_MAX),
	(BYTES, environment, IPC_ENVIRONMENT_MAX));

/* Have a process wait to be a workload: it reads a spawn, and what comes before it, from a channel
 * of its own. Only while nothing else runs in the sandbox; a request for a terminal or a probe is
 * not for it. One that lasts answers with spawn_waits, or says that it is gone; another ends with
 * it. fd: its end of that channel */
IPC_MESSAGE(spawn_standby, (U32, sandbox)); /* its slot */

/* As spawn_standby, where there are cgroups. fds: its socket, and the leaf of the execution to
 * come, which needs no spawn_cgroup then */
IPC_MESSAGE(spawn_standby_leaf, (U32, sandbox));

/* For the workload's first process and its group, while it lives. */
IPC_MESSAGE(spawn_signal, (U32, slot), (U32, signal));

/* Kill every process of this execution; without cgroups, where they cannot be told apart, what of
 * it is known, and everything when nothing else runs in the sandbox. */
IPC_MESSAGE(spawn_kill, (U32, slot));

IPC_MESSAGE(init_failed, (U32, stage), (U32, error));

/* fd: the listener of the new workload's system call filter. Over a socketpair of the two. */
IPC_MESSAGE(spawn_listener, (U32, slot));

IPC_MESSAGE(spawned_tty, (U32, slot));

IPC_MESSAGE(spawn_waits, (U32, sandbox)); /* as it was asked */

IPC_MESSAGE(spawn_done,
	(U32, slot),
	(U32, stage), /* NONE: it ran; else where its start failed */
	(U32, error),
	(U32, status),      /* as wait(2) gives it */
	(U32, over_memory), /* 1: the fallback's watch killed it */
	(U32, over_pids),   /* 1: that watch saw as many as the profile allows */
	(U32, over_disk),   /* 1: it failed, and left a file system without blocks or inodes */
	/* 1: cpu_us and peak_bytes cover each of its processes. 0: one had not ended, or the
	 * sandbox lasts, where a process may be of another execution. */
	(U32, is_whole),
	(U32, left_behind), /* processes that it left and that were killed at its end */
	(U64, cpu_us), (U64, peak_bytes),
	(U64, taken_us),                    /* by the monotonic clock: the spawn was taken up, */
	(U64, executed_us),                 /* the kernel asked to execute its workload, */
	(U64, ended_us),                    /* and its first process reaped */
	(BYTES, denials, IPC_DENIALS_MAX)); /* struct denial[] */

/* clang-format on */

#endif
