/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way in which a workload comes to run: every execution, first or hundredth, passes the
 * lists STANDBY and RESUME of steps.def.
 */
#ifndef CHILD_INIT_SPAWN_H
#define CHILD_INIT_SPAWN_H

#include "common/clock.h"
#include "init.h"
#include "observe.h"

struct ipc_spawn;

/* The messages before the spawn message. Descriptors are owned by this struct; -1 when absent. */
struct spawn {
	uint32_t slot;
	int stdio[3];
	int cgroup;
	int image; /* to be executed in place of what argv[0] names */
	int code;
	char *code_path; /* IPC_PATH_MAX bytes */
};

#define SPAWN_EMPTY                                                                                \
	{                                                                                          \
		.stdio = { -1, -1, -1 }, .cgroup = -1, .image = -1, .code = -1                     \
	}

/* A workload that runs. Times are by clock_now_us(). */
struct workload {
	pid_t pid;    /* its first process; 0: none */
	int terminal; /* the master of its terminal, or -1 */
	bool is_probed;
	uint64_t executed_us; /* when the kernel was asked to execute it */
	struct observed observed;
};

/* How far a process came on its way to the exec; written by it, read by the init. */
struct spawn_told {
	bool is_taken; /* a process that waited has a request: the one of this slot, */
	uint32_t slot;
	uint64_t taken_us;    /* since then */
	uint64_t executed_us; /* the last step began */
	uint32_t stage;       /* the last step that began */
	int error;            /* that step's: it is the last one */
};

#define WORKLOAD_NONE                                                                              \
	{                                                                                          \
		.terminal = -1, .observed = OBSERVED_NOTHING                                       \
	}

struct step;

/* Run the rows of a list that are due, until one fails, and set the stage of the last one. Return
 * its result. */
int spawn_run_steps(const struct step *steps, size_t count, uint32_t *ret_stage);

/* From now on the caller, an init, does not take the CPU from what runs when it is woken; what it
 * spawns does as ever. Nothing where it is scheduled in another than the usual way. */
void spawn_give_way(void);

/*
 * Run the workload that `request` describes, and observe it. 0: *ret says what runs, and its
 * descriptors are the caller's. Else -errno with the stage that failed; then nothing runs
 * (LISTENER: it was killed at once), and *ret says so. What *ret held before is not looked at.
 *
 * Where the request wants a probe, the workload's process tries the layers before it executes
 * anything (probe.h): with is_probed probe_tell() says what was found, and that none is open is a
 * condition of the start (PROBE). Where it wants nothing else, its process executes nothing and
 * *ret has no pid.
 */
int spawn_start(const struct init *init, struct spawn *spawn, struct ipc_spawn *request,
		struct workload *ret, uint32_t *ret_stage);

/*
 * Spawn in two parts, for a standby process that the init forked (standby.h), which calls both. In
 * the first it becomes a workload as far as no request is needed: 0, or -errno of the step in
 * *told. The second executes, or ends with the step in *told. `to_init` is an end of a socketpair;
 * the other end gets the filter's listener, if it has one, and ends with the exec.
 */
int spawn_standby(const struct init *init, int to_init, struct spawn_told *told);
void spawn_become(struct spawn *spawn, struct ipc_spawn *request) __attribute__((noreturn));

/* Take what such a process sends on the other end: 1: a listener, which is observed from now on; 0:
 * nothing more comes. Else -errno. */
int spawn_hear(int from, int flags, struct observed *observed);

/* Give the process `pid`, which waits for the code of `waiting`, that of `spawn`, and let it go on
 * as a workload like any other. Returns false when it is to be killed. */
bool spawn_feed(const struct spawn *spawn, const struct spawn *waiting, pid_t pid);

/* Remove the file, and the folder, that one waited for in vain. */
void spawn_remove_code(struct spawn *spawn);

/* Close what is still open. */
void spawn_done(struct spawn *spawn);

#endif
