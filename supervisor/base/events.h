/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: the only calls upward. A low file reports here what happened, and a higher one, which is
 * named at each event, acts on it. Every other call goes downward (tests/meta/graph.py).
 */
#ifndef SUPERVISOR_BASE_EVENTS_H
#define SUPERVISOR_BASE_EVENTS_H

#include "base/state.h"

struct ipc_connection_begin;
struct ipc_connection_refused;

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

/* A sandbox is about to connect to a host: record it. Errors as of audit_connection_begin()
 * (execution.c). */
int event_connection_begun(const struct sandbox *sandbox, const struct ipc_connection_begin *begin,
			   uint64_t *ret_number);

/* Policy has refused a host to a sandbox: tell the frontends of its executions (execution.c). */
void event_connection_refused(const struct sandbox *sandbox,
			      const struct ipc_connection_refused *refused);

/* There is no gateway any more: ask for another, not too often (reload.c). */
void event_gateway_lost(void);

/* The factory is asked for the init of a persistent sandbox: send it the directories that its
 * persistent mounts are made of. 0 or -errno; *ret_count is how many were sent
 * (persistent_layers.c). */
int event_sandbox_launched(const struct sandbox *sandbox, uint32_t *ret_count);

/* An execution begins in a persistent sandbox, or is gone from it (persistent.c). */
void event_sandbox_joined(struct sandbox *sandbox);
void event_sandbox_left(struct sandbox *sandbox);

#endif
