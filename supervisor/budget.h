/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator's budget for all sandboxes together. Beyond it a request is refused, with the reason
 * and a time, and what runs already goes on as before.
 */
#ifndef SUPERVISOR_BUDGET_H
#define SUPERVISOR_BUDGET_H

#include "common/ipc.h"
#include "common/plan.h"

struct sandbox;

/* May an execution of this profile start now, in a sandbox that lasts (NULL: in one of its own)?
 * REFUSAL_NONE, or the reason, with what is used and
 * what is allowed in `detail` and the longest wait in *ret_retry_ms. */
enum refusal budget_check(const struct plan_profile *profile, const struct sandbox *joins,
			  char detail[IPC_LIST_MAX], uint32_t *ret_retry_ms);

/* "3 of 4 sandboxes" */
void budget_describe(uint64_t used, uint64_t max, const char *what, char detail[IPC_LIST_MAX]);

/* What all sandboxes use now, in bytes: measured by the kernel with cgroups; in the fallback, what
 * their profiles allow them. */
uint64_t budget_memory_used(void);

#endif
