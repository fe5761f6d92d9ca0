/* SPDX-License-Identifier: Apache-2.0 */
#include "hostile_inner.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As PID of /proc. */
static const char *of_victim(const char *name)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", config.victim, name);
	return path;
}

/* --- the network ------------------------------------------------------------------------------ */

static struct sockaddr_in host_address(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)config.port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A socket, and then a step on it. */
static int with_socket(int family, int type, int protocol, int (*step)(int fd))
{
	const long fd = CALL(socket, family, type, protocol);
	const int error = fd < 0 ? errno : step((int)fd);

	if (fd >= 0)
		(void)close((int)fd);
	return error;
}

static int nothing(int fd)
{
	(void)fd;
	return 0;
}

int step_connect(int fd)
{
	const struct sockaddr_in to = host_address();

	return done(CALL(connect, fd, &to, sizeof(to)));
}

int step_send_anew(int fd)
{
	const struct sockaddr_in to = host_address();

	return done(CALL(sendto, fd, "anew", 4, MSG_FASTOPEN | MSG_NOSIGNAL, &to, sizeof(to)));
}

static int step_send(int fd)
{
	const struct sockaddr_in to = host_address();

	return done(CALL(sendto, fd, "datagram", 8, MSG_NOSIGNAL, &to, sizeof(to)));
}

int step_listen(int fd)
{
	return done(CALL(listen, fd, 1));
}

int step_bind(int fd)
{
	const struct sockaddr_in own = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return done(CALL(bind, fd, &own, sizeof(own)));
}

static struct sockaddr_un unix_address(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_place(name));
	return address;
}

static int step_connect_file(int fd)
{
	const struct sockaddr_un to = unix_address("../stream");

	return done(CALL(connect, fd, &to, sizeof(to)));
}

int act_connect(void)
{
	return with_socket(AF_INET, SOCK_STREAM, 0, step_connect);
}

int act_send_anew(void)
{
	return with_socket(AF_INET, SOCK_STREAM, 0, step_send_anew);
}

int act_send(void)
{
	return with_socket(AF_INET, SOCK_DGRAM, 0, step_send);
}

int act_listen(void)
{
	return with_socket(AF_INET, SOCK_STREAM, 0, step_listen);
}

int act_bind(void)
{
	return with_socket(AF_INET, SOCK_STREAM, 0, step_bind);
}

int act_connect_file(void)
{
	return with_socket(AF_UNIX, SOCK_STREAM, 0, step_connect_file);
}

int act_route(void)
{
	return with_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, nothing);
}

int act_multipath(void)
{
	return with_socket(AF_INET, SOCK_STREAM, 262, nothing);
}

int act_six(void)
{
	return with_socket(AF_INET6, SOCK_STREAM, 0, nothing);
}

/* Send to a datagram socket's file, by a pair that is connected to itself. */
int act_send_file(void)
{
	struct sockaddr_un to = unix_address("../datagram");
	struct iovec part = { .iov_base = &to, .iov_len = 1 };
	const struct msghdr message = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1
	};
	int ends[2];
	int error = done(CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, ends));

	if (error != 0)
		return error;
	error = done(CALL(sendmsg, ends[0], &message, MSG_NOSIGNAL | MSG_DONTWAIT));
	(void)close(ends[0]);
	(void)close(ends[1]);
	return error;
}

/* --- other processes -------------------------------------------------------------------------- */

int act_signal(void)
{
	return done(CALL(kill, config.victim, SIGCONT));
}

int act_signal_thread(void)
{
	return done(CALL(tkill, config.victim, SIGCONT));
}

int act_trace(void)
{
	return done(CALL(ptrace, 0x4206, config.victim, 0, 0));
}

int act_pidfd(void)
{
	return done_fd(CALL(pidfd_open, config.victim, 0));
}

int act_compare(void)
{
	return done(CALL(kcmp, config.victim, config.victim, 2, 0, 0));
}

int act_priority(void)
{
	return done(CALL(setpriority, 0, config.victim, 0));
}

int act_proc(void)
{
	return done_fd(CALL(openat, AT_FDCWD, of_victim("fd"), O_RDONLY, 0));
}

int act_proc_environ(void)
{
	return done_fd(CALL(openat, AT_FDCWD, of_victim("environ"), O_RDONLY, 0));
}

int act_proc_link(void)
{
	char text[64];

	return done(CALL(readlinkat, AT_FDCWD, of_victim("fd/0"), text, sizeof(text)));
}

int act_proc_memory(void)
{
	return done_fd(CALL(openat, AT_FDCWD, of_victim("mem"), O_RDWR, 0));
}

int act_limits(void)
{
	uint64_t limit[2];

	return done(CALL(prlimit64, config.victim, 7, NULL, limit));
}

int act_affinity(void)
{
	unsigned long cpus[16];

	return CALL(sched_getaffinity, config.victim, sizeof(cpus), cpus) < 0
		       ? errno
		       : done(CALL(sched_setaffinity, config.victim, sizeof(cpus), cpus));
}

int act_read_memory(void)
{
	char byte;
	struct {
		void *at;
		size_t size;
	} here = { &byte, 1 }, there = { &config, 1 };

	/* The address may not be there: EFAULT is of the kernel that looked. */
	return CALL(process_vm_readv, config.victim, &here, 1, &there, 1, 0) < 0 && errno != EFAULT
		       ? errno
		       : 0;
}

int act_signal_pidfd(void)
{
	const long fd = CALL(pidfd_open, config.victim, 0);
	const int error = fd < 0 ? errno : done(CALL(pidfd_send_signal, fd, SIGCONT, NULL, 0));

	if (fd >= 0)
		(void)close((int)fd);
	return error;
}

int act_take_descriptor(void)
{
	const long fd = CALL(pidfd_open, config.victim, 0);
	const int error = fd < 0 ? errno : done_fd(CALL(pidfd_getfd, fd, 0, 0));

	if (fd >= 0)
		(void)close((int)fd);
	return error;
}

/* fork(2), for its kernel's side alone. The child leaves its result in shared memory: the program
 * may have set SIGCHLD to SIG_IGN. */
static int fork_and(int (*step)(void))
{
	const long pid = (*shared_result = 0, CALL(clone, SIGCHLD, 0, 0, 0, 0));

	if (pid == 0) {
		*shared_result = step != NULL ? step() : 0;
		(void)CALL(exit_group, 0);
	}
	if (pid < 0)
		return errno;
	(void)CALL(wait4, pid, NULL, 0, NULL);
	return *shared_result;
}

static int step_execute(void)
{
	char *const none[] = { NULL };

	return done(CALL(execve, in_place("program"), none, none));
}

static int step_user_namespace(void)
{
	return done(CALL(unshare, CLONE_NEWUSER));
}

int act_fork(void)
{
	return fork_and(NULL);
}

int act_execute(void)
{
	return fork_and(step_execute);
}

int act_user_namespace(void)
{
	return fork_and(step_user_namespace);
}

/* --- the kernel, and its own posture ---------------------------------------------------------- */

static int map(int protection)
{
	void *at = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int error = at == MAP_FAILED ? errno : 0;

	if (error == 0)
		(void)munmap(at, 4096);
	return error;
}

int act_execute_memory(void)
{
	return map(PROT_READ | PROT_WRITE | PROT_EXEC);
}

int act_memory_file(void)
{
	return done_fd(CALL(memfd_create, "a", 0));
}

int act_dumpable(void)
{
	return done(CALL(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
}

int act_key(void)
{
	return done(CALL(add_key, "user", "msp-test", "a", 1, -4));
}

int act_segment(void)
{
	return done(CALL(shmget, 0x6d73, 4096, 01600));
}

int act_page_faults(void)
{
	return done_fd(CALL(userfaultfd, 1));
}

int act_copy_descriptor(void)
{
	return done_fd(CALL(fcntl, 2, F_DUPFD, 20));
}

int act_ring(void)
{
	char parameters[256] = { 0 };

	return done_fd(CALL(io_uring_setup, 1, parameters));
}
