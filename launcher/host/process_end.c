/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/process_end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

static int await_end(int process, int wait_ms)
{
	struct pollfd entry = { .fd = process, .events = POLLIN };
	int count;

	do
		count = poll(&entry, 1, wait_ms);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return count > 0 ? 0 : -ETIME;
}

int process_end(pid_t (*find)(const void *context), const void *context, int wait_ms)
{
	const pid_t pid = find(context);
	int fd FD_OWNED = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd < 0 || find(context) != pid)
		return -ESRCH;
	if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) != 0)
		return -errno;
	(void)syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0); /* a stopped one, too */
	return await_end(fd, wait_ms);
}
