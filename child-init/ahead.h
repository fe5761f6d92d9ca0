/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that waits in a sandbox that was made ahead, to be its workload: a copy of the init
 * that has behind it what of a workload's steps needs no request (spawn.c). It takes the request
 * off the supervisor's channel itself, and does the rest; the init leaves the channel alone until
 * then.
 */
#ifndef CHILD_INIT_AHEAD_H
#define CHILD_INIT_AHEAD_H

#include "common/dispatch.h"
#include "spawn.h"

enum ahead_state {
	AHEAD_NONE,    /* no process waits, and none ever did or its end is known */
	AHEAD_WAITING, /* the channel is its to read */
	AHEAD_GONE,    /* it ended, and nobody knows what it had read of a request */
	AHEAD_RUNS,    /* it executed, or ended on the way to it: *ret has the workload */
};

/*
 * Fork it, into the cgroup `leaf` (-1: the init's), which is taken. Returns 0 in the new process,
 * which goes on with ahead_wait(); else its pid, or -errno: then the next spawn goes the way
 * without one, and in that leaf too.
 */
pid_t ahead_fork(int leaf);

/* In the new process: read the channel with these handlers, of which the one for `spawn` ends in
 * ahead_become(). */
void ahead_wait(const struct init *init, const dispatch_handler handlers[IPC_TYPE_COUNT])
	__attribute__((noreturn));
void ahead_become(struct spawn *spawn, const struct ipc_spawn *request) __attribute__((noreturn));

/* In the init. To be polled for POLLIN while they are not -1: what it has to be asked, or answered,
 * at once, and when it shall be looked at else. */
int ahead_fd(void);
int ahead_clock(void);

/* Its pid while it waits; 0: none does. */
pid_t ahead_pid(void);

/* The leaf that it was given, for a workload in its place: the caller's from now on. -1: none */
int ahead_take_leaf(void);

/* After a poll, or its end: how is it? With AHEAD_RUNS *ret_told says how far it came. */
enum ahead_state ahead_look(struct workload *ret, struct spawn_told *ret_told);

#endif
