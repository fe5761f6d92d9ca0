/* SPDX-License-Identifier: Apache-2.0
 *
 * A supervisor between a frontend and a factory that the test plays, over real channels. Waiting
 * is by turns of the supervisor's own loop.
 */
#ifndef UNIT_SUPERVISOR_RIG_H
#define UNIT_SUPERVISOR_RIG_H

#include <sys/types.h>

#include "base/state.h"
#include "common/ipc/channel.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "small_plan.h"

struct ipc_execution_done;
struct ipc_execution_start;

/* The ends that the test holds. */
struct rig {
	struct channel frontend;
	struct channel factory;
};

/* The supervisor's side of rig.frontend: the first of its table. */
#define RIG_FRONTEND (&supervisor.frontends[0])

/* What frontend, factory and init know of one execution. */
struct rig_sandbox {
	uint64_t request;
	uint32_t slot;
	uint32_t generation;
	int stdio[3];           /* the frontend's */
	struct channel init;    /* the init's end */
	struct channel standby; /* the end of a process that waits in it; fd 0: none does */
	pid_t pid;              /* of the process that stands for the init; 0: none yet */
};

/* The supervisor as it is before hello. */
void rig_open(struct rig *rig);

/* The plan's descriptor, of which the supervisor knows nothing but that it hands it on. */
#define RIG_PLAN "a plan"

/* The same, and the frontend has its welcome. */
void rig_open_welcomed(struct rig *rig);

/* Close the test's ends and the supervisor's. */
void rig_close(struct rig *rig);

/* Let the supervisor do what there is to do now. If a test has real processes that answer, such as
 * msp-audit, the function waits until they have. */
void rig_turn(void);
extern void (*rig_others_settle)(void);

/* Let it run for this long, as its main loop does. */
void rig_run_ms(uint64_t ms);

/* Send to the supervisor and let it act. */
void rig_send(const struct channel *channel, uint32_t type, const void *message, const int *fds);

/* The next message from the supervisor, which must be of this type. Static storage until the next
 * call, which closes descriptors that are still in it. */
struct channel_message *rig_take(const struct channel *channel, uint32_t type);

/* Take the next message, which must be of type IPC_TYPE_name; its struct. */
#define rig_body(from, name) ipc_body(rig_take(from, IPC_TYPE_##name), name)

/* The supervisor said nothing. */
void rig_take_nothing(const struct channel *channel);

/* The peer is gone. */
void rig_take_end(const struct channel *channel);

/* The execution's end, as the frontend hears it. */
const struct ipc_execution_done *rig_take_done(const struct rig *rig, uint64_t request);

/* Its verdict alone. */
uint32_t rig_take_verdict(const struct rig *rig, uint64_t request);

/* Take the execution's end, and return whether the network has refused something in it. */
bool rig_take_refusals(const struct rig *rig, uint64_t request);

/* The same of one that failed on our side, with the stage and errno. */
void rig_take_internal(const struct rig *rig, uint64_t request, uint32_t stage, uint32_t error);

/* The request's refusal, as the frontend hears it. */
void rig_take_refused(const struct rig *rig, uint64_t request, enum refusal reason);

/* Close what the last message left. */
void rig_release(void);

/* A request for the command "true" that says nothing else. Static storage. */
struct ipc_execution_start *rig_request(uint64_t number);

/* Ask for an execution and receive what frontend, factory and init get for it. */
struct rig_sandbox rig_begin(const struct rig *rig, uint64_t number);

/* Answer as the factory does: the init is this new process. */
void rig_answer(const struct rig *rig, struct rig_sandbox *sandbox);

/* Answer as the factory does that no init could be made. */
void rig_fail(const struct rig *rig, uint32_t slot, uint32_t stage, uint32_t error);

/* Report as the init does that the workload ended with this wait status. */
void rig_report(const struct rig_sandbox *sandbox, uint32_t status);

/* Was the init's process killed? Waits for it for a moment. */
bool rig_is_killed(struct rig_sandbox *sandbox);

/* Close the test's ends of it, and its process. */
void rig_end(struct rig_sandbox *sandbox);

/* Its init hears that a process shall wait in it. */
void rig_take_standby(struct rig_sandbox *sandbox);

/* A new process that holds no descriptor and does nothing. */
pid_t rig_process(void);

#endif
