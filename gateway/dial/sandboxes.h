/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes that may have connections, and the plans that they began under.
 */
#ifndef GATEWAY_DIAL_SANDBOXES_H
#define GATEWAY_DIAL_SANDBOXES_H

#include "common/plan/plan.h"

struct ipc_dial_begin;
struct ipc_dial_tighten;

/* The policy of a sandbox, until it ends. */
struct sandbox_policy {
	const struct plan *plan;
	const struct plan_profile *profile;
	const char *sandbox; /* its id; empty: it is ephemeral */
	bool is_tightened;   /* hosts of the plan were taken away */
};

/* Take a sealed plan for sandboxes to come, and give one back: 0, or -EPROTO or another -errno. */
int sandboxes_take_plan(uint32_t slot, int fd);
int sandboxes_forget_plan(uint32_t slot);

/* Begin and end a sandbox: 0 or -EPROTO. */
int sandboxes_begin(const struct ipc_dial_begin *begin);
int sandboxes_end(uint32_t slot);

/* Note that hosts are taken away from a sandbox: 0, or -EPROTO. */
int sandboxes_tighten(const struct ipc_dial_tighten *from);

/* Find the policy of a sandbox. False: it has ended, or never was. */
bool sandboxes_find(uint32_t slot, uint32_t use, struct sandbox_policy *ret);

#endif
