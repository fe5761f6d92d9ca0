/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway, of which the supervisor knows msp-cable alone, and that by one channel: sandboxes
 * with hosts get their cable from it. It records their connections in the audit log by itself. A
 * supervisor without such a profile has none.
 */
#ifndef SUPERVISOR_BASE_GATEWAY_H
#define SUPERVISOR_BASE_GATEWAY_H

#include "base/state.h"

struct ipc_audit_written;

/* Have the gateway behind the channel `fd`, which is taken, from now on. 0 or -errno. */
int gateway_open(int fd);

/* Return whether a sandbox with hosts can be made. */
bool gateway_is_open(void);

/* Have the cable of a sandbox made, with the descriptors of its network_socket. Where that fails,
 * its init hears it and fails. */
void gateway_make(struct sandbox *sandbox, const int network[2]);

/* End the cable of a sandbox, if it has one. */
void gateway_leave(const struct sandbox *sandbox);

/* Pass on msp-audit's answer to a record of the gateway's. */
void gateway_audited(const struct ipc_audit_written *written);

#endif
