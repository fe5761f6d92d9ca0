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
 * the caller by, deny setgroups, and bound what the kernel counts for the user in it and all
 * namespaces below: half of the inotify instances and watches that a user may have
 * (/proc/sys/user, user_namespaces(7)). `is_below`: the parent namespace went through this;
 * setgroups is denied from the beginning then, and the bound is half of the parent's. `path` leads
 * to a /proc in which "self" means the caller, who must be dumpable: otherwise the files there are
 * root's. 0 or -errno; EPERM where setgroups is not denied.
 */
int identity_map(const char *path, bool is_below, uid_t inside, uid_t outside_uid,
		 gid_t outside_gid);

#endif
