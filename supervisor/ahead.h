/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits in a live sandbox that lasts, as soon as nothing runs there. An interpreter, where
 * code ran last: what that was run with is started once more, as far as nothing in it depends on
 * what a workload left (child-init/gate.h); the next request for the same with other code takes it.
 * Else a process that has executed nothing, which any request without a terminal takes. Anything
 * else that is asked of the sandbox has it killed first. It is nobody's execution until then: it is
 * not counted or listed, and audited only when an interpreter ends before its request.
 */
#ifndef SUPERVISOR_AHEAD_H
#define SUPERVISOR_AHEAD_H

#include <stdbool.h>

#include "request.h"
#include "state.h"

/* Most at once, in all sandboxes: an interpreter takes 5 to 10 MB, a process 100 kB. None is begun
 * while half of the operator's budget of memory is used. */
#define AHEAD_MAX 32
#define AHEAD_INTERPRETERS_MAX 16

/* From an execution's end until one begins: a client that has its answer and asks again has sent
 * its request by then. */
#define AHEAD_PAUSE_US 1500

/* How long an interpreter waits. */
#define AHEAD_WAIT_US 300000000

/* How often a process is begun anew that ended, or that its init could not begin beside what an
 * execution left, after twice the pause each time. An interpreter that ended is begun again after
 * the next execution alone. */
#define AHEAD_AGAIN 10

/* How long a process waits; then nobody seems to need it. */
#define AHEAD_BARE_WAIT_US 60000000

/* What an execution takes over: descriptors are its own then. */
struct ahead_parts {
	int stdio_ours[3];
	int stdio_workload[3]; /* -1: the process has them */
	int leaf;              /* -1: there are no cgroups */
	struct cgroup_usage before;
};

/* Where what waits in its sandbox fits this request, let that name the file that it waits for: what
 * the audit log says of it is what runs. */
void ahead_align(struct request *request);

/* Does what waits in its sandbox fit this request, with that probe? Then *ret is the caller's, who
 * says what came of it: whether it was asked for. An interpreter has its streams; a process is
 * asked by the sandbox's channel `ahead`. False: nothing waits there any more. */
bool ahead_take(const struct request *request, uint32_t probe, struct ahead_parts *ret);
void ahead_taken(const struct request *request, bool is_asked);

/* This began in a sandbox: what may wait there when it has ended. */
void ahead_note(const struct request *request);

/* An execution left it: maybe nothing runs in it any more. */
void ahead_rest(const struct sandbox *sandbox);

/* Note that the process waits, as its init says. */
void ahead_ready(const struct sandbox *sandbox);

/* Note that what waited is gone, and record an interpreter that ended by itself. Returns false when
 * nothing waited: it had been taken. */
bool ahead_gone(struct sandbox *sandbox, const struct ipc_spawn_done *from);

/* Its init ends. */
void ahead_lost(struct sandbox *sandbox);

/* Does nothing wait in it, or what did is gone? False: it is being killed, and who waits for the
 * sandbox is woken. */
bool ahead_is_clear(const struct sandbox *sandbox);

/* Kill all that wait: what they take is needed. */
void ahead_drop_all(void);

/* Do what is due, and when that is; UINT64_MAX: never. */
void ahead_tick(void);
uint64_t ahead_deadline_us(void);

#endif
