/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that waits in a sandbox where nothing runs, to be the next workload: a copy of the init
 * that has behind it what of a workload's steps needs no request (spawn.c). It takes the request
 * off a channel of its own, and does the rest.
 */
#ifndef CHILD_INIT_STANDBY_H
#define CHILD_INIT_STANDBY_H

#include <poll.h>

#include "common/ipc/dispatch.h"
#include "spawn.h"

struct ipc_spawn;

enum standby_state {
	STANDBY_NONE,    /* no process waits, and none ever did or its end is known */
	STANDBY_WAITING, /* or is on its way */
	STANDBY_GONE,    /* it ended before it had a request, of which it may have read a part */
	STANDBY_RUNS,    /* it executed, or ended on the way to it: *ret has the workload */
};

/* Fork it, into the cgroup `leaf` (-1: the init's). Returns 0 in the new process, which goes on
 * with standby_wait(); else its pid, or -errno. */
pid_t standby_fork(int leaf);

/* In the new process: read the channel `from` with these handlers, of which the one for `spawn`
 * ends in standby_become(). */
void standby_wait(const struct init *init, int from, const dispatch_handler *handlers)
	__attribute__((noreturn));
void standby_become(struct spawn *spawn, struct ipc_spawn *request) __attribute__((noreturn));

/* In the init. To be polled: what it has to be asked, or answered, at once, and when it shall be
 * looked at else. */
void standby_poll(struct pollfd ret[2]);

/* Its pid while it waits or is on its way to the exec; 0: there is none. */
pid_t standby_pid(void);

/* Send it this, if there is one: it has no handler for any, as a program has none at its start. */
void standby_signal(int signal);

/* After each poll, and at its end: how is it? With STANDBY_RUNS *ret_told says how far it came. */
enum standby_state standby_look(struct workload *ret, struct spawn_told *ret_told);

#endif
