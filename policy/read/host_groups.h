/* SPDX-License-Identifier: Apache-2.0
 *
 * The groups of hosts, printed.
 */
#ifndef POLICY_READ_HOST_GROUPS_H
#define POLICY_READ_HOST_GROUPS_H

#include "lib/heap/buffer.h"

/* Append the names of all groups, each with its mark: "@a, @b". */
void host_groups_list(struct buffer *text);

/* Append all groups for people: the name, what it is for, and its entries, a line each. */
void host_groups_print(struct buffer *text);

#endif
