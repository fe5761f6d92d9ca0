/* SPDX-License-Identifier: Apache-2.0
 *
 * The network of a sandbox, from a socket of it.
 */
#ifndef GATEWAY_BRIDGE_NETWORK_H
#define GATEWAY_BRIDGE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/kernel.h"

/* Bind a socket of the host's network, and with it each that it will accept, to the loopback's
 * device. connect(AF_UNSPEC) makes such a socket new, but only CAP_NET_RAW could unbind it. Before
 * confinement. 0 or -errno. */
int network_keep_to_loopback(int port);

/* Enter the network namespace of the socket, and the user namespace above the one that owns it: the
 * kernel lets the user that made that one enter, who has every capability in it. 0 or -errno. */
int network_enter(int sandbox);

/* Allow connections to the port in a Landlock ruleset, where the kernel knows ports. 0 or -errno.
 */
int network_allow(int ruleset, const struct kernel_landlock_ruleset *attr, uint16_t port);

/* Begin to connect to the port on the loopback of the network that the process is in, by the second
 * family or by the first. A socket that does not block and may not be connected yet, or -errno. */
int network_connect(uint16_t port, bool is_second);

/* Return whether the connection has come about: 0, -EINPROGRESS or -errno. */
int network_connected(int fd);

#endif
