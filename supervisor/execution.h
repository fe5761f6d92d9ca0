/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of one execution: its sandbox is asked for, its workload runs, it is reported, its
 * sandbox is gone. Reporting comes before the tearing down.
 */
#ifndef SUPERVISOR_EXECUTION_H
#define SUPERVISOR_EXECUTION_H

#include <stdbool.h>

#include "request.h"
#include "state.h"

/*
 * Start what passed request.h, for `frontend`; for nobody (NULL): the probe of its profile alone.
 * In a sandbox of its own, or in request->sandbox, which is ready for it (sandbox_prepare()).
 * `code` is a sealed memfd or -1 and stays the caller's. Returns 0, after which execution_done will
 * reach the frontend whatever happens, or -errno when nothing was started.
 */
int execution_begin(struct frontend *frontend, const struct request *request, int code);

/* The frontend's live execution with this number, or NULL. */
struct execution *execution_find(const struct frontend *frontend, uint64_t request);

/* How many run in a sandbox. */
uint32_t execution_count(const struct sandbox *sandbox);

/* How long it may still run, in milliseconds and never 0, which would say that nobody knows. */
uint64_t execution_left_ms(const struct execution *execution);

/* Kill its processes; `verdict` is what will be reported. */
void execution_kill(struct execution *execution, uint32_t verdict);

/* Send a signal to its first process and that one's group, if it lives by the time. */
void execution_signal(const struct execution *execution, uint32_t signal);

/* The same for all that run in a sandbox. */
void execution_kill_all(const struct sandbox *sandbox, uint32_t verdict);

/* Kill what a frontend that is gone had asked for. */
void execution_abandon(const struct frontend *frontend);

/* What an init says, or its end; the context is its sandbox. */
void execution_on_init(void *sandbox);

/* Report what runs in a sandbox as failed at a stage: it has no init, or none that works, and is at
 * its end. */
void execution_lose_all(struct sandbox *sandbox, uint32_t stage, uint32_t error);

/* An ephemeral sandbox's init is gone: its execution need not wait for that any more. */
void execution_free(const struct sandbox *sandbox);

/* When execution_expire() has to look at it next. */
void execution_set_deadline(struct execution *execution, uint64_t deadline_us);

/* No earlier has execution_expire() something to do; UINT64_MAX: it has nothing. */
uint64_t execution_deadline_us(void);

/* In how many milliseconds a place is free at the latest, by the earliest time limit. */
uint32_t execution_longest_wait_ms(void);

/* Kill what is over its time. */
void execution_expire(void);

/* Report every live execution as cancelled, by our own end. */
void execution_report_stop(void);

/* Kill every execution without reports; true when all are gone. Call until true. */
bool execution_end_all(void);

#endif
