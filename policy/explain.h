/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp-policy explain`: the answers of a plan to operations of the command line.
 */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "common/plan/plan.h"
#include "lib/heap/buffer.h"

/* Append the answers of a profile, the first argument, to the others: operations, or the words of
 * one. Return the exit code, with a message if it is not 0. */
int explain(const struct plan *plan, int count, const char *const *arguments, struct buffer *text);

#endif
