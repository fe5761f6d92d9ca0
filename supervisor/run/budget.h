/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator's budget for all sandboxes together. Beyond it a request is refused, with the reason
 * and a time, and what runs already goes on as before.
 */
#ifndef SUPERVISOR_RUN_BUDGET_H
#define SUPERVISOR_RUN_BUDGET_H

#include "common/ipc/refusal.h"
#include "common/limits.h"
#include "common/plan/plan.h"

struct sandbox;

/* Return REFUSAL_NONE if an execution of this profile may start now in the persistent sandbox
 * `joins` (NULL: in an ephemeral one). Else the reason, with use and limit in `detail` and the
 * longest wait in *ret_retry_ms. */
enum refusal budget_check(const struct plan_profile *profile, const struct sandbox *joins,
			  char detail[IPC_LIST_MAX], uint32_t *ret_retry_ms);

/* "3 of 4 sandboxes" */
void budget_describe(uint64_t used, uint64_t max, const char *what, char detail[IPC_LIST_MAX]);

#endif
