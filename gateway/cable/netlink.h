/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the kernel's routing socket (rtnetlink(7)), each with its answer.
 */
#ifndef GATEWAY_CABLE_NETLINK_H
#define GATEWAY_CABLE_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 512U

/* A request while it is made. An attribute that does not fit aborts: the sizes are constants. */
struct netlink_request {
	union {
		struct nlmsghdr head;
		uint8_t bytes[NETLINK_BYTES];
	};
};

/* Begin a request of `type`, with flags beside NLM_F_REQUEST and NLM_F_ACK, and its own header. */
void netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags,
		   const void *header, size_t size);

/* Add an attribute. */
void netlink_add(struct netlink_request *request, uint16_t type, const void *data, size_t size);

/* Add bytes that are no attribute, in a nested one. */
void netlink_add_bytes(struct netlink_request *request, const void *data, size_t size);

/* Begin an attribute that holds the next ones, and end it. `at` is the result of the beginning. */
uint32_t netlink_nest(struct netlink_request *request, uint16_t type);
void netlink_end(struct netlink_request *request, uint32_t at);

/* Send the request and wait for its answer. 0 or -errno. */
int netlink_ask(int fd, struct netlink_request *request);

#endif
