/* SPDX-License-Identifier: Apache-2.0 */
#include "run/denials.h"

#include <string.h>

#include "base/audit.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_init.h"
#include "common/records/denial.h"
#include "run/sandbox.h"

static void add_limit(struct denials *denials, uint32_t layer, uint64_t count)
{
	const struct denial denial = { .layer = layer,
				       .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX };

	if (count > 0)
		denials_add(denials, denial);
}

static const struct {
	const char *layer;
	const char *operation;
} words[] = {
#define DENIAL(name, layer, operation) { layer, operation },
#include "common/records/denial.def"
#undef DENIAL
};

static const char *name_of(const struct plan *plan, uint32_t number)
{
	for (uint32_t i = 0; i < plan_header(plan)->call_count; i++) {
		if (plan_calls(plan)[i].number == number)
			return plan_string(plan, plan_calls(plan)[i].name);
	}
	return words[DENIAL_SECCOMP].operation;
}

void denials_note(const struct execution *execution, const struct ipc_execution_done *done)
{
	const struct plan *plan = sandbox_plan(execution->sandbox);
	struct denials denials;

	if (!denials_take(&denials, done->denials, done->denials_size))
		return;
	for (uint32_t i = 0; i < denials.size / sizeof(denials.records[0]); i++) {
		const struct denial *denial = &denials.records[i];
		const bool is_call = denial->layer == DENIAL_SECCOMP;

		audit_denial(execution, words[denial->layer].layer,
			     is_call ? name_of(plan, denial->number)
				     : words[denial->layer].operation,
			     denial->argument, denial->count);
	}
}

bool denials_put(struct ipc_execution_done *done, const struct ipc_spawn_done *from,
		 const struct cgroup_usage *usage)
{
	struct denials denials;

	if (!denials_take(&denials, from->denials, from->denials_size))
		return false;
	/* The kernel counts each process of the group that it kills at once. */
	add_limit(&denials, DENIAL_MEMORY, usage->oom_kills > 0 || from->over_memory);
	add_limit(&denials, DENIAL_PIDS, usage->forks_refused + (from->over_pids != 0));
	add_limit(&denials, DENIAL_DISK, from->over_disk != 0);
	done->denials_size = denials.size;
	memcpy(done->denials, denials.records, denials.size);
	return true;
}
