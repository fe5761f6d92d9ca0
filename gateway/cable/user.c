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

int user_network(int socket)
{
	return fd_result(ioctl(socket, SIOCGSKNS));
}

/* Return a descriptor of the network namespace that the caller is in, or -errno. */
static int own_network(void)
{
	int own FD_OWNED = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return own < 0 ? -errno : user_network(own);
}

int user_enter(int sandbox)
{
	int network FD_OWNED = ioctl(sandbox, SIOCGSKNS);
	int own FD_OWNED = network < 0 ? -1 : ioctl(network, NS_GET_USERNS);
	int above FD_OWNED = own < 0 ? -1 : ioctl(own, NS_GET_PARENT); /* the factory's */

	return above >= 0 && setns(above, CLONE_NEWUSER) == 0 ? 0 : -errno;
}

int user_make_home(int *ret_home)
{
	const int home = unshare(CLONE_NEWNET) == 0 ? own_network() : -errno;

	if (home >= 0)
		*ret_home = home;
	return home < 0 ? home : 0;
}
