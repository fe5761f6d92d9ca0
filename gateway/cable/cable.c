/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/cable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/resolver.h"
#include "gateway/cable/netlink.h"

/* Both ends have one address: NOARP sends frames to the device's own. */
static const uint8_t hardware[6] = { 0x02, 0x6d, 0x73, 0x70, 0x00, 0x01 };

/* The index of both ends, each in its own namespace: modules make devices below it. */
#define CABLE_INDEX 100
#define GATEWAY_DEVICE "w0"
#define LOOPBACK_INDEX 1

/* Connections that wait until there is room for them: a SYN beyond it comes again after a second.
 */
#define BACKLOG 1024

/* A kernel without IPv6 does not know the attribute. Without one no address is made by itself. */
static int close_ipv6(int fd)
{
	const struct ifinfomsg link = { .ifi_index = CABLE_INDEX };
	const uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	struct netlink_request request;
	uint32_t families, family;
	int error;

	netlink_begin(&request, RTM_NEWLINK, 0, &link, sizeof(link));
	families = netlink_nest(&request, IFLA_AF_SPEC);
	family = netlink_nest(&request, AF_INET6);
	netlink_add(&request, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_end(&request, family);
	netlink_end(&request, families);
	error = netlink_ask(fd, &request);
	return error == -EAFNOSUPPORT ? 0 : error;
}

static int raise_link(int fd, int index, unsigned int flags)
{
	const struct ifinfomsg link = { .ifi_index = index,
					.ifi_flags = IFF_UP | flags,
					.ifi_change = IFF_UP | flags };
	struct netlink_request request;

	netlink_begin(&request, RTM_NEWLINK, 0, &link, sizeof(link));
	return netlink_ask(fd, &request);
}

/* Make both ends, down: the kernel refuses to raise one before the other is there. */
static int make_pair(int fd, int sandbox_namespace)
{
	const struct ifinfomsg link = { .ifi_index = CABLE_INDEX };
	const uint32_t namespace = (uint32_t)sandbox_namespace;
	struct netlink_request request;
	uint32_t info, data, peer;

	netlink_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	netlink_add(&request, IFLA_IFNAME, GATEWAY_DEVICE, sizeof(GATEWAY_DEVICE));
	netlink_add(&request, IFLA_ADDRESS, hardware, sizeof(hardware));
	info = netlink_nest(&request, IFLA_LINKINFO);
	netlink_add(&request, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = netlink_nest(&request, IFLA_INFO_DATA);
	peer = netlink_nest(&request, VETH_INFO_PEER);
	netlink_add_bytes(&request, &link, sizeof(link));
	netlink_add(&request, IFLA_IFNAME, "eth0", sizeof("eth0"));
	netlink_add(&request, IFLA_ADDRESS, hardware, sizeof(hardware));
	netlink_add(&request, IFLA_NET_NS_FD, &namespace, sizeof(namespace));
	netlink_end(&request, peer);
	netlink_end(&request, data);
	netlink_end(&request, info);
	return netlink_ask(fd, &request);
}

/* Have all addresses, or with 32 bits CABLE_ADDRESS alone, lead to the device `index`. */
static int add_route(int fd, uint8_t table, uint8_t type, uint8_t bits, int index)
{
	const struct rtmsg route = { .rtm_family = AF_INET,
				     .rtm_dst_len = bits,
				     .rtm_table = table,
				     .rtm_protocol = RTPROT_STATIC,
				     .rtm_scope = type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_LINK,
				     .rtm_type = type };
	const uint32_t address = htonl(CABLE_ADDRESS);
	struct netlink_request request;

	netlink_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &route, sizeof(route));
	netlink_add(&request, RTA_OIF, &index, sizeof(index));
	if (bits != 0)
		netlink_add(&request, RTA_DST, &address, sizeof(address));
	return netlink_ask(fd, &request);
}

static int dress_sandbox(int sandbox)
{
	const struct ifaddrmsg own = { .ifa_family = AF_INET,
				       .ifa_prefixlen = 32,
				       .ifa_scope = RT_SCOPE_UNIVERSE,
				       .ifa_index = CABLE_INDEX };
	const uint32_t address = htonl(CABLE_ADDRESS);
	struct netlink_request request;
	int error = close_ipv6(sandbox);

	if (error == 0)
		error = raise_link(sandbox, CABLE_INDEX, IFF_NOARP);
	if (error != 0)
		return error;
	netlink_begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &own, sizeof(own));
	netlink_add(&request, IFA_LOCAL, &address, sizeof(address));
	error = netlink_ask(sandbox, &request);
	return error == 0 ? add_route(sandbox, RT_TABLE_MAIN, RTN_UNICAST, 0, CABLE_INDEX) : error;
}

/* Take every address for our own but the sandbox's, which is behind the cable. */
static int dress_gateway(int gateway)
{
	int error = raise_link(gateway, LOOPBACK_INDEX, 0);

	if (error == 0)
		error = close_ipv6(gateway);
	if (error == 0)
		error = raise_link(gateway, CABLE_INDEX, IFF_NOARP);
	if (error == 0)
		error = add_route(gateway, RT_TABLE_LOCAL, RTN_UNICAST, 32, CABLE_INDEX);
	return error == 0 ? add_route(gateway, RT_TABLE_LOCAL, RTN_LOCAL, 0, LOOPBACK_INDEX)
			  : error;
}

static int open_port(int type, uint16_t port, int *ret)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const bool is_tcp = type == SOCK_STREAM;
	const int on = 1;
	/* Connections have it from their listener: small writes go on at once. An answer to a
	 * question comes from the address that was asked. */
	const int error = fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) != 0 ||
					  setsockopt(fd, is_tcp ? IPPROTO_TCP : IPPROTO_IP,
						     is_tcp ? TCP_NODELAY : IP_PKTINFO, &on,
						     sizeof(on)) != 0 ||
					  (is_tcp && listen(fd, BACKLOG) != 0)
				  ? -errno
				  : 0;

	*ret = fd_unless(error, fd);
	return error;
}

static int open_ports(const uint16_t *ports, uint32_t count, struct cable *cable)
{
	int error = open_port(SOCK_DGRAM, RESOLVER_PORT, &cable->dns);

	for (uint32_t i = 0; i < count && error == 0; i++) {
		error = open_port(SOCK_STREAM, ports[i], &cable->ports[i]);
		cable->count += error == 0;
	}
	return error;
}

/* The end that was raised first sends nothing until the kernel has heard of the carrier, which it
 * does in a work queue; asking for the link makes it hear at once. */
static int await_carrier(int gateway)
{
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	struct ifreq request = { .ifr_name = GATEWAY_DEVICE };

	request.ifr_data = &link;
	if (ioctl(gateway, SIOCETHTOOL, &request) != 0)
		return -errno;
	return link.data != 0 ? 0 : -ENETDOWN;
}

static int connect_namespaces(int sandbox, int gateway, uint32_t *step)
{
	const int namespace = ioctl(sandbox, SIOCGSKNS);
	int error;

	*step = CABLE_STEP_SOCKET;
	if (namespace < 0)
		return -errno;
	*step = CABLE_STEP_PAIR;
	error = make_pair(gateway, namespace);
	(void)close(namespace); /* the sandbox keeps it */
	if (error != 0)
		return error;
	*step = CABLE_STEP_GATEWAY;
	error = dress_gateway(gateway);
	if (error != 0)
		return error;
	*step = CABLE_STEP_SANDBOX;
	error = dress_sandbox(sandbox);
	if (error != 0)
		return error;
	*step = CABLE_STEP_CARRIER;
	return await_carrier(gateway);
}

/* Make the other end in a new namespace, in which the caller is afterwards. */
static int make_gateway(int sandbox, const uint16_t *ports, uint32_t count, struct cable *ret,
			uint32_t *step)
{
	int gateway, error;

	*step = CABLE_STEP_NAMESPACE;
	if (unshare(CLONE_NEWNET) != 0)
		return -errno;
	gateway = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (gateway < 0)
		return -errno;
	*step = CABLE_STEP_LISTEN;
	error = open_ports(ports, count, ret); /* before a packet can come */
	if (error == 0)
		error = connect_namespaces(sandbox, gateway, step);
	(void)close(gateway); /* the listeners keep the namespace */
	return error;
}

int cable_make(int home, int sandbox, const uint16_t *ports, uint32_t count, struct cable *ret,
	       uint32_t *ret_step)
{
	struct cable cable = { .dns = -1 };
	int error;

	*ret_step = CABLE_STEP_POLICY;
	if (count > CABLE_PORTS_MAX)
		return -EINVAL;
	error = make_gateway(sandbox, ports, count, &cable, ret_step);
	/* A process inside would keep the namespace after its listeners. */
	if (setns(home, CLONE_NEWNET) != 0 && error == 0) {
		*ret_step = CABLE_STEP_RETURN;
		error = -errno;
	}
	if (error != 0)
		cable_close(&cable);
	else
		*ret = cable;
	return error;
}

int cable_open_port(int home, int network, uint16_t port, int *ret)
{
	int error = setns(network, CLONE_NEWNET) == 0 ? open_port(SOCK_STREAM, port, ret) : -errno;

	if (setns(home, CLONE_NEWNET) != 0 && error == 0)
		error = -errno;
	return error;
}

void cable_close(struct cable *cable)
{
	fd_close_all(cable->ports, cable->count);
	fd_close(&cable->dns);
	*cable = (struct cable){ .dns = -1 };
}
