/* SPDX-License-Identifier: Apache-2.0 */
#include "denials.h"

#include <string.h>

#include "common/denial.h"

static void add_limit(struct denials *denials, uint32_t layer, uint64_t count)
{
	const struct denial denial = { .layer = layer,
				       .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX };

	if (count > 0)
		denials_add(denials, denial);
}

bool denials_put(struct ipc_execution_done *done, const struct ipc_spawn_done *from,
		 const struct cgroup_usage *usage)
{
	struct denials denials;

	if (!denials_take(&denials, from->denials, from->denials_size))
		return false;
	add_limit(&denials, DENIAL_MEMORY, usage->oom_kills + (from->over_memory != 0));
	add_limit(&denials, DENIAL_PIDS, usage->forks_refused + (from->over_pids != 0));
	add_limit(&denials, DENIAL_DISK, from->over_disk != 0);
	done->denials_size = denials.size;
	memcpy(done->denials, denials.records, denials.size);
	return true;
}
