/* SPDX-License-Identifier: Apache-2.0
 *
 * The cable of a sandbox with hosts: an ordinary eth0 in its network namespace, and at the other
 * end a namespace that takes every address for its own and has nothing but our listeners. The
 * caller has CAP_NET_ADMIN over both and CAP_SYS_ADMIN in its own user namespace; the sandbox has
 * neither.
 */
#ifndef GATEWAY_CABLE_CABLE_H
#define GATEWAY_CABLE_CABLE_H

#include <stdint.h>

#define CABLE_PORTS_MAX 32U
#define CABLE_ADDRESS 0xc6120002U /* 198.18.0.2, the sandbox's */

/* The listeners at the other end. The last of them to be closed takes cable and namespace with it.
 */
struct cable {
	uint32_t count;
	int ports[CABLE_PORTS_MAX]; /* TCP, non-blocking, in the order of the request */
	int dns;                    /* UDP, for every address */
};

/*
 * Make the cable to the namespace of `sandbox`, a NETLINK_ROUTE socket that was opened in it, with
 * a listener for each port. `home` is the caller's network namespace, one of its own user
 * namespace, in which it is again afterwards. 0 with *ret set, or -errno with nothing left, and
 * the enum cable_step that failed.
 */
int cable_make(int home, int sandbox, const uint16_t *ports, uint32_t count, struct cable *ret,
	       uint32_t *ret_step);

/* Open a further listener in the namespace of a cable. 0 or -errno, with the caller in `home`. */
int cable_open_port(int home, int network, uint16_t port, int *ret);

/* Close all listeners. */
void cable_close(struct cable *cable);

#endif
