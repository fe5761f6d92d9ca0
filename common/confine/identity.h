/* SPDX-License-Identifier: Apache-2.0
 *
 * The maps of a user namespace.
 */
#ifndef COMMON_CONFINE_IDENTITY_H
#define COMMON_CONFINE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * In a user namespace that has no maps yet: map `inside` to the ids that the parent namespace knows
 * the caller by, and deny setgroups, unless the parent `denies` it: then it is denied from the
 * beginning. `path` leads to a /proc in which "self" means the caller, who must be dumpable:
 * otherwise the files there are root's. 0 or -errno; EPERM where setgroups is not denied.
 */
int identity_map(const char *path, bool denies, uid_t inside, uid_t outside_uid, gid_t outside_gid);

#endif
