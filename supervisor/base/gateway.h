/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway, of which the supervisor knows msp-cable alone, and that by one channel: sandboxes
 * with hosts get their cable from it. It records their connections in the audit log by itself. A
 * supervisor without such a profile has none.
 */
#ifndef SUPERVISOR_BASE_GATEWAY_H
#define SUPERVISOR_BASE_GATEWAY_H

#include "base/state.h"
#include "common/records/counters.h"

_Static_assert(SANDBOX_SLOTS <= GATEWAY_SLOTS, "msp-cable knows every slot");

/* Handle supervisor_gateway: have that gateway from now on. */
int gateway_open(void *context, struct channel_message *message);

/* Handle the network_socket of a sandbox: have its cable made. Where that fails, its init hears it
 * and fails. */
int gateway_make(void *sandbox, struct channel_message *message);

/* Send a message. A gateway that does not read is ended: the lost message may be the end of a
 * sandbox. */
void gateway_tell(uint32_t type, const void *message, const int *fds);

#endif
