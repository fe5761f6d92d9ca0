/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's own answer to where it would send a packet for an address: its tables and rules,
 * asked anew for each address. The socket for it is opened before the process confines itself,
 * which then can make none of that family.
 */
#ifndef GATEWAY_DIAL_ROUTES_H
#define GATEWAY_DIAL_ROUTES_H

#include "gateway/hosts/address.h"

#include <stddef.h>

enum route_end {
	ROUTE_FORBIDDEN = 0, /* blackhole, unreachable, prohibited, multicast, or no clear answer */
	ROUTE_OWN,           /* this machine takes it: local, broadcast or anycast */
	ROUTE_NONE,          /* no table has a route */
	ROUTE_BEYOND,        /* another machine */
};

/* Open the socket, and note how sockets of this process are marked and bound (`ip vrf exec`), since
 * rules may ask for that. 0 or -errno. */
int routes_open(void);

/* Ask for the route that a TCP connection from here to the address takes. */
enum route_end routes_ask(const struct host_address *address, uint16_t port);

/* Read the kernel's answer to the question with this number. */
enum route_end routes_read(const void *answer, size_t size, uint32_t number);

#endif
