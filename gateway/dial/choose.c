/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/choose.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/dial/routes.h"

enum dial_refusal dial_find(const struct plan *plan, const struct plan_profile *profile,
			    const struct host_wanted *wanted, uint16_t port,
			    const struct plan_host **ret)
{
	if (host_wanted_is_never(wanted))
		return DIAL_KIND;
	*ret = port != 0 ? host_list_find(plan, profile, wanted, port) : NULL;
	return *ret != NULL ? DIAL_ALLOWED : DIAL_UNLISTED;
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

enum dial_refusal dial_judge(const struct plan_host *host, const struct host_wanted *wanted,
			     const struct host_address *address, uint16_t port)
{
	static const enum dial_refusal refusals[] = {
		[ROUTE_FORBIDDEN] = DIAL_ROUTE,
		[ROUTE_OWN] = DIAL_OWN,
		[ROUTE_NONE] = DIAL_NO_ROUTE,
		[ROUTE_BEYOND] = DIAL_ALLOWED,
	};
	const enum host_address_reach reach = host_address_reach(address);
	struct host_address inner;

	/* The operator's word counts while the address is this machine's. */
	if (host->to_port != 0)
		return routes_ask(address, (uint16_t)host->to_port) == ROUTE_OWN ? DIAL_ALLOWED
										 : DIAL_ROUTE;
	if (reach == HOST_REACH_NEVER ||
	    (reach == HOST_REACH_NAMED && !wanted->is_address && host->is_private == 0))
		return host_address_kind(address) == HOST_ADDRESS_LOOPBACK ? DIAL_OWN : DIAL_KIND;
	/* A carrier may be this machine, or lead back to it. */
	if (host_address_inner(address, &inner) && routes_ask(&inner, port) == ROUTE_OWN)
		return DIAL_OWN;
	return refusals[routes_ask(address, port)];
}
