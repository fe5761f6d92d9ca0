/* SPDX-License-Identifier: Apache-2.0
 *
 * When the files of a persistent sandbox are counted, and what host files they were made from is
 * noted. msp-layers does both in one job, a scan, after an execution and while one runs.
 *
 * The disk limit holds between two counts because the free space of the state directory's file
 * system is looked at: what it lost since the last count is more than what the sandbox had left, or
 * the sandbox is within its limit. A count that fails lets nothing begin.
 *
 * The states and the events that change them; scan.def has all pairs, with the actions:
 *
 *            EXECUTION, FOUND         BEGUN             DONE
 *     CLEAN -----------------> DUE ---------> RUNNING --------> KEPT
 *       ^                     ^ ^ ^              |              | |
 *       |                     | | |              | EXECUTION    | |
 *       |                     | | |     DONE     v              | |
 *       |                     | | +----------- BEHIND           | |
 *       |                     | |                    EXECUTION  | |
 *       |                     | +-------------------------------+ |
 *       |                     |                              COLD |
 *       +---------------------|-----------------------------------+
 *                             |
 *                             | EXECUTION, RETRY
 *                          BLOCKED <-- FAILED -- DUE, RUNNING, BEHIND
 *
 * A mark in the sandbox's directory says since when its files are not scanned. There is none in
 * CLEAN. In KEPT it is one file less to make for the next execution.
 */
#ifndef SUPERVISOR_PERSISTENT_SCAN_H
#define SUPERVISOR_PERSISTENT_SCAN_H

#include "common/ipc/refusal.h"
#include "run/sandbox.h"

enum scan_event {
	SCAN_ON_FOUND,     /* the mark of an earlier supervisor */
	SCAN_ON_EXECUTION, /* begins, or still runs when a scan begins */
	SCAN_ON_BEGUN,     /* msp-layers was asked for */
	SCAN_ON_DONE,      /* its answer: all is counted and noted */
	SCAN_ON_FAILED,    /* it is not, or cannot be begun */
	SCAN_ON_RETRY, /* the sandbox is used, or what kept the scan from beginning may be over */
	SCAN_ON_COLD,  /* the sandbox has no process */
	SCAN_EVENTS
};

/* Make the transition of this state and event, with its action. A pair that has none ends the
 * process with exit code 70: the supervisor's own books are wrong. */
void scan_step(struct persistent *own, enum scan_event event);

/* Begin with what an earlier supervisor left: a mark says that something ran and was not noted. */
void scan_recall(struct persistent *own);

/* Mark the sandbox, in which an execution begins, and set when the next scan is due. */
void scan_execution_begin(struct persistent *own);

/* Return whether a scan has to be waited for; it is then not put off any longer. A scan that cannot
 * be begun is not waited for. */
bool scan_is_needed(struct persistent *own);

/* Return whether the last count was beyond the limits of the profile. */
bool scan_is_over(const struct persistent *own, const struct plan_profile *profile);

/* Refuse an execution, or have it wait (REFUSAL_DEFERRED), while the last count of the sandbox
 * failed. */
enum refusal scan_await_count(struct persistent *own, char detail[IPC_LIST_MAX]);

/* Begin a scan that is due, and end executions that cannot be counted. */
void scan_settle(struct sandbox *sandbox, uint64_t now);

#endif
