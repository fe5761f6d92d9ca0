/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of the gateway: what the supervisor says goes on to msp-egress and msp-dial, as far
 * as it concerns them, and what they say goes on to the supervisor.
 */
#ifndef GATEWAY_CABLE_HUB_H
#define GATEWAY_CABLE_HUB_H

#include "common/ipc/channel.h"

/* The peers; msp-egress and msp-http are started with the first sandbox. The launcher may end
 * before the others: then fd is -1. */
struct hub {
	struct channel supervisor, egress, dial, http, launcher;
	int home; /* the own network namespace, once the first sandbox has come; or -1 */
};

/* Pass messages on until a peer ends or breaks the protocol. 0: the supervisor has ended; else
 * -errno, with the peer's name in *ret_peer. */
int hub_run(struct hub *hub, const char **ret_peer);

/* Prepare for the first sandbox, whose routing socket it is: enter the factory's user namespace,
 * start msp-egress and msp-http, and confine the process. 0 with the own network namespace in
 * *ret_home, or -errno with the enum cable_step that failed. For the user of the hub to define. */
int event_hub_first(struct hub *hub, int sandbox, int *ret_home, uint32_t *ret_step);

#endif
