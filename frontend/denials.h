/* SPDX-License-Identifier: Apache-2.0
 *
 * The denials of an execution in words: the rule of the policy that refused, its place in the
 * operator's file, and the change that would allow it. The records are counts; all words come from
 * the plan, none from the workload.
 */
#ifndef FRONTEND_DENIALS_H
#define FRONTEND_DENIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/denial.h"
#include "common/ipc.h"
#include "common/plan.h"

/* Two lines of one sentence each, and their NUL. */
#define DENIALS_TEXT_MAX 1024

/* Kinds that are told apart of what was not counted, but said by the workload itself. */
#define DENIAL_HINTS_MAX 6

/* How likely it is what a failure comes from. Programs try what they can do without, and take the
 * refusal of a call that some profiles allow for an answer like any other. */
enum denial_weight { DENIAL_FIRST, DENIAL_PROBED, DENIAL_LAST, DENIAL_WEIGHTS };

struct denial_view {
	const char *layer;
	enum denial_weight weight;
	uint32_t count;
	bool is_inferred;   /* the policy refuses it; that it was tried, only the workload says */
	char operation[48]; /* "mount", "memory", "read" */
	char target[208];   /* its object; may be empty */
	char reason[256];
	char rule[256];   /* with the line that says it */
	char remedy[256]; /* the change that would allow it */
};

struct denial_views {
	uint32_t count;
	struct denial_view items[DENIALS_MAX + DENIAL_HINTS_MAX];
	char other[320]; /* that an error was not the sandbox's; may be empty */
};

/* Describe what `done` carries; a plan that is NULL or without bytes has nothing to tell.
 * `profile`: the name that it ran under. Records that cannot be are left out. */
void denials_describe(const struct plan *plan, const char *profile,
		      const struct ipc_execution_done *done, struct denial_views *ret);

/* At most two lines without a newline at the end: the kinds that weigh most, and how many there are
 * more; or that it was not the sandbox. Empty when there is nothing to say. */
void denials_put_lines(const struct denial_views *views, char ret[DENIALS_TEXT_MAX]);

#endif
