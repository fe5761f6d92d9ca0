/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

/* More than a route takes. A longer answer is cut, and none. */
#define ANSWER_BYTES 4096

struct question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct {
		struct rtattr head;
		uint32_t value; /* 0: no mark, no device */
	} mark, device, protocol, port;
	struct {
		struct rtattr head;
		uint8_t value[sizeof(struct host_address)]; /* four bytes of IPv4 */
	} target;
};

static int routing = -1;
static uint32_t last;         /* the number of the last question */
static uint32_t mark, device; /* 0: sockets of this process have none */

int routes_open(void)
{
	socklen_t size = sizeof(mark);
	int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (probe < 0 || getsockopt(probe, SOL_SOCKET, SO_MARK, &mark, &size) != 0 ||
	    getsockopt(probe, SOL_SOCKET, SO_BINDTOIFINDEX, &device, &size) != 0)
		error = -errno;
	fd_close(&probe);
	routing = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return routing < 0 ? -errno : error;
}

enum route_end routes_read(const void *answer, size_t size, uint32_t number)
{
	static const enum route_end ends[RTN_MAX + 1] = {
		[RTN_UNICAST] = ROUTE_BEYOND,
		[RTN_LOCAL] = ROUTE_OWN,
		[RTN_BROADCAST] = ROUTE_OWN,
		[RTN_ANYCAST] = ROUTE_OWN,
	};
	struct {
		struct nlmsghdr head;
		union {
			struct nlmsgerr error;
			struct rtmsg route;
		};
	} read = { .head = { .nlmsg_len = 0 } };

	memcpy(&read, answer, size < sizeof(read) ? size : sizeof(read));
	if (read.head.nlmsg_len > size || read.head.nlmsg_seq != number)
		return ROUTE_FORBIDDEN;
	if (read.head.nlmsg_type == RTM_NEWROUTE &&
	    read.head.nlmsg_len >= NLMSG_LENGTH(sizeof(read.route)))
		return read.route.rtm_type <= RTN_MAX ? ends[read.route.rtm_type] : ROUTE_FORBIDDEN;
	/* A kernel without IPv6 has no routes of it. */
	return read.head.nlmsg_type == NLMSG_ERROR &&
			       read.head.nlmsg_len >= NLMSG_LENGTH(sizeof(read.error.error)) &&
			       (read.error.error == -ENETUNREACH || read.error.error == -EOPNOTSUPP)
		       ? ROUTE_NONE
		       : ROUTE_FORBIDDEN;
}

/* Write the question. All but the target is of one size in both families. */
static void make_question(const struct host_address *address, uint16_t port, struct question *ret)
{
	const bool is_ipv4 = host_address_is_ipv4(address);
	const size_t at = is_ipv4 ? HOST_IPV4_AT : 0, size = sizeof(address->bytes) - at;

	*ret = (struct question){
		.head = { .nlmsg_len = (uint32_t)(offsetof(struct question, target.value) + size),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++last },
		.route = { .rtm_family = is_ipv4 ? AF_INET : AF_INET6,
			   .rtm_dst_len = (uint8_t)(size * 8) },
		.mark = { { RTA_LENGTH(sizeof(uint32_t)), RTA_MARK }, mark },
		.device = { { RTA_LENGTH(sizeof(uint32_t)), RTA_OIF }, device },
		.protocol = { { RTA_LENGTH(sizeof(uint8_t)), RTA_IP_PROTO } },
		.port = { { RTA_LENGTH(sizeof(uint16_t)), RTA_DPORT } },
		.target = { { (uint16_t)RTA_LENGTH(size), RTA_DST } },
	};
	memcpy(&ret->protocol.value, &(uint8_t){ IPPROTO_TCP }, sizeof(uint8_t));
	memcpy(&ret->port.value, &(uint16_t){ htons(port) }, sizeof(uint16_t));
	memcpy(ret->target.value, address->bytes + at, size);
}

enum route_end routes_ask(const struct host_address *address, uint16_t port)
{
	struct sockaddr_nl from = { .nl_pid = 0 };
	socklen_t room = sizeof(from);
	struct question question;
	uint8_t answer[ANSWER_BYTES];
	ssize_t size;

	make_question(address, port, &question);
	if (send(routing, &question, question.head.nlmsg_len, 0) < 0)
		return ROUTE_FORBIDDEN;
	/* The kernel has answered by now. */
	size = recvfrom(routing, answer, sizeof(answer), MSG_DONTWAIT, (void *)&from, &room);
	return size > 0 && from.nl_pid == 0 ? routes_read(answer, (size_t)size, last)
					    : ROUTE_FORBIDDEN;
}
