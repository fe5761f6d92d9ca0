/* SPDX-License-Identifier: Apache-2.0
 *
 * The conversation about hosts beside a profile's list: msp-dial asks whether one is granted;
 * persons and brokers grant them.
 */
#ifndef GATEWAY_CABLE_PERMITS_H
#define GATEWAY_CABLE_PERMITS_H

#include "common/ipc/ipc_network.h"
#include "gateway/cable/cables.h"
#include "gateway/cable/hub.h"

/* Keep a question of msp-dial. 0; -EPROTO: it has more than it can have. */
int permits_ask(const struct ipc_host_ask *ask);

/* Return whether questions wait. They are answered when all that the supervisor said before them is
 * handled. */
bool permits_are_asked(void);
int permits_answer(const struct hub *hub);

/* Do what a frontend wants, over the watch of `from`. 0: it holds, and is in the audit log; or
 * -errno, as in network_granted. */
int permits_take(const struct hub *hub, const struct party *from, bool is_broker,
		 const struct ipc_network_grant *wanted);

/* Open the ports of what a client was granted for a sandbox, in which its execution begins. */
void permits_open(const struct hub *hub, struct cabled *sandbox);

#endif
