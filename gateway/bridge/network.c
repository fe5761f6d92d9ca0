/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/bridge/network.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/fd.h"

/* LANDLOCK_RULE_NET_PORT of linux/landlock.h, Linux 6.7. */
#define RULE_NET_PORT 2

int network_keep_to_loopback(int port)
{
	return setsockopt(port, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")) == 0 ? 0 : -errno;
}

int network_enter(int sandbox)
{
	int network FD_OWNED = ioctl(sandbox, SIOCGSKNS);
	int owner FD_OWNED = network < 0 ? -1 : ioctl(network, NS_GET_USERNS);
	int above FD_OWNED = owner < 0 ? -1 : ioctl(owner, NS_GET_PARENT);

	return above >= 0 && setns(above, CLONE_NEWUSER) == 0 && setns(network, CLONE_NEWNET) == 0
		       ? 0
		       : -errno;
}

int network_allow(int ruleset, const struct kernel_landlock_ruleset *attr, uint16_t port)
{
	const struct {
		uint64_t rights, port;
	} rule = { attr->handled_access_net & LANDLOCK_ACCESS_NET_CONNECT_TCP, port };

	if (rule.rights == 0)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) == 0 ? 0 : -errno;
}

int network_connect(uint16_t port, bool is_second)
{
	const struct sockaddr_in one = { .sin_family = AF_INET,
					 .sin_port = htons(port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 other = { .sin6_family = AF_INET6,
					    .sin6_port = htons(port),
					    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const int on = 1;
	const int family = is_second ? AF_INET6 : AF_INET;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = connect(fd,
			is_second ? (const struct sockaddr *)&other : (const struct sockaddr *)&one,
			is_second ? sizeof(other) : sizeof(one));
	error = error == 0 || errno == EINPROGRESS ? 0 : -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* else it is slower */
	return fd_unless(error, fd);
}

int network_connected(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&entry, 1, 0) == 0)
		return -EINPROGRESS;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? -error : -errno;
}
