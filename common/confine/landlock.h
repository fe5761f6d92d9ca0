/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock through its system calls. Nothing here is best effort: a right that the kernel cannot
 * handle is left out only by landlock_fit(), which says so, and every failure is returned.
 */
#ifndef COMMON_CONFINE_LANDLOCK_H
#define COMMON_CONFINE_LANDLOCK_H

#include <stddef.h>

#include "common/kernel.h"

/* Every right that we know of, ABI 6 and before: what a ruleset that shall allow nothing handles.
 */
#define LANDLOCK_FS_ALL ((LANDLOCK_ACCESS_FS_IOCTL_DEV << 1) - 1)
/* The rights by which no file comes to be or grows. */
#define LANDLOCK_FS_REMOVAL                                                                        \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                          \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define LANDLOCK_NET_ALL (LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP)
#define LANDLOCK_SCOPE_ALL (LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL)

/* The ABI that the kernel implements, 0 without Landlock. Asked from the kernel, never derived. */
int landlock_abi(void);

/* Reduce `attr` to what ABI `abi` can handle. */
struct kernel_landlock_ruleset landlock_fit(struct kernel_landlock_ruleset attr, int abi);

/* Names of the rights and scopes that ABI `abi` does not handle and newer kernels do, one for each
 * `index` from 0; NULL beyond the last. Static storage. */
const char *landlock_lost(int abi, size_t index);

/* A ruleset descriptor for exactly `attr`, or -errno. */
int landlock_create(const struct kernel_landlock_ruleset *attr);

/* Allow `rights` beneath the opened `path`; rights that do not apply to a non-directory or are not
 * handled by `attr` are left out. 0 or -errno. */
int landlock_allow(int ruleset, const struct kernel_landlock_ruleset *attr, int path,
		   uint64_t rights);

/* Enter the domain; needs no_new_privs. 0 or -errno. */
int landlock_enter(int ruleset);

#endif
