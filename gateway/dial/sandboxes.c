/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/sandboxes.h"

#include <errno.h>
#include <string.h>

#include "common/ipc/ipc_gateway.h"

static struct plan plans[GENERATIONS_MAX];

static struct {
	bool is_used, is_tightened;
	uint32_t use, generation, profile;
	char id[IPC_ID_MAX];
} sandboxes[GATEWAY_SLOTS];

int sandboxes_take_plan(uint32_t slot, int fd)
{
	if (slot >= GENERATIONS_MAX || plans[slot].bytes)
		return -EPROTO;
	return plan_open_fd(fd, &plans[slot]);
}

int sandboxes_forget_plan(uint32_t slot)
{
	if (slot >= GENERATIONS_MAX || !plans[slot].bytes)
		return -EPROTO;
	for (uint32_t i = 0; i < GATEWAY_SLOTS; i++) {
		if (sandboxes[i].is_used && sandboxes[i].generation == slot)
			return -EPROTO;
	}
	plan_close(&plans[slot]);
	return 0;
}

int sandboxes_begin(const struct ipc_dial_begin *begin)
{
	if (begin->slot >= GATEWAY_SLOTS || sandboxes[begin->slot].is_used ||
	    begin->generation >= GENERATIONS_MAX || !plans[begin->generation].bytes ||
	    begin->profile >= plan_profile_count(&plans[begin->generation]))
		return -EPROTO;
	sandboxes[begin->slot].is_used = true;
	sandboxes[begin->slot].is_tightened = false;
	sandboxes[begin->slot].use = begin->use;
	sandboxes[begin->slot].generation = begin->generation;
	sandboxes[begin->slot].profile = begin->profile;
	memcpy(sandboxes[begin->slot].id, begin->sandbox, sizeof(begin->sandbox));
	return 0;
}

int sandboxes_end(uint32_t slot)
{
	if (slot >= GATEWAY_SLOTS || !sandboxes[slot].is_used)
		return -EPROTO;
	sandboxes[slot].is_used = false;
	return 0;
}

int sandboxes_tighten(const struct ipc_dial_tighten *from)
{
	if (from->slot >= GATEWAY_SLOTS || !sandboxes[from->slot].is_used ||
	    sandboxes[from->slot].use != from->use)
		return -EPROTO;
	sandboxes[from->slot].is_tightened = true;
	return 0;
}

bool sandboxes_find(uint32_t slot, uint32_t use, struct sandbox_policy *ret)
{
	if (slot >= GATEWAY_SLOTS || !sandboxes[slot].is_used || sandboxes[slot].use != use)
		return false;
	ret->plan = &plans[sandboxes[slot].generation];
	ret->profile = plan_profile(ret->plan, sandboxes[slot].profile);
	ret->sandbox = sandboxes[slot].id;
	ret->is_tightened = sandboxes[slot].is_tightened;
	return true;
}
