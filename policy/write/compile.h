/* SPDX-License-Identifier: Apache-2.0
 *
 * Compile a set of profiles into a plan (common/plan/plan.h).
 */
#ifndef POLICY_WRITE_COMPILE_H
#define POLICY_WRITE_COMPILE_H

#include "policy/read/policy.h"

/* Append the plan of all profiles to an empty `blob`. Equal input gives equal bytes. 0, or -1 with
 * *error set. */
int policy_compile(const struct policy *policy, struct buffer *blob, struct policy_error *error);

#endif
