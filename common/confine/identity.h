/* SPDX-License-Identifier: Apache-2.0
 *
 * The maps of a user namespace.
 */
#ifndef COMMON_CONFINE_IDENTITY_H
#define COMMON_CONFINE_IDENTITY_H

#include <sys/types.h>

/*
 * In a user namespace that has no maps yet: deny setgroups and map `inside` to the ids that the
 * parent namespace knows the caller by. `path` leads to a /proc in which "self" means the caller,
 * who must be dumpable: otherwise the files there are root's. 0 or -errno.
 */
int identity_map(const char *path, uid_t inside, uid_t outside_uid, gid_t outside_gid);

#endif
