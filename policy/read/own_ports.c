/* SPDX-License-Identifier: Apache-2.0
 *
 * `to` of an entry of `hosts`: the port of this machine that a name leads to, as ADDRESS:PORT or
 * [ADDRESS]:PORT. It is the one way from a sandbox to this machine.
 */
#include "policy/read/profile_parts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/list.h"
#include "policy/read/units.h"

#define EXAMPLE "such as 127.0.0.1:5432 or [::1]:5432"

/* Return whether the kernel can keep packets for the address on this machine. */
static bool may_be_own(const struct host_address *address)
{
	struct host_address inner;

	return host_address_kind(address) == HOST_ADDRESS_LOOPBACK ||
	       (host_address_reach(address) != HOST_REACH_NEVER &&
		!host_address_inner(address, &inner));
}

/* Split the text, and read its address. False: it is none. */
static bool read_address(const char *said, struct host_address *ret, const char **ret_port)
{
	const char *colon = strrchr(said, ':');
	size_t size = colon != NULL ? (size_t)(colon - said) : 0;
	const bool is_ipv6 = size > 2 && said[0] == '[' && said[size - 1] == ']';
	char text[INET6_ADDRSTRLEN];

	size -= is_ipv6 ? 2 : 0;
	if (size == 0 || size >= sizeof(text))
		return false;
	memcpy(text, said + is_ipv6, size);
	text[size] = '\0';
	*ret_port = colon + 1;
	return (strchr(text, ':') != NULL) == is_ipv6 && host_address_read(text, ret);
}

int own_port_read(const struct reading *entry, struct profile_host *ret)
{
	const char *said = node_text(entry->said, "to"), *digits;
	uint64_t port;

	if (said == NULL)
		return reading_fail(
			entry, "to",
			"missing; expected an address of this machine and a port, " EXAMPLE);
	if (!read_address(said, &ret->to, &digits) || !units_number(digits, &port) || port == 0 ||
	    port > UINT16_MAX)
		return reading_fail(entry, "to",
				    "\"%s\" is no port of this machine; expected its address and a "
				    "number from 1 to 65535, " EXAMPLE,
				    said);
	if (!may_be_own(&ret->to))
		return reading_fail(entry, "to",
				    "\"%s\" has %s, where no port of this machine is allowed; "
				    "expected its loopback or another address of it, " EXAMPLE,
				    said, host_address_kind_words(host_address_kind(&ret->to)));
	if (port == HOST_PORT_DNS)
		return reading_fail(entry, "to",
				    "\"%s\" is a name server's port, by which a workload would "
				    "ask for every name; expected another port",
				    said);
	ret->to_port = (uint16_t)port;
	ret->to_said = said;
	return 0;
}

/* Refuse an entry before it that covers the name: the name would lead elsewhere. */
static int check_earlier(const struct reading *reading, uint32_t own)
{
	const struct profile_host *hosts = reading->profile->hosts;

	for (uint32_t i = 0; i < own; i++) {
		if (hosts[i].to_port == 0 &&
		    host_pattern_covers(hosts[i].pattern, hosts[own].pattern))
			return reading_fail(reading, "hosts",
					    "%s leads to %s, but the entry %s before it covers the "
					    "name, too; expected the entry with 'to' first",
					    hosts[own].pattern, hosts[own].to_said,
					    hosts[i].pattern);
	}
	return 0;
}

/* A port that is the proxy's would let the workload ask it for any host. */
static int check_proxy(const struct reading *reading, uint32_t own)
{
	const struct profile_host *host = &reading->profile->hosts[own];
	const struct plan_proxy *proxy = &reading->profile->numbers.through;
	struct host_wanted wanted;

	if (proxy->host[0] == '\0' || proxy->port != host->to_port)
		return 0;
	(void)host_wanted_read(proxy->host, &wanted); /* through_apply() has read it */
	/* A proxy on the loopback may listen on every address of this machine. */
	if (!wanted.is_address || (host_address_kind(&wanted.address) != HOST_ADDRESS_LOOPBACK &&
				   memcmp(&wanted.address, &host->to, sizeof(wanted.address)) != 0))
		return 0;
	return reading_fail(reading, "hosts",
			    "%s leads to %s, the port of the proxy of through, by which a workload "
			    "would reach every host; expected hosts without it",
			    host->pattern, host->to_said);
}

int own_ports_check(const struct reading *reading)
{
	for (uint32_t i = 0; i < reading->profile->host_count; i++) {
		if (reading->profile->hosts[i].to_port != 0 &&
		    (check_earlier(reading, i) != 0 || check_proxy(reading, i) != 0))
			return -1;
	}
	return 0;
}
