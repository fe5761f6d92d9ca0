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

#include "common/limits.h"
#include "common/plan/plan.h"
#include "common/records/denial.h"
#include "common/text/format.h"

struct ipc_execution_done;

/* Print into an array of characters; a text that does not fit is cut. */
#define SAY(array, ...) format_text(array, sizeof(array), __VA_ARGS__)

/* Two lines of one sentence each, and their NUL. */
#define DENIALS_TEXT_MAX 1024

/* A hint for a model, with a NUL: in its brackets some 35 tokens. */
#define HINT_TEXT_MAX 120

/* A path in a hint, with a NUL. */
#define HINT_PATH_MAX 49

/* Kinds that are told apart of what was not counted, but said by the workload itself. */
#define DENIAL_HINTS_MAX 6

/* The kinds that were counted: by the kernel, and by msp-cable. */
#define DENIALS_COUNTED_MAX (DENIALS_MAX + NETWORK_COUNTED_MAX)

/* The likelihood that a failure comes from a denial. Programs probe calls that they can do without,
 * and take their refusal for an answer like any other. */
enum denial_weight {
	DENIAL_FACT,   /* the program named a reason that holds in every sandbox */
	DENIAL_FIRST,  /* a limit, a file or the network */
	DENIAL_CALLED, /* a refused call */
	DENIAL_PROBED, /* a refused call that programs probe */
	DENIAL_LAST,   /* not shown to people and models */
	DENIAL_WEIGHTS
};

struct denial_view {
	const char *layer;
	enum denial_weight weight;
	uint32_t count;
	bool is_inferred;   /* the policy refuses it; that it was tried, only the workload says */
	bool is_network;    /* it stands for the network */
	bool is_shared;     /* it counts for all executions that were in the sandbox meanwhile */
	bool is_silent;     /* libraries call it at their start and go on: no EPERM tells of it */
	char operation[48]; /* "mount", "memory", "read" */
	char target[208];   /* its object; may be empty */
	char reason[256];
	char rule[256];           /* with the line that says it */
	char remedy[512];         /* the changes that would allow it */
	char hint[HINT_TEXT_MAX]; /* the cause for a model, without a remedy that it cannot apply */
};

struct denial_views {
	uint32_t count;
	struct denial_view items[DENIALS_COUNTED_MAX + DENIAL_HINTS_MAX];
	char other[HINT_TEXT_MAX]; /* that an error was not the sandbox's; may be empty */
	char note[HINT_TEXT_MAX]; /* that a name is missing which the host may have; may be empty */
	char unreached[HINT_TEXT_MAX]; /* a host that the policy allows, by msp-cable's counts; or
					  all */
};

/* Describe what `done` carries; a plan that is NULL or without bytes has nothing to tell.
 * `profile`: the name that it ran under. Records that cannot be are left out. */
void denials_describe(const struct plan *plan, const char *profile,
		      const struct ipc_execution_done *done, struct denial_views *ret);

/* Return whether a refusal may be the reason of this end, and not a limit or a wish. For want of a
 * network, programs run out of time. */
bool denial_hints_apply(const struct ipc_execution_done *done);

/* Put at most two lines for a person, without a newline at the end: the kinds that weigh most, and
 * the number of further ones. Empty: there is nothing to say. */
void denials_put_lines(const struct denial_views *views, char ret[DENIALS_TEXT_MAX]);

/* Put at most two hints for a model, each in brackets on a line; or, if there are none, views->note
 * or views->other. Empty: there is nothing to say. */
void denials_put_hints(const struct denial_views *views, char ret[DENIALS_TEXT_MAX]);

/* Print a path for a hint: a long one loses its beginning. */
void hint_path(const char *path, char ret[HINT_PATH_MAX]);

/* Set rule and hint of a limit: its key in the profile, its value (0: it has none), and the unit.
 */
void denial_limit(struct denial_view *view, const char *key, uint64_t value, const char *unit);

#endif
