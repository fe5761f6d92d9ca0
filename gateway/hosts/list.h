/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts of a profile in a plan: the one comparison of a wanted host with them.
 */
#ifndef GATEWAY_HOSTS_LIST_H
#define GATEWAY_HOSTS_LIST_H

#include "common/plan/plan.h"
#include "gateway/hosts/address.h"
#include "gateway/hosts/pattern.h"

#include <stdbool.h>
#include <stdint.h>

/* The port of an entry without one. */
#define HOST_PORT_DEFAULT 443U

/* The sandbox's own resolver has it: no entry can. */
#define HOST_PORT_DNS 53U

/* A host that somebody wants to connect to. */
struct host_wanted {
	bool is_address;
	struct host_address address;
	char name[HOST_NAME_MAX_SIZE]; /* in the one spelling, unless it is an address */
};

/* Read a host. False: the text is neither an address nor a name. */
bool host_wanted_read(const char *text, struct host_wanted *ret);

/* Return whether the text is a host as msp writes it: a name in the one spelling, or an IPv4
 * address. It has letters, digits, '.', '-' and '_' alone. */
bool host_is_written(const char *text);

/* Return whether no entry can allow the host: it is an address of IPv6, or of a kind that is never
 * connected to; or a name that host_name_never() tells of. */
bool host_wanted_is_never(const struct host_wanted *wanted);

/* Return the name or address of the proxy by which an entry's host is reached, or NULL: msp-dial
 * connects to it itself, as to every private host and address and to services of this machine. */
const char *host_list_proxy(const struct plan_profile *profile, const struct plan_host *entry,
			    const struct host_wanted *wanted);

/* Return whether the host may be approved beside the profile's list: it has a name that an entry
 * could have, and is not the profile's proxy, by which a workload would reach every host. */
bool host_list_may_grow(const struct plan_profile *profile, const struct host_wanted *wanted);

/* Return whether the profile's proxy can have the address. It is the operator's word, so a private
 * one and one of this machine can be; its loopback only as an address, not by a name. */
bool host_proxy_may_be(const struct host_wanted *proxy, const struct host_address *address);

/* Return the first entry that covers the host with the port, or with any port if `port` is 0. */
const struct plan_host *host_list_find(const struct plan *plan, const struct plan_profile *profile,
				       const struct host_wanted *wanted, uint16_t port);

#endif
