/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a process is: the maps of its user namespace, its visibility to others.
 * Every function returns 0 or -errno.
 */
#ifndef CHILD_INIT_IDENTITY_H
#define CHILD_INIT_IDENTITY_H

#include <sys/types.h>

/* uid and gid of every workload inside its sandbox. */
#define WORKLOAD_ID 1000

/* Map one id of the caller's new user namespace to the `outside` ids. `proc` is a /proc in which
 * "self" means the caller. */
int identity_map(int proc, uid_t inside, uid_t outside_uid, gid_t outside_gid);

/* Die with the parent; not readable by others; no privileges through exec. */
int identity_protect(void);

#endif
