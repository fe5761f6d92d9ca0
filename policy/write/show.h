/* SPDX-License-Identifier: Apache-2.0
 *
 * Show and compare profiles, for people.
 */
#ifndef POLICY_WRITE_SHOW_H
#define POLICY_WRITE_SHOW_H

#include "policy/read/policy.h"

/* Print the effective values of a profile for people. */
void policy_show(const struct profile *profile, struct buffer *text);
void policy_show_seccomp(const struct profile *profile, struct buffer *text);
void policy_show_groups(struct buffer *text);

/* Print all groups of hosts: the name, its use, and its entries, a line each. */
void policy_show_hosts(struct buffer *text);

/* Print the values of `b` that differ from `a`, a line for each; nothing if they are equal. */
void policy_diff(const struct profile *a, const struct profile *b, struct buffer *text);

#endif
