/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of the output of a run, with the built-in profiles.
 */
#ifndef TESTS_UNIT_FRONTEND_HINT_RIG_H
#define TESTS_UNIT_FRONTEND_HINT_RIG_H

#include "frontend/denial_hints.h"
#include "support.h"

struct denial;
struct ipc_execution_done;

extern struct builtin builtin;
extern struct ipc_execution_done done;
extern struct denial_views views; /* of the last output */

/* The run whose output is judged; a test may change it. */
extern struct hint_source source;

void open_plan(void);
void close_plan(void);

/* Have the run report this one denial; NULL: none. */
void report_denial(const struct denial *denial);

/* Judge an output, and expect one inferred denial; nothing; that it is not the sandbox's doing. */
void judge(const char *text);
void expect_one(const char *text, const char *layer, const char *operation, const char *target);
void expect_nothing(const char *text);
void expect_other(const char *text, const char *path);

/* Return the lines that a model reads; static storage. */
const char *hints_of(const char *text);

#endif
