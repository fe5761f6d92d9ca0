/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a process is: maps of its user namespace, its privileges, its visibility to others.
 * Every function returns 0 or -errno.
 */
#ifndef CHILD_INIT_IDENTITY_H
#define CHILD_INIT_IDENTITY_H

#include <stdint.h>
#include <sys/types.h>

/* uid and gid of every workload inside its sandbox. */
#define WORKLOAD_ID 1000

/* Map one id of the caller's new user namespace to the `outside` ids. `proc` is a /proc in which
 * "self" means the caller. */
int identity_map(int proc, uid_t inside, uid_t outside_uid, gid_t outside_gid);

/* Die with the parent; not readable by others; no privileges through exec. */
int identity_protect(void);

/* Empty the bounding set, lock the securebits and keep `keep` (a mask of capabilities, below 32)
 * permitted and effective. */
int identity_drop(uint32_t keep);

/* Empty permitted, effective and inheritable set. */
int identity_drop_all(void);

#endif
