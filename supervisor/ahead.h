/* SPDX-License-Identifier: Apache-2.0
 *
 * An interpreter that waits in a live sandbox that lasts: what the last code was run with is
 * started once more, on a file that is still empty, as soon as nothing runs there. The next request
 * for the same with other code takes it; anything else that is asked of the sandbox has it killed
 * first. It is nobody's execution until then: it is not counted, listed or audited.
 */
#ifndef SUPERVISOR_AHEAD_H
#define SUPERVISOR_AHEAD_H

#include <stdbool.h>

#include "request.h"
#include "state.h"

/* Most at once, in all sandboxes: each takes 5 to 10 MB. None is begun while half of the operator's
 * budget of memory is used. */
#define AHEAD_MAX 16

/* From an execution's end until one begins: a client that has its answer and asks again has sent
 * its request by then. */
#define AHEAD_PAUSE_US 1500

/* How long one waits, and how often one is begun without being taken, after twice the pause each
 * time. What it waits by
 * the kernel ends after fs.lease-break-time, 45 s. */
#define AHEAD_WAIT_US 30000000
#define AHEAD_AGAIN 10

/* What an execution takes over: descriptors are its own then. */
struct ahead_parts {
	int stdio_ours[3];
	int stdio_workload[3];
	int leaf; /* -1: there are no cgroups */
	struct cgroup_usage before;
};

/* Where what waits in its sandbox fits this request, let that name the file that it waits for: what
 * the audit log says of it is what runs. */
void ahead_align(struct request *request);

/* Does what waits in its sandbox fit this request? Then *ret is the caller's, who says what came of
 * it: whether the init was asked to give it the code. False: nothing waits there any more. */
bool ahead_take(const struct request *request, struct ahead_parts *ret);
void ahead_taken(const struct request *request, bool is_asked);

/* This began in a sandbox: what may wait there when it has ended. */
void ahead_note(const struct request *request);

/* An execution left it: maybe nothing runs in it any more. */
void ahead_rest(const struct sandbox *sandbox);

/* Its init says that what waited is gone. */
void ahead_gone(struct sandbox *sandbox);

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
