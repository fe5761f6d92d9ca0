/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void *take_room(struct netlink_request *request, size_t size)
{
	const size_t used = request->head.nlmsg_len;

	if (size > NETLINK_BYTES - used)
		abort();
	request->head.nlmsg_len += (uint32_t)size;
	memset(request->bytes + used, 0, size);
	return request->bytes + used;
}

void netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags,
		   const void *header, size_t size)
{
	request->head = (struct nlmsghdr){
		.nlmsg_len = sizeof(request->head),
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
		.nlmsg_seq = 1,
	};
	netlink_add_bytes(request, header, size);
}

void netlink_add_bytes(struct netlink_request *request, const void *data, size_t size)
{
	memcpy(take_room(request, NLMSG_ALIGN(size)), data, size);
}

void netlink_add(struct netlink_request *request, uint16_t type, const void *data, size_t size)
{
	const struct rtattr head = { .rta_len = (uint16_t)(sizeof(head) + size), .rta_type = type };
	uint8_t *room = take_room(request, RTA_ALIGN(sizeof(head) + size));

	memcpy(room, &head, sizeof(head));
	memcpy(room + sizeof(head), data, size);
}

uint32_t netlink_nest(struct netlink_request *request, uint16_t type)
{
	const uint32_t at = request->head.nlmsg_len;

	netlink_add(request, type, "", 0);
	return at;
}

void netlink_end(struct netlink_request *request, uint32_t at)
{
	const uint16_t size = (uint16_t)(request->head.nlmsg_len - at);

	memcpy(request->bytes + at, &size, sizeof(size)); /* rta_len is its first member */
}

int netlink_ask(int fd, struct netlink_request *request)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr answer;
		uint8_t rest[NETLINK_BYTES]; /* the request comes back */
	} reply;
	ssize_t size = send(fd, request->bytes, request->head.nlmsg_len, 0);

	if (size < 0)
		return -errno;
	size = recv(fd, &reply, sizeof(reply), 0);
	if (size < 0)
		return -errno;
	if ((size_t)size < sizeof(reply.head) + sizeof(reply.answer) ||
	    reply.head.nlmsg_type != NLMSG_ERROR || reply.head.nlmsg_seq != request->head.nlmsg_seq)
		return -EBADMSG;
	return reply.answer.error;
}
