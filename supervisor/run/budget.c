/* SPDX-License-Identifier: Apache-2.0 */
#include "run/budget.h"

#include <stdio.h>

#include "base/state.h"
#include "common/ipc/refusal.h"
#include "run/execution.h"
#include "run/pool.h"
#include "run/sandbox.h"
#include "run/standby.h"

/* Least memory of a new sandbox, for its init and page tables. With less left, starting it would
 * only make the kernel's OOM killer choose which sandbox ends. */
#define HEADROOM_BYTES ((uint64_t)8 << 20)

void budget_describe(uint64_t used, uint64_t max, const char *what, char detail[IPC_LIST_MAX])
{
	(void)snprintf(detail, IPC_LIST_MAX, "%llu of %llu %s", (unsigned long long)used,
		       (unsigned long long)max, what);
}

/* Ready sandboxes and standby processes can be ended at once: they make room for a request. */
static bool is_memory_short(uint64_t needs)
{
	const uint64_t used = supervisor.memory_bytes > 0 ? sandbox_memory_used() : 0;
	const uint64_t ready = supervisor.cgroup >= 0 ? pool_bytes() : 0; /* else not counted */

	if (supervisor.memory_bytes == 0 || used + needs <= supervisor.memory_bytes)
		return false;
	pool_drop_all();
	standby_drop_all();
	return used + needs > supervisor.memory_bytes + ready;
}

enum refusal budget_check(const struct plan_profile *profile, const struct sandbox *joins,
			  char detail[IPC_LIST_MAX], uint32_t *ret_retry_ms)
{
	/* A live sandbox's limit counts already, whatever runs in it. */
	const uint64_t reserves = joins && joins->state == SANDBOX_LIVE ? 0 : profile->memory_bytes;
	const uint64_t needs = supervisor.cgroup >= 0 ? HEADROOM_BYTES : reserves;
	enum refusal refusal = REFUSAL_NONE;

	if (supervisor.executions_live >= supervisor.executions_max) {
		budget_describe(supervisor.executions_live, supervisor.executions_max, "executions",
				detail);
		refusal = REFUSAL_BUSY;
	} else if (is_memory_short(needs)) {
		budget_describe(sandbox_memory_used() >> 20, supervisor.memory_bytes >> 20, "MiB",
				detail);
		refusal = REFUSAL_MEMORY;
	}
	if (refusal) {
		*ret_retry_ms =
			execution_longest_wait_ms() + 1; /* 0 would say that there is none */
		supervisor.executions_refused++;
	}
	return refusal;
}
