/* SPDX-License-Identifier: Apache-2.0
 *
 * The standby process of a live persistent sandbox, begun as soon as nothing runs there. If code is
 * expected, it is the last code's interpreter, started again as far as nothing in it depends on
 * files that a workload left (child-init/gate.h). The next request for the same with other code
 * takes it. Else it is a process that has executed nothing, which any request without a terminal
 * takes. Any other request for the sandbox kills it first. A standby process is not an execution:
 * it is not counted or listed, and audited only if an interpreter ends before its request.
 */
#ifndef SUPERVISOR_RUN_STANDBY_H
#define SUPERVISOR_RUN_STANDBY_H

#include <stdbool.h>

#include "base/state.h"
#include "run/request.h"

struct ipc_spawn_done;

/* Most standby processes at once, in all sandboxes: an interpreter takes 5 to 10 MB, a process 100
 * kB. None is begun while half of the operator's budget of memory is used. */
#define STANDBY_MAX 32
#define STANDBY_INTERPRETERS_MAX 16

/* From an execution's end until one begins: a client that has its answer and asks again has sent
 * its request by then. */
#define STANDBY_PAUSE_US 1500

/* How long an interpreter waits. */
#define STANDBY_WAIT_US 300000000

/* How often a process is begun anew that ended, or that its init could not begin beside what an
 * execution left, after twice the pause each time. An interpreter that ended is begun again after
 * the next execution alone. */
#define STANDBY_AGAIN 10

/* How long a process that has executed nothing waits; then it seems unneeded. */
#define STANDBY_BARE_WAIT_US 60000000

/* The parts that an execution takes over from a standby process, with their descriptors. */
struct standby_parts {
	int stdio_ours[3];
	int stdio_workload[3]; /* -1: the process has them */
	int leaf;              /* -1: there are no cgroups */
	struct cgroup_usage before;
};

#define STANDBY_PARTS_NONE                                                                         \
	{                                                                                          \
		{ -1, -1, -1 }, { -1, -1, -1 }, -1,                                                \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* If the standby interpreter fits this request, set the request's code path to the file that the
 * interpreter waits for, so that the audit log names the file that runs. */
void standby_align(struct request *request);

/* Take the standby process of the request's sandbox if it fits the request and the probe; else kill
 * it and return false. True: *ret is the caller's, who then calls standby_taken(). An interpreter
 * has its streams; a process that has executed nothing is asked by the sandbox's channel `standby`.
 */
bool standby_take(const struct request *request, uint32_t probe, struct standby_parts *ret);
void standby_taken(const struct request *request, bool is_asked);

/* Note the request whose execution began. The standby process that follows is for what came after
 * the last execution of this kind, a command or code: a session mostly repeats its turns. */
void standby_note(const struct request *request);

/* Plan a standby process after an execution left the sandbox, if nothing else runs there. */
void standby_rest(const struct sandbox *sandbox);

/* Note that the process waits, as its init says. */
int standby_ready(void *sandbox, struct channel_message *message);

/* Note that what waited is gone, and record an interpreter that ended by itself. Returns false when
 * nothing waited: it had been taken. */
bool standby_gone(struct sandbox *sandbox, const struct ipc_spawn_done *from);

/* Return whether the sandbox has no standby process. False: it is being killed, and the deferred
 * requests for the sandbox run again when it has gone. */
bool standby_is_clear(const struct sandbox *sandbox);

/* End the init of a persistent sandbox as sandbox_end() does, and its standby process with it. */
void standby_end_sandbox(struct sandbox *sandbox);

/* Kill all standby processes: their memory is needed. */
void standby_drop_all(void);

/* Do what is due; standby_deadline_us() returns when that is; UINT64_MAX: never. */
void standby_tick(void);
uint64_t standby_deadline_us(void);

#endif
