/* SPDX-License-Identifier: Apache-2.0 */
#include "stewards/base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"

#define END_MS 2000

int child_fork(int *ret_pidfd)
{
	const pid_t pid = signal(SIGCHLD, SIG_IGN) == SIG_ERR ? -1 : fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = kernel_pidfd_open(pid);
	return pid > 0;
}

void child_await(int *pidfd)
{
	struct pollfd end = { .fd = *pidfd, .events = POLLIN };

	if (*pidfd >= 0)
		(void)poll(&end, 1, END_MS);
	fd_close(pidfd);
}
