/* SPDX-License-Identifier: Apache-2.0
 *
 * One of msp's programs, taken over: it is linked with this in the place of its last step of
 * confinement. When everything but the filter is there, a process of its own tries the acts (column
 * "beneath"); then the filter is installed, with an answer in the place of the end of the process,
 * and the program tries them (column "within"). It goes on as ever. If it accepts a socket
 * of the network, or a message brings it one, it tries what that allows (column "socket").
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/seccomp.h"
#include "common/ipc/channel.h"
#include "hostile_acts.h"

#define INSTRUCTIONS_MAX 1024U
#define REFUSED 251 /* an errno that no call has */

int __real_seccomp_install(const struct sock_filter *filter, uint32_t count);
int __wrap_seccomp_install(const struct sock_filter *filter, uint32_t count);
int __real_channel_receive(const struct channel *channel, struct channel_message *ret, int flags,
			   enum ipc_error *ret_error);
int __wrap_channel_receive(const struct channel *channel, struct channel_message *ret, int flags,
			   enum ipc_error *ret_error);
int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

/* The name, with the length of the filter: some programs have two. */
static char label[64] = HOSTILE_NAME;

__attribute__((constructor)) static void read_config(void)
{
#ifdef HOSTILE_SAID /* the launcher takes its standard error away */
	(void)dup2(open(HOSTILE_SAID, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600),
		   STDERR_FILENO);
#endif
	hostile_read_config();
}

#ifndef HOSTILE_WITHIN_ALONE
static void try_beneath(void)
{
	const pid_t pid = (pid_t)syscall(SYS_fork);

	if (pid == 0) {
		hostile_try_all(label, "beneath");
		(void)syscall(SYS_exit_group, 0);
	}
	if (pid > 0)
		(void)syscall(SYS_wait4, pid, NULL, 0, NULL);
}
#endif

int __wrap_seccomp_install(const struct sock_filter *filter, uint32_t count)
{
	static struct sock_filter soft[INSTRUCTIONS_MAX];
	int error;

	if (count > INSTRUCTIONS_MAX)
		return -E2BIG;
	(void)snprintf(label, sizeof(label), HOSTILE_NAME "@%u", count);
	memcpy(soft, filter, count * sizeof(*filter));
	for (uint32_t i = 0; i < count; i++) {
		if (soft[i].code == (BPF_RET | BPF_K) && soft[i].k == SECCOMP_RET_KILL_PROCESS)
			soft[i].k = SECCOMP_RET_ERRNO | REFUSED;
	}
#ifndef HOSTILE_WITHIN_ALONE
	try_beneath();
#endif
	error = __real_seccomp_install(soft, count);
	if (error == 0)
		hostile_try_all(label, "within");
	return error;
}

int __wrap_channel_receive(const struct channel *channel, struct channel_message *ret, int flags,
			   enum ipc_error *ret_error)
{
	const int status = __real_channel_receive(channel, ret, flags, ret_error);

	for (uint32_t i = 0; status == 1 && i < ret->fd_count; i++) {
		int domain = 0;
		socklen_t size = sizeof(domain);

		if (getsockopt(ret->fds[i], SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
		    domain == AF_INET)
			hostile_try_socket(label, ret->fds[i]);
	}
	return status;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	const int taken = __real_accept4(fd, address, size, flags);

	if (taken >= 0)
		hostile_try_socket(label, taken);
	return taken;
}
