/* SPDX-License-Identifier: Apache-2.0
 *
 * Named groups of hosts, which a profile's list may have in place of their hosts.
 */
#ifndef GATEWAY_HOSTS_GROUPS_H
#define GATEWAY_HOSTS_GROUPS_H

#include <stdint.h>

/* Mark of a group's name in a list. */
#define HOST_GROUP_MARK '@'

#define HOST_GROUP_ENTRIES_MAX 8

struct host_group {
	const char *name;
	const char *about;
	const char *profile; /* a shipped one with this group; NULL: there is none */
	const char
		*entries[HOST_GROUP_ENTRIES_MAX + 1]; /* as in a profile's list; NULL after them */
};

extern const struct host_group host_groups[];
extern const uint32_t host_group_count;

/* Find a group by its name, without the mark; NULL: there is none. */
const struct host_group *host_group_find(const char *name);

/* Find the first group with an entry for the host, a name in the one spelling, and the port. NULL:
 * there is none. */
const struct host_group *host_group_covering(const char *host, uint16_t port);

#endif
