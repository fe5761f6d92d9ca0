/* SPDX-License-Identifier: Apache-2.0
 *
 * Links in a sandbox's /etc to the copies of packages' configuration.
 */
#ifndef POLICY_WRITE_LINKS_H
#define POLICY_WRITE_LINKS_H

#include "common/plan/plan.h"
#include "policy/read/profile.h"
#include "policy/write/writer.h"

/* Append to the `count` records of a plan a link for each name of the writer's packages for which
 * the profile has no entry of its own; `shown`: where it shows the copies. What has no room is left
 * out. Return the new count, PLAN_MOUNTS_MAX at most. */
uint32_t links_put(struct writer *writer, const struct profile *profile,
		   const struct profile_mount *shown, struct plan_mount *records, uint32_t count);

#endif
