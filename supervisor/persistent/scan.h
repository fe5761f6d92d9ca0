/* SPDX-License-Identifier: Apache-2.0
 *
 * When the files of a persistent sandbox are counted, and what host files they were made from is
 * noted. msp-layers does both in one job, after an execution and while one runs.
 *
 * The disk limit holds between two counts because the free space of the state directory's file
 * system is looked at: what it lost since the last count is more than what the sandbox had left, or
 * the sandbox is within its limit. A count that fails lets nothing begin.
 */
#ifndef SUPERVISOR_PERSISTENT_SCAN_H
#define SUPERVISOR_PERSISTENT_SCAN_H

#include "run/sandbox.h"

/* Read what an earlier supervisor left: a mark says that something ran and was not noted. */
void note_recall(struct sandbox *sandbox);

/* From the end of an execution to a note: longer than a client takes for the next call of a series,
 * with which msp-layers would compete. Who asks for what is noted has it noted at once. */
#define SCAN_SETTLED_US 300000

/* Mark the sandbox, in which an execution begins, and set when the next note is due. */
void note_execution_begin(struct sandbox *sandbox);

/* Return whether a note has to be waited for; it is then not put off any longer. A note that cannot
 * be begun is not waited for. */
bool scan_is_needed(struct sandbox *sandbox);

/* Return whether the last count was beyond the limits of the profile. */
bool scan_is_over(const struct sandbox *sandbox, const struct plan_profile *profile);

/* Refuse an execution, or have it wait (REFUSAL_DEFERRED), while the last count of the sandbox
 * failed. */
enum refusal note_await_count(struct sandbox *sandbox, char detail[IPC_LIST_MAX]);

/* Begin a note that is due, and end executions that cannot be counted. */
void note_settle(struct sandbox *sandbox, uint64_t now);

#endif
