/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way in which a workload comes to run: every execution, first or hundredth, passes the
 * table of steps in spawn.c.
 */
#ifndef CHILD_INIT_SPAWN_H
#define CHILD_INIT_SPAWN_H

#include "init.h"

/* What came before the spawn message. Descriptors are owned by this struct; -1 when absent. */
struct spawn {
	uint32_t slot;
	int stdio[3];
	int cgroup;
	int code;
	char code_path[IPC_PATH_MAX];
};

#define SPAWN_EMPTY                                                                                \
	{                                                                                          \
		.stdio = { -1, -1, -1 }, .cgroup = -1, .code = -1                                  \
	}

/*
 * Run the workload that `request` describes, and observe it. 0: *ret_pid is its first process, and
 * *ret_terminal the master of its terminal (the caller's to close) or -1. Else -errno with the
 * stage that failed; then nothing runs (LISTENER: it was killed at once).
 */
int spawn_start(const struct init *init, struct spawn *spawn, const struct ipc_spawn *request,
		pid_t *ret_pid, int *ret_terminal, uint32_t *ret_stage);

/*
 * Try the layers in a process that is confined as the workload will be (probe.h). 0 and
 * probe_tell() says what was found; else -errno with the stage that failed. The process is the
 * caller's to reap.
 */
int spawn_probe(const struct init *init, struct spawn *spawn, uint32_t *ret_stage);

/* Close what is still open. */
void spawn_done(struct spawn *spawn);

#endif
