/* SPDX-License-Identifier: Apache-2.0
 *
 * `through` of a profile: the HTTP proxy that its hosts are reached through, as HOST:PORT, or
 * "direct" where the extended profile has one and this one does not.
 */
#include "policy/read/profile_parts.h"

#include <stdio.h>
#include <string.h>

#include "gateway/hosts/list.h"
#include "policy/read/units.h"

#define KEY "through"
#define DIRECT "direct"
#define EXAMPLE "such as proxy.example.org:3128"

_Static_assert(sizeof(((struct plan_proxy *)NULL)->host) == HOST_NAME_MAX_SIZE, "each name fits");

/* Read the host before the port. */
static int read_proxy_host(const struct reading *reading, const char *text, struct plan_proxy *ret)
{
	struct host_wanted wanted;

	if (strcmp(text, "localhost") == 0)
		return reading_fail(reading, KEY,
				    "\"%s\" is resolved by no name server; expected 127.0.0.1 for "
				    "a proxy of this machine",
				    text);
	if (!host_wanted_read(text, &wanted))
		return reading_fail(reading, KEY,
				    "\"%s\" is neither a name nor an IPv4 address; expected "
				    "HOST:PORT, " EXAMPLE,
				    text);
	if (wanted.is_address && !host_proxy_may_be(&wanted, &wanted.address))
		return reading_fail(reading, KEY, "\"%s\" is %s, which no proxy has; expected %s",
				    text,
				    host_address_kind_words(host_address_kind(&wanted.address)),
				    "another address");
	text = wanted.is_address ? text : wanted.name;
	memcpy(ret->host, text, strlen(text) + 1); /* both fit: they were read */
	return 0;
}

static int read_proxy_port(const struct reading *reading, const char *text, uint16_t *ret)
{
	uint64_t port;

	if (!units_number(text, &port) || port == 0 || port > UINT16_MAX)
		return reading_fail(reading, KEY,
				    "\"%s\" is not a port; expected a number from 1 to 65535",
				    text);
	*ret = (uint16_t)port;
	return 0;
}

static int read_proxy(const struct reading *reading, const char *said, struct plan_proxy *ret)
{
	char host[HOST_NAME_MAX_SIZE + 1]; /* a name may end with a dot */
	const char *colon = strchr(said, ':');

	if (strstr(said, "://") != NULL)
		return reading_fail(
			reading, KEY,
			"\"%s\" is a URL; expected the proxy's host and port alone, " EXAMPLE,
			said);
	if (strchr(said, '@') != NULL)
		return reading_fail(reading, KEY,
				    "a login cannot be said; expected HOST:PORT, " EXAMPLE
				    ", or 127.0.0.1 and the port of a proxy of this machine that "
				    "logs in");
	if (colon == NULL || strchr(colon + 1, ':') != NULL)
		return reading_fail(reading, KEY,
				    "\"%s\" has not one colon; expected HOST:PORT, " EXAMPLE, said);
	if ((size_t)(colon - said) >= sizeof(host))
		return reading_fail(reading, KEY, "too long; expected a name of at most %u bytes",
				    HOST_NAME_MAX_SIZE - 1);
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - said), said);
	return read_proxy_host(reading, host, ret) != 0 ||
			       read_proxy_port(reading, colon + 1, &ret->port) != 0
		       ? -1
		       : 0;
}

int through_apply(const struct reading *reading)
{
	const char *said = node_text(reading->said, KEY);
	struct profile *profile = reading->profile;

	if (said == NULL)
		return 0;
	profile->numbers.through = (struct plan_proxy){ .port = 0 };
	return strcmp(said, DIRECT) == 0 ? 0 : read_proxy(reading, said, &profile->numbers.through);
}

/* An entry for the proxy would let the workload ask it for any host. */
int through_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	const struct plan_proxy *proxy = &profile->numbers.through;
	struct host_wanted wanted;

	for (uint32_t i = 0; proxy->host[0] != '\0' && i < profile->host_count; i++) {
		const struct profile_host *host = &profile->hosts[i];
		struct host_network network;
		bool is_proxy;

		(void)host_wanted_read(proxy->host, &wanted); /* through_apply() has read it */
		is_proxy = wanted.is_address
				   ? host_network_read(host->pattern, &network) &&
					     host_network_contains(&network, &wanted.address)
				   : host_pattern_covers(host->pattern, wanted.name);
		if (is_proxy && host->port == proxy->port)
			return reading_fail(reading, "hosts",
					    "%s:%u covers the proxy of " KEY
					    ", by which a workload would reach every host; "
					    "expected hosts without it",
					    host->pattern, (unsigned int)host->port);
	}
	return 0;
}

bool through_print(const struct profile *profile, char ret[THROUGH_TEXT_MAX])
{
	const struct plan_proxy *proxy = &profile->numbers.through;

	if (profile->network != NETWORK_HOSTS ||
	    profile->origins.keys[KEY_profile_through].file == NULL)
		return false;
	if (proxy->host[0] == '\0')
		(void)snprintf(ret, THROUGH_TEXT_MAX, DIRECT);
	else
		(void)snprintf(ret, THROUGH_TEXT_MAX, "%s:%u", proxy->host,
			       (unsigned int)proxy->port);
	return true;
}
