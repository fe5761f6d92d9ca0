/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes that have a cable, by their slots.
 */
#ifndef GATEWAY_CABLE_CABLES_H
#define GATEWAY_CABLE_CABLES_H

#include <stdbool.h>

#include "common/ipc/ipc_gateway.h"
#include "common/plan/plan.h"
#include "gateway/cable/cable.h"

/* A sandbox, a client, or a sandbox with the client whose execution began in it last. */
struct party {
	uint32_t slot; /* GATEWAY_SLOTS: no sandbox */
	uint32_t use;
	uint32_t frontend; /* 0: no client */
	char owner[IPC_NAME_MAX];
};

struct cabled {
	bool is_made;
	uint32_t plan; /* slot of hub.c */
	const struct plan *policy;
	const struct plan_profile *profile;
	uint32_t denials; /* recorded */
	char sandbox[IPC_ID_MAX];
	struct party party;
	uint32_t port_count;
	uint16_t ports[CABLE_PORTS_MAX]; /* that have a listener */
	bool is_lasting;                 /* persistent: `cuts` is the file of what was taken away */
	int cuts;
	int network; /* the gateway's namespace, where the profile lets hosts be added; or -1 */
};

extern struct cabled cables[GATEWAY_SLOTS];

/* Return the sandbox, or NULL: it has ended, or never was. */
struct cabled *cables_find(uint32_t slot, uint32_t use);

#endif
