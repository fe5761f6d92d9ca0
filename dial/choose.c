/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/choose.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

/* Any port but 0: no datagram is sent. */
#define PROBE_PORT 9

enum dial_refusal dial_find(const struct plan *plan, const struct plan_profile *profile,
			    const struct host_wanted *wanted, uint16_t port,
			    const struct plan_host **ret)
{
	if (host_wanted_is_never(wanted))
		return DIAL_KIND;
	*ret = port != 0 ? host_list_find(plan, profile, wanted, port) : NULL;
	return *ret != NULL ? DIAL_ALLOWED : DIAL_UNLISTED;
}

const char *choose_text(const struct host_wanted *wanted, char ret[CHOOSE_ADDRESS_MAX])
{
	return wanted->is_address ? inet_ntop(AF_INET, wanted->address.bytes + HOST_IPV4_AT, ret,
					      CHOOSE_ADDRESS_MAX)
				  : wanted->name;
}

socklen_t choose_print(const struct host_address *address, uint16_t port,
		       struct sockaddr_storage *ret)
{
	struct sockaddr_in ipv4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (host_address_is_ipv4(address)) {
		memcpy(&ipv4.sin_addr, address->bytes + HOST_IPV4_AT, sizeof(ipv4.sin_addr));
		memcpy(ret, &ipv4, sizeof(ipv4));
		return sizeof(ipv4);
	}
	memcpy(&ipv6.sin6_addr, address->bytes, sizeof(ipv6.sin6_addr));
	memcpy(ret, &ipv6, sizeof(ipv6));
	return sizeof(ipv6);
}

/* Return whether two addresses of one family are the same, whatever their ports are. */
static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* Ask whether the address is one of this machine: the kernel would send from it to itself. An
 * address without a route is none; a machine that cannot be asked might have any. */
static bool ask_own(const struct host_address *address)
{
	struct sockaddr_storage target = { .ss_family = AF_UNSPEC }, source = target;
	const socklen_t size = choose_print(address, PROBE_PORT, &target);
	const int fd = socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t room = sizeof(source);
	bool is_same = true;

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	if (connect(fd, (const struct sockaddr *)&target, size) != 0)
		is_same = errno != ENETUNREACH && errno != EHOSTUNREACH && errno != EADDRNOTAVAIL;
	else if (getsockname(fd, (struct sockaddr *)&source, &room) == 0)
		is_same = is_same_address(&source, &target);
	(void)close(fd); /* no datagram was sent */
	return is_same;
}

/* Return whether the address is one of this machine. Not asked again within a millisecond: many
 * connections of a program are to one host. */
static bool is_own(const struct host_address *address)
{
	static struct host_address other;
	static uint64_t asked_ms;
	const uint64_t now_ms = clock_now_us() / 1000;

	if (now_ms == asked_ms && memcmp(&other, address, sizeof(other)) == 0)
		return false;
	asked_ms = 0;
	if (ask_own(address))
		return true;
	other = *address;
	asked_ms = now_ms;
	return false;
}

enum dial_refusal dial_judge(const struct plan_host *host, const struct host_wanted *wanted,
			     const struct host_address *address)
{
	const enum host_address_reach reach = host_address_reach(address);

	if (reach == HOST_REACH_NEVER ||
	    (reach == HOST_REACH_NAMED && !wanted->is_address && host->is_private == 0))
		return DIAL_KIND;
	return is_own(address) ? DIAL_OWN : DIAL_ALLOWED;
}
