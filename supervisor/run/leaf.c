/* SPDX-License-Identifier: Apache-2.0 */
#include "run/leaf.h"

#include <errno.h>

#include "common/limits.h"
#include "run/sandbox.h"
#include "run/standby.h"

/* From the end of an execution to a scan: longer than a client takes for the next call of a series,
 * with which msp-layers would compete. Who asks for what is noted has it noted at once. */
#define SCAN_SETTLED_US 300000

int leaf_join(struct sandbox *sandbox, uint32_t *ret_leaf)
{
	struct persistent *own = &sandbox->persistent;

	*ret_leaf = (uint32_t)__builtin_ctz(~own->leaves); /* they are fewer than its bits */
	if (*ret_leaf >= SANDBOX_EXECUTIONS_MAX)
		return -EBUSY;
	own->leaves |= 1U << *ret_leaf;
	own->executions++;
	sandbox_stir(sandbox);
	return 0;
}

void leaf_leave(struct sandbox *sandbox, uint32_t leaf)
{
	struct persistent *own = &sandbox->persistent;

	own->leaves &= ~(1U << leaf);
	own->executions--;
	own->idle_us = clock_now_us();
	own->is_changed = true;
	if (own->idle_us + SCAN_SETTLED_US < own->scan.due_us)
		own->scan.due_us = own->idle_us + SCAN_SETTLED_US;
	sandbox_stir(sandbox);
	standby_rest(sandbox);
}
