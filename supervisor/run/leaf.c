/* SPDX-License-Identifier: Apache-2.0 */
#include "run/leaf.h"

#include <errno.h>

#include "base/events.h"
#include "common/limits.h"
#include "run/cgroup.h"

int leaf_join(struct sandbox *sandbox, uint32_t *ret_leaf)
{
	struct persistent *own = &sandbox->persistent;

	*ret_leaf = (uint32_t)__builtin_ctz(~own->leaves); /* they are fewer than its bits */
	if (*ret_leaf >= SANDBOX_EXECUTIONS_MAX)
		return -EBUSY;
	own->leaves |= 1U << *ret_leaf;
	own->executions++;
	event_sandbox_joined(sandbox);
	return 0;
}

bool leaf_clear(const struct sandbox *sandbox, uint32_t leaf)
{
	return supervisor.cgroup < 0 || cgroup_remove_leaf(sandbox->slot, leaf);
}

void leaf_leave(struct sandbox *sandbox, uint32_t leaf)
{
	sandbox->persistent.leaves &= ~(1U << leaf);
	sandbox->persistent.executions--;
	event_sandbox_left(sandbox);
}
