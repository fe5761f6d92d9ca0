/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/steps.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"

void confine_require(int error, const char *step)
{
	if (error)
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: %s: %s", step,
			  errno_text(-error));
}

int confine_result(int status)
{
	return status == 0 ? 0 : -errno;
}

static bool is_channel(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return fd_is_kind(fd, 's') && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_SEQPACKET;
}

void confine_keep_channel(int channel, bool may_be_file)
{
	for (int fd = 0; fd < channel; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			log_fatal(MSP_EXIT_SOFTWARE, "descriptor %d is not open", fd);
	}
	if (!is_channel(channel) && !(may_be_file && fd_is_kind(channel, 'm')))
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not the supervisor's channel: this program is started "
			  "by msp-supervisor",
			  channel);
	confine_require(confine_result(kernel_close_range((unsigned int)channel + 1, ~0U)),
			"closing other descriptors");
}

void confine_privileges(void)
{
	confine_require(confine_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), "no_new_privs");
	confine_require(confine_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)), "not dumpable");
	confine_limit(RLIMIT_CORE, 0, "refusing core dumps");
}

void confine_rights(void)
{
	confine_privileges();
	confine_require(capabilities_set(0), "dropping capabilities");
}

void confine_limit(unsigned int resource, uint64_t most, const char *step)
{
	const struct rlimit limit = { most, most };

	confine_require(confine_result(setrlimit(resource, &limit)), step);
}

int confine_ruleset(uint64_t net, struct kernel_landlock_ruleset *ret_attr)
{
	const struct kernel_landlock_ruleset everything = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = net,
		.scoped = LANDLOCK_SCOPE_ALL,
	};
	const int abi = landlock_abi();

	confine_require(abi < 1 ? -EOPNOTSUPP : 0,
			"asking for Landlock (lsm=landlock,... on the kernel's command line)");
	*ret_attr = landlock_fit(everything, abi);
	const int ruleset = landlock_create(ret_attr);
	confine_require(ruleset < 0 ? ruleset : 0, "creating the Landlock ruleset");
	return ruleset;
}

void confine_enter(int ruleset)
{
	confine_require(landlock_enter(ruleset), "entering the Landlock domain");
	fd_close(&ruleset);
}
