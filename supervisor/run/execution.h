/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of one execution: its sandbox is asked for, its workload runs, it is reported, its
 * sandbox is gone. Reporting comes before the tearing down.
 */
#ifndef SUPERVISOR_RUN_EXECUTION_H
#define SUPERVISOR_RUN_EXECUTION_H

#include <stdbool.h>

#include "base/state.h"
#include "run/request.h"

/*
 * Start what passed request.h, for `frontend`; for nobody (NULL): the probe of its profile alone.
 * In a sandbox of its own, or in request->sandbox, which is ready for it (sandbox_prepare()).
 * `code` is a sealed memfd or -1 and stays the caller's. Returns 0, after which execution_done will
 * reach the frontend whatever happens, or -errno when nothing was started.
 */
int execution_begin(struct frontend *frontend, const struct request *request, int code);

/* Release the cgroup leaf of an execution that is gone in a persistent sandbox, and plan the scan
 * and the standby process that follow. */
void execution_leave_leaf(struct sandbox *sandbox, uint32_t leaf);

/* Return the frontend's live execution with this number, or NULL. */
struct execution *execution_find(const struct frontend *frontend, uint64_t request);

/* Return the number of executions in a sandbox. */
uint32_t execution_count(const struct sandbox *sandbox);

/* Return how long it may still run, in milliseconds; 0: it has no time limit. */
uint64_t execution_left_ms(const struct execution *execution);

/* Move its deadline to `wall_ms` from now, if that is later and within its profile's maximum; else
 * to that maximum. Return how long it may still run. */
uint64_t execution_extend(struct execution *execution, uint32_t wall_ms);

/* Kill its processes; `verdict` is what will be reported. */
void execution_kill(struct execution *execution, uint32_t verdict);

/* Send a signal to its first process and that one's group, if it lives by the time. */
void execution_signal(const struct execution *execution, uint32_t signal);

/* Kill all executions in a sandbox; `verdict` is what will be reported. */
void execution_kill_all(const struct sandbox *sandbox, uint32_t verdict);

/* Kill the executions of a frontend that has gone. */
void execution_abandon(const struct frontend *frontend);

/* Tell msp-cable, which counts the refusals of the network, that an execution of `owner` begins, or
 * is over (EXECUTION_DONE), unless its sandbox is ephemeral, no host can be added in it and nothing
 * was refused. Return whether something was refused since the begin. */
bool execution_tell_cable(struct execution *execution, const char *owner);

/* The handlers of events of sandboxes, installed at start. */
extern const struct sandbox_handlers execution_handlers;

/* Report the executions of a sandbox that has no init, or none that works, as failed at this stage,
 * and end it. */
void execution_lose_sandbox(struct sandbox *sandbox, uint32_t stage, uint32_t error);

/* Set when execution_expire() has to look at it next. */
void execution_set_deadline(struct execution *execution, uint64_t deadline_us);

/* Return the time before which execution_expire() does nothing; UINT64_MAX: never. */
uint64_t execution_deadline_us(void);

/* Return in how many milliseconds a place is free at the latest, by the earliest time limit. */
uint32_t execution_longest_wait_ms(void);

/* Kill the executions that are over their time. */
void execution_expire(void);

/* Report every live execution as cancelled, by our own end. */
void execution_report_stop(void);

/* Kill every execution without reports; true when all are gone. Call until true. */
bool execution_end_all(void);

#endif
