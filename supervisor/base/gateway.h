/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway, of which the supervisor knows msp-cable alone: sandboxes with hosts get their cable
 * from it, and it says what they connect to. A supervisor without such a profile has none.
 */
#ifndef SUPERVISOR_BASE_GATEWAY_H
#define SUPERVISOR_BASE_GATEWAY_H

#include "base/state.h"

/* Hear the gateway behind the channel `fd`, which is taken, from now on in place of an earlier one;
 * send it the policies that sandboxes run under. 0, or -errno and there is none. */
int gateway_open(int fd);

/* Return whether a sandbox with hosts can be made. */
bool gateway_is_open(void);

/* Send the gateway the plan that is kept in `slot` from now on, or have it forget one. */
void gateway_policy(uint32_t slot, int plan);
void gateway_forget(uint32_t slot);

/* Have the cable of a sandbox made, with the descriptors of its network_socket. Without a gateway
 * the sandbox is lost. */
void gateway_make(struct sandbox *sandbox, const int fds[2]);

/* End the cable of a sandbox, if there is one. */
void gateway_leave(struct sandbox *sandbox);

/* Answer the connections whose record `number` was written, or was not for this error. */
void gateway_audited(uint64_t number, int error);

#endif
