/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include <errno.h>
#include <sys/prctl.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "seccomp_filter.h"

/* The rights that cgroup_create() and cgroup_read() need. */
#define CGROUP_RIGHTS                                                                              \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |                               \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR)

/* Must: allow nothing but the cgroup directory. Must not: scope signals, since the inits that it
 * kills are outside of its domain. */
static int restrict_files(int cgroup, int abi)
{
	const struct kernel_landlock_ruleset all = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = LANDLOCK_NET_ALL,
		.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET,
	};
	const struct kernel_landlock_ruleset attr = landlock_fit(all, abi);
	int ruleset FD_OWNED = landlock_create(&attr);
	int error = 0;

	if (ruleset < 0)
		return ruleset;
	if (cgroup >= 0)
		error = landlock_allow(ruleset, &attr, cgroup, CGROUP_RIGHTS);
	return error ? error : landlock_enter(ruleset);
}

int confine_supervisor(int cgroup, int abi)
{
	int error;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	error = capabilities_set(0);
	if (!error)
		error = restrict_files(cgroup, abi);
	return error ? error
		     : seccomp_install(seccomp_filter,
				       sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
}
