/* SPDX-License-Identifier: Apache-2.0
 *
 * Named groups of hosts, which a profile's list may have in place of their hosts.
 */
#ifndef POLICY_HOST_GROUPS_H
#define POLICY_HOST_GROUPS_H

#include "heap/buffer.h"

#include <stddef.h>

/* Mark of a group's name in a list. */
#define HOST_GROUP_MARK '@'

#define HOST_GROUP_ENTRIES_MAX 8

struct host_group {
	const char *name;
	const char *about;
	const char
		*entries[HOST_GROUP_ENTRIES_MAX + 1]; /* as in a profile's list; NULL after them */
};

/* Find a group by its name, without the mark; NULL: there is none. */
const struct host_group *host_group_find(const char *name);

/* Append the names of all groups, each with its mark: "@a, @b". */
void host_groups_list(struct buffer *text);

/* Append all groups for people: the name, what it is for, and its entries, a line each. */
void host_groups_print(struct buffer *text);

#endif
