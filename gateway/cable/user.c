/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/user.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/fd.h"

/* Return the descriptor that the namespace `of`, or a socket, leads to; -errno. `of` is closed. */
static int follow_namespace(int of, unsigned long request)
{
	const int fd = ioctl(of, request);
	const int error = fd < 0 ? -errno : fd;

	fd_close(&of);
	return error;
}

int user_network(int socket)
{
	return fd_result(ioctl(socket, SIOCGSKNS));
}

/* Return a descriptor of the network namespace that the caller is in, or -errno. */
static int own_network(void)
{
	int own = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const int fd = own < 0 ? -errno : user_network(own);

	fd_close(&own);
	return fd;
}

int user_enter(int sandbox)
{
	int above = user_network(sandbox);
	int error;

	if (above >= 0)
		above = follow_namespace(above, NS_GET_USERNS); /* the sandbox's */
	if (above >= 0)
		above = follow_namespace(above, NS_GET_PARENT); /* the factory's */
	if (above < 0)
		return above;
	error = setns(above, CLONE_NEWUSER) == 0 ? 0 : -errno;
	fd_close(&above);
	return error;
}

int user_make_home(int *ret_home)
{
	const int home = unshare(CLONE_NEWNET) == 0 ? own_network() : -errno;

	if (home >= 0)
		*ret_home = home;
	return home < 0 ? home : 0;
}
