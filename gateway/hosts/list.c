/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hosts/list.h"

#include <string.h>

bool host_wanted_read(const char *text, struct host_wanted *ret)
{
	*ret = (struct host_wanted){ .is_address = false };
	ret->is_address = host_address_read(text, &ret->address);
	return ret->is_address || host_name_read(text, strlen(text), ret->name) == HOST_SOUND;
}

bool host_is_written(const char *text)
{
	struct host_wanted wanted;

	return host_wanted_read(text, &wanted) &&
	       (wanted.is_address ? strspn(text, "0123456789.") == strlen(text)
				  : strcmp(text, wanted.name) == 0);
}

bool host_wanted_is_never(const struct host_wanted *wanted)
{
	if (!wanted->is_address)
		return host_name_never(wanted->name) != NULL;
	return !host_address_is_ipv4(&wanted->address) ||
	       host_address_reach(&wanted->address) == HOST_REACH_NEVER;
}

/* plan_open() does not look into the patterns: one without an end covers nothing. */
static bool is_covered(const struct plan_host *host, const struct host_wanted *wanted)
{
	struct host_network network;

	if (memchr(host->pattern, '\0', sizeof(host->pattern)) == NULL)
		return false;
	if (!wanted->is_address)
		return host_pattern_covers(host->pattern, wanted->name);
	return host_network_read(host->pattern, &network) &&
	       host_network_contains(&network, &wanted->address);
}

const struct plan_host *host_list_find(const struct plan *plan, const struct plan_profile *profile,
				       const struct host_wanted *wanted, uint16_t port)
{
	const struct plan_host *hosts = plan_hosts(plan, profile);

	for (uint32_t i = 0; i < profile->host_count; i++) {
		if ((port == 0 || hosts[i].port == port) && is_covered(&hosts[i], wanted))
			return &hosts[i];
	}
	return NULL;
}

const char *host_list_proxy(const struct plan_profile *profile, const struct plan_host *entry,
			    const struct host_wanted *wanted)
{
	const bool is_private =
		entry->is_private != 0 || entry->to_port != 0 ||
		(wanted->is_address && host_address_reach(&wanted->address) == HOST_REACH_NAMED);

	return profile->through.host[0] == '\0' || is_private ? NULL : profile->through.host;
}

bool host_list_may_grow(const struct plan_profile *profile, const struct host_wanted *wanted)
{
	return profile->host_approval != PLAN_HOST_APPROVAL_NEVER && !wanted->is_address &&
	       !host_wanted_is_never(wanted) && strcmp(profile->through.host, wanted->name) != 0;
}

bool host_proxy_may_be(const struct host_wanted *proxy, const struct host_address *address)
{
	return host_address_reach(address) != HOST_REACH_NEVER ||
	       (proxy->is_address && host_address_kind(address) == HOST_ADDRESS_LOOPBACK);
}
