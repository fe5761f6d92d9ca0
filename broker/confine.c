/* SPDX-License-Identifier: Apache-2.0
 *
 * Every step is required: if a step fails, the process ends and stderr names the step. The order
 * follows from what each step takes away: capabilities before Landlock, Landlock before the
 * filter, because the filter allows neither.
 */
#include "confine.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "confine_http.h"
#include "seccomp_filter.h"

#define FILTER_COUNT (sizeof(seccomp_filter) / sizeof(seccomp_filter[0]))

static bool is_listening(int fd)
{
	int answer = 0;
	socklen_t size = sizeof(answer);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer;
}

enum confine_kind confine_descriptors(void)
{
	confine_keep_channel(CONFINE_CHANNEL, true);
	if (fd_is_kind(CONFINE_CHANNEL, 'm'))
		return CONFINE_REFUSED;
	return is_listening(STDIN_FILENO) ? CONFINE_HTTP : CONFINE_STDIO;
}

/* Only CAP_SETPCAP can empty the bounding set. A process without it has nothing to bound:
 * no_new_privs keeps every exec from granting capabilities. */
static void drop_capabilities(void)
{
	int error = capabilities_drop(0);

	if (error == -EPERM)
		error = capabilities_set(0);
	confine_require(error, "dropping capabilities");
}

/* Far above the memory that the most executions' output takes. Brokers share their supervisor's
 * cgroup, so a broker under an attacker's control must not use up the others' memory. */
#define ADDRESS_SPACE_BYTES ((uint64_t)1 << 30)

/* Allow nothing: the ruleset has no rule. */
static void enter_landlock(enum confine_kind kind)
{
	struct kernel_landlock_ruleset attr;

	if (kind != CONFINE_REFUSED || landlock_abi() > 0)
		confine_enter(confine_ruleset(LANDLOCK_NET_ALL, &attr));
}

void confine_process(enum confine_kind kind)
{
	confine_require(signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0, "ignoring SIGPIPE");
	confine_privileges(); /* a core would hold secrets */
	confine_limit(RLIMIT_AS, ADDRESS_SPACE_BYTES, "limiting its memory");
	drop_capabilities();
	enter_landlock(kind);
	confine_require(kind == CONFINE_HTTP ? confine_install_http_filter()
					     : seccomp_install(seccomp_filter, FILTER_COUNT),
			"installing the system call filter");
}
