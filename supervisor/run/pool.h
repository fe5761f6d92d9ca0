/* SPDX-License-Identifier: Apache-2.0
 *
 * Ready sandboxes: ephemeral ones, each complete, with its init, its cgroup and the leaf
 * of the execution to come, and with nothing that ever ran in it. An execution of the same profile
 * and policy takes one and has only to be asked of its init; where none is ready it has one made,
 * as any does without a pool. Each is used once: what was taken ends with its execution, and what
 * was not used never becomes another one's.
 *
 * A profile has a pool once its posture is known, so that none of its sandboxes would have had to
 * be probed, and once an execution of it was asked for; the default profile from the start. How
 * many are kept ready follows what is taken. They are made while nobody waits: a moment after a
 * report, not between a request and its report.
 */
#ifndef SUPERVISOR_RUN_POOL_H
#define SUPERVISOR_RUN_POOL_H

#include <stdbool.h>

#include "base/state.h"

/* Most ready sandboxes of one profile. */
#define POOL_PROFILE_MAX 16

/* Ready at first of the default profile: agents ask for two things at once now and then. */
#define POOL_START 2

/* Most memory of a ready sandbox, bytes, before anything ran in it: tests/bench measures it. All of
 * them together take at most this part of the operator's budget of memory, and none is made while
 * half of that is used. */
#define POOL_SANDBOX_BYTES ((uint64_t)512 << 10)
#define POOL_MEMORY_PART 16

/* From a report until the next one is made: a client that has its answer and asks again has sent
 * its request by then. */
#define POOL_PAUSE_US 1000

/* If a sandbox is taken within this time of being asked for, it was hardly complete: the pool was
 * too small. */
#define POOL_MAKING_US 3000

/* From a start until one is made although its execution runs on. */
#define POOL_LONG_US 50000

/* After this long without being used a profile keeps half as many, and at the end none, or one if
 * it is the default one. */
#define POOL_IDLE_US 60000000

/* Until one is made again after one could not be made, or ended unused; doubled each time. */
#define POOL_AGAIN_US 100000

/* Most starts that the factory has not answered; with more it is the requests' turn. */
#define POOL_STARTS_MAX 16

/* Keep sandboxes ready from now on. */
void pool_open(void);

/* Have a ready sandbox made. 0 or -errno: it could not be asked for. A supervisor for one command
 * calls this as soon as the factory can, before the request has come; nothing waits in its sandbox
 * but the init. It is taken like any other. What becomes of it until then its execution is told. */
int pool_make(uint32_t profile);

/* A ready one of this profile of the policy in force, which is the caller's now: to be given an
 * execution, or to pool_drop(). NULL: there is none. *ret_leaf is of its cgroup, for its execution,
 * and the caller's; as it was where there is none, or what waits there has it. */
struct sandbox *pool_take(uint32_t profile, int *ret_leaf);

/* End a sandbox that was taken and in which no execution begins. */
void pool_drop(struct sandbox *sandbox);

/* End all that are ready: what they take is needed, or they are of a policy that no longer holds
 * (and so are the counts of what was taken). */
void pool_drop_all(void);
void pool_forget(void);

/* Return whether a ready sandbox may hold a descriptor of this number: the upper half of our limit
 * of descriptors is for requests. */
bool pool_may_hold(int fd);

/* Return the most memory that the ready sandboxes take, bytes. */
uint64_t pool_bytes(void);

/* Note that an execution was begun, or that one was reported. */
void pool_begun(void);
void pool_reported(void);

/* Take note that the init of a sandbox without an execution ended by itself or failed to start. */
void pool_lost(struct sandbox *sandbox, uint32_t stage, uint32_t error);

/* Free the slots of ended sandboxes without an execution whose init has gone. */
void pool_clear(void);

/* Do what is due, and when that is; UINT64_MAX: never. */
void pool_tick(void);
uint64_t pool_deadline_us(void);

/* At our own end: true when none is left. Call until true. */
bool pool_end_all(void);

#endif
