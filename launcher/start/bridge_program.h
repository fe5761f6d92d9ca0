/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting msp-bridge, which needs the host's network and the user's account.
 */
#ifndef LAUNCHER_START_BRIDGE_PROGRAM_H
#define LAUNCHER_START_BRIDGE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Bind a socket to the port of 127.0.0.1; unless `is_exact`, to any that is free where that one is
 * not ours to have. It does not listen, so that nobody can connect. The socket, or -errno. */
int bridge_port_bind(uint32_t port, bool is_exact);

/* Start msp-bridge with its two descriptors (common/ipc/ipc_bridge.h), which stay the caller's. It
 * is our child. 0, or -errno with a line said. */
int bridge_program_start(int channel, int port);

/* Bind the port of the host for a broker and start its msp-bridge, whose channel stays the
 * caller's. If that fails, say so there in its place. */
void bridge_program_host(uint32_t port, uint32_t host_port, int channel);

/* Wait for its end, which comes with that of its peers. */
void bridge_program_await(void);

#endif
