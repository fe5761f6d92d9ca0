/* SPDX-License-Identifier: Apache-2.0
 *
 * Every step is required: a step that fails ends the process with its name on stderr.
 */
#include "confine.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/kernel.h"
#include "common/log.h"
#include "seccomp_filter.h"

/* The rights that audit_file_add() needs; to rename is to make a file and to remove one. */
#define AUDIT_RIGHTS                                                                               \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                            \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_MAKE_REG |                               \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)

static void require_step(int error, const char *step)
{
	if (error)
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: %s: %s", step,
			  errno_text(-error));
}

static int step_result(int status)
{
	return status == 0 ? 0 : -errno;
}

void confine_descriptors(void)
{
	if (!fd_is_kind(AUDIT_FD_CHANNEL, 's') || !fd_is_kind(AUDIT_FD_DIRECTORY, 'd'))
		log_fatal(MSP_EXIT_USAGE,
			  "descriptors %d and %d are no supervisor's: this program is started by "
			  "msp",
			  AUDIT_FD_CHANNEL, AUDIT_FD_DIRECTORY);
	require_step(step_result(kernel_close_range(AUDIT_FD_END, ~0U)),
		     "closing other descriptors");
}

static void enter_landlock(void)
{
	const struct kernel_landlock_ruleset everything = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = LANDLOCK_NET_ALL,
		.scoped = LANDLOCK_SCOPE_ALL,
	};
	const int abi = landlock_abi();
	const struct kernel_landlock_ruleset attr = landlock_fit(everything, abi);
	int ruleset;

	require_step(abi < 1 ? -EOPNOTSUPP : 0, "asking for Landlock");
	ruleset = landlock_create(&attr);
	require_step(ruleset < 0 ? ruleset : 0, "creating the Landlock ruleset");
	require_step(landlock_allow(ruleset, &attr, AUDIT_FD_DIRECTORY, AUDIT_RIGHTS),
		     "allowing the log's directory in Landlock");
	require_step(landlock_enter(ruleset), "entering the Landlock domain");
	fd_close(&ruleset);
}

void confine_audit(void)
{
	const struct rlimit none = { 0, 0 };

	require_step(step_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), "no_new_privs");
	require_step(step_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)), "not dumpable");
	require_step(step_result(setrlimit(RLIMIT_CORE, &none)), "refusing core dumps");
	require_step(capabilities_set(0), "dropping capabilities");
	enter_landlock();
	require_step(
		seccomp_install(seccomp_filter, sizeof(seccomp_filter) / sizeof(seccomp_filter[0])),
		"installing the system call filter");
}
