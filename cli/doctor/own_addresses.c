/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "common/log.h"
#include "gateway/hosts/list.h"

static struct host_address address_of(const struct sockaddr *address)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct host_address ret;

	if (address->sa_family == AF_INET) {
		memcpy(&four, address, sizeof(four));
		return host_address_of_ipv4(&four.sin_addr);
	}
	memcpy(&six, address, sizeof(six));
	memcpy(ret.bytes, &six.sin6_addr, sizeof(ret.bytes));
	return ret;
}

/* Return whether the address is the loopback's or a device's of the list. */
static bool is_own(const struct ifaddrs *list, const struct host_address *address)
{
	if (host_address_kind(address) == HOST_ADDRESS_LOOPBACK)
		return true;
	for (; list != NULL; list = list->ifa_next) {
		const struct sockaddr *at = list->ifa_addr;

		if (at != NULL && (at->sa_family == AF_INET || at->sa_family == AF_INET6)) {
			const struct host_address own = address_of(at);

			if (memcmp(own.bytes, address->bytes, sizeof(own.bytes)) == 0)
				return true;
		}
	}
	return false;
}

static void log_host(const struct ifaddrs *list, const char *profile, const struct plan_host *host)
{
	struct host_network network;
	struct host_address to;

	memcpy(to.bytes, host->to, sizeof(to.bytes));
	if (host->to_port != 0 && !is_own(list, &to))
		log_line("profile %s: hosts: %s:%u leads to an address that no device of this "
			 "machine has now, so it is refused; expected another address in `to`",
			 profile, host->pattern, (unsigned int)host->port);
	else if (host->to_port == 0 && host_network_read(host->pattern, &network) &&
		 network.bits == 128 && is_own(list, &network.first))
		log_line("profile %s: hosts: %s:%u is an address of this machine, which only an "
			 "entry with `to` reaches; expected {host: NAME, to: \"%s:%u\"}",
			 profile, host->pattern, (unsigned int)host->port, host->pattern,
			 (unsigned int)host->port);
}

void own_addresses_log(const struct plan *plan)
{
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return;
	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		for (uint32_t j = 0; j < profile->host_count; j++)
			log_host(list, plan_string(plan, profile->name),
				 &plan_hosts(plan, profile)[j]);
	}
	freeifaddrs(list);
}
