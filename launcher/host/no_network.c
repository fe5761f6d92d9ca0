/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/no_network.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/identity.h"

int no_network_enter(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();

	int error = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : -errno;

	if (!error)
		error = identity_map("/proc", false, uid, uid, gid);
	return error ? error : capabilities_drop(0); /* a new namespace begins with all of them */
}

/* Return whether an interface leads elsewhere: it is up, or is a card that may come up later. A new
 * network namespace has a loopback, and tunnels of loaded modules that are neither. */
static bool leads_elsewhere(const struct ifaddrs *entry)
{
	static const unsigned char none[8];
	const struct sockaddr_ll *card = (const void *)entry->ifa_addr;

	return (entry->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP ||
	       (card && card->sll_family == AF_PACKET &&
		memcmp(card->sll_addr, none, sizeof(none)) != 0);
}

bool no_network_is_here(void)
{
	struct ifaddrs *list;
	bool is_one = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *at = list; at; at = at->ifa_next)
		is_one |= leads_elsewhere(at);
	freeifaddrs(list);
	return !is_one;
}
