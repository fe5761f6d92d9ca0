/* SPDX-License-Identifier: Apache-2.0
 *
 * Every step is required: if a step fails, the process ends and stderr names the step. The order
 * follows from what each step takes away: capabilities before Landlock, Landlock before the
 * filter, because the filter allows neither.
 */
#include "confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"
#include "confine_http.h"
#include "seccomp_filter.h"

#define FILTER_COUNT (sizeof(seccomp_filter) / sizeof(seccomp_filter[0]))

static void require_step(bool is_done, const char *step)
{
	if (!is_done)
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: %s: %s", step,
			  errno_text(errno));
}

static bool is_channel(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static bool is_listening(int fd)
{
	int answer = 0;
	socklen_t size = sizeof(answer);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer;
}

enum confine_kind confine_descriptors(void)
{
	bool is_refused;

	for (int fd = 0; fd < CONFINE_CHANNEL; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			log_fatal(MSP_EXIT_SOFTWARE, "descriptor %d is not open", fd);
	}
	is_refused = fd_is_kind(CONFINE_CHANNEL, 'm');
	if (!is_refused && !is_channel(CONFINE_CHANNEL))
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not the supervisor's channel: this "
			  "program is started by msp-supervisor",
			  CONFINE_CHANNEL);
	require_step(kernel_close_range(CONFINE_CHANNEL + 1, ~0U) == 0,
		     "closing other descriptors");
	if (is_refused)
		return CONFINE_REFUSED;
	return is_listening(STDIN_FILENO) ? CONFINE_HTTP : CONFINE_STDIO;
}

struct capabilities {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

/* Read the capabilities back from the kernel. */
static struct capabilities read_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct capabilities ret;

	memset(&ret, 0, sizeof(ret));
	require_step(syscall(SYS_capget, &header, ret.sets) == 0, "reading capabilities");
	return ret;
}

static bool is_empty(const struct capabilities *capabilities)
{
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		const struct __user_cap_data_struct *set = &capabilities->sets[i];

		if ((set->effective | set->permitted | set->inheritable) != 0)
			return false;
	}
	return true;
}

/* Only CAP_SETPCAP can empty the bounding set. A process without it has nothing to bound:
 * no_new_privs keeps every exec from granting capabilities. */
static void drop_capabilities(void)
{
	struct capabilities left = read_capabilities();
	const bool may_bound =
		(left.sets[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP)) != 0;

	capng_clear(CAPNG_SELECT_BOTH);
	if (may_bound)
		require_step(capng_apply(CAPNG_SELECT_BOUNDS) == 0, "emptying the bounding set");
	require_step(capng_apply(CAPNG_SELECT_CAPS) == 0, "dropping capabilities");
	require_step(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0,
		     "clearing ambient capabilities");
	left = read_capabilities();
	if (!is_empty(&left))
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: capabilities are left");
}

/* Far above the memory that the most executions' output takes. Brokers share their supervisor's
 * cgroup, so a broker under an attacker's control must not use up the others' memory. A core would
 * hold secrets. */
#define ADDRESS_SPACE_BYTES ((rlim_t)1 << 30)

static void limit_resources(void)
{
	const struct rlimit memory = { ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES };
	const struct rlimit none = { 0, 0 };

	require_step(setrlimit(RLIMIT_AS, &memory) == 0, "limiting its memory");
	require_step(setrlimit(RLIMIT_CORE, &none) == 0, "refusing core dumps");
}

/* Handle every right that we know and grant none: there is no rule. */
static void enter_landlock(enum confine_kind kind)
{
	const struct kernel_landlock_ruleset everything = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = LANDLOCK_NET_ALL,
		.scoped = LANDLOCK_SCOPE_ALL,
	};
	const int abi = landlock_abi();
	const struct kernel_landlock_ruleset attr = landlock_fit(everything, abi);
	int ruleset;

	if (abi < 1 && kind == CONFINE_REFUSED)
		return;
	if (abi < 1)
		log_fatal(MSP_EXIT_REFUSED,
			  "cannot confine itself: the kernel has no Landlock; "
			  "enable it (lsm=landlock,... on the kernel's command line)");
	ruleset = landlock_create(&attr);
	errno = ruleset < 0 ? -ruleset : 0;
	require_step(ruleset >= 0, "creating the Landlock ruleset");
	require_step(landlock_enter(ruleset) == 0, "entering the Landlock domain");
	(void)close(ruleset);
}

void confine_process(enum confine_kind kind)
{
	require_step(signal(SIGPIPE, SIG_IGN) != SIG_ERR, "ignoring SIGPIPE");
	require_step(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	require_step(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "not dumpable");
	limit_resources();
	drop_capabilities();
	enter_landlock(kind);
	require_step((kind == CONFINE_HTTP ? confine_install_http_filter()
					   : seccomp_install(seccomp_filter, FILTER_COUNT)) == 0,
		     "installing the system call filter");
}
