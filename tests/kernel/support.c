/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kernel.h"

pid_t clone_with(uint64_t flags, int *ret_pidfd)
{
	struct kernel_clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	union {
		int *pointer;
		uint64_t number;
	} where = { .number = 0 };

	if (ret_pidfd) {
		where.pointer = ret_pidfd;
		args.flags |= KERNEL_CLONE_PIDFD;
		args.pidfd = where.number;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	(void)close(fd); /* the write's result is what counts */
	return error;
}

int map_ids(unsigned int inside, unsigned int outer_uid, unsigned int outer_gid)
{
	char line[64];
	int error = write_text("/proc/self/setgroups", "deny");

	(void)snprintf(line, sizeof(line), "%u %u 1", inside, outer_uid);
	if (!error)
		error = write_text("/proc/self/uid_map", line);
	(void)snprintf(line, sizeof(line), "%u %u 1", inside, outer_gid);
	return error ? error : write_text("/proc/self/gid_map", line);
}

int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int exit_of(uint64_t flags, int (*act)(void))
{
	const unsigned int uid = geteuid();
	const unsigned int gid = getegid();
	const pid_t pid = clone_with(flags, NULL);
	int status = -1;

	if (pid < 0)
		return UNPREPARED;
	if (pid == 0) {
		if ((flags & CLONE_NEWUSER) && map_ids(0, uid, gid) != 0)
			_exit(UNPREPARED);
		_exit(act());
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return exit_code_of(status);
}
