/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: the only calls upward. A low file reports here what happened, and a higher one, which is
 * named at each event, acts on it. Every other call goes downward (tests/meta/graph.py).
 */
#ifndef SUPERVISOR_BASE_EVENTS_H
#define SUPERVISOR_BASE_EVENTS_H

#include "base/state.h"

/* The init of a sandbox, the context, has sent a message or has ended (execution.c). */
void event_init_message(void *sandbox);

/* A sandbox has no init, or none that works, and is at its end: report its executions as failed at
 * this stage (execution.c). */
void event_sandbox_lost(struct sandbox *sandbox, uint32_t stage, uint32_t error);

/* The init of an ephemeral sandbox is gone: its execution need not wait for that any more
 * (execution.c). */
void event_sandbox_over(const struct sandbox *sandbox);

/* The init of a sandbox ends, and its standby process with it (standby.c). */
void event_standby_lost(struct sandbox *sandbox);

/* The factory is asked for the init of a persistent sandbox: send it the directories that its
 * persistent mounts are made of. 0 or -errno; *ret_count is how many were sent
 * (persistent_layers.c). */
int event_sandbox_launched(const struct sandbox *sandbox, uint32_t *ret_count);

/* The cable of a persistent sandbox is to be made: open the file of what a person has taken away,
 * the caller's; or -errno (persistent_layers.c). */
int event_sandbox_cuts(const struct sandbox *sandbox);

/* An execution begins in a persistent sandbox, or is gone from it (persistent.c). */
void event_sandbox_joined(struct sandbox *sandbox);
void event_sandbox_left(struct sandbox *sandbox);

#endif
