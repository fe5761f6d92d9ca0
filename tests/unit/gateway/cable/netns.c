/* SPDX-License-Identifier: Apache-2.0 */
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_written;
}

/* Enter a user namespace with these others, as its root. */
static bool enter(int others)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | others) != 0 || !write_file("/proc/self/setgroups", "deny"))
		return false;
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!write_file("/proc/self/uid_map", map))
		return false;
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (syscall(SYS_capset, &head, none) != 0)
		_exit(99);
}

static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		_exit(98);
	close(fd);
}

/* Connect with the type and return 0 or errno; a second is enough for a cable. */
int connect_to(int type, const char *host, uint16_t port)
{
	const struct timeval second = { .tv_sec = 1 };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int fd = socket(AF_INET, type, 0);
	int error = 0;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	inet_pton(AF_INET, host, &address.sin_addr);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		error = errno;
	if (error == 0 && type == SOCK_DGRAM) {
		char byte;

		/* The answer of a closed port is an error of the next call. */
		if (send(fd, "x", 1, 0) < 0 || recv(fd, &byte, 1, 0) < 0)
			error = errno;
	}
	close(fd);
	return error;
}

static void send_socket(int channel, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = "" };
	char byte = 'n';
	struct iovec room = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &room,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };

	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					 .cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(channel, &message, 0) != 1)
		_exit(97);
}

static int receive_socket(int channel)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec room = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &room,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int fd;

	if (recvmsg(channel, &message, 0) != 1 || message.msg_controllen == 0)
		_exit(96);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* The sandbox: a child with a namespace of its own, which runs `act` without a capability after the
 * cable is there. The exit status is the number of the first wrong line. */
struct sandbox {
	pid_t pid;
	int channel;
};

static struct sandbox start_sandbox(int (*act)(void))
{
	int pair[2];
	struct sandbox sandbox;
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		_exit(95);
	sandbox = (struct sandbox){ .pid = fork(), .channel = pair[0] };
	if (sandbox.pid != 0) {
		close(pair[1]);
		return sandbox;
	}
	close(pair[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!enter(CLONE_NEWNET))
		_exit(94);
	raise_loopback();
	send_socket(pair[1], socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	drop_capabilities();
	if (recv(pair[1], &byte, 1, 0) != 1)
		_exit(93);
	_exit(act());
}

static int end_sandbox(const struct sandbox *sandbox)
{
	int status = 0;

	if (waitpid(sandbox->pid, &status, 0) != sandbox->pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

const uint16_t netns_ports[2] = { 443, 8080 };

/* Connect the sandbox, let it act, and return its status. The factory's process does not come back
 * from its namespaces, so it is a child, too. */
int run_with_cable(int (*act)(void), bool has_cable, int (*watch)(struct cable *))
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct cable cable = { .dns = -1 };
		struct sandbox sandbox;
		int home, socket_of_sandbox, error = 0;
		uint32_t step = 0;

		if (!enter(CLONE_NEWNET))
			_exit(77);
		home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		sandbox = start_sandbox(act);
		socket_of_sandbox = receive_socket(sandbox.channel);
		if (has_cable)
			error = cable_make(home, socket_of_sandbox, netns_ports, 2, &cable, &step);
		if (error != 0)
			fprintf(stderr, "cable_make: step %u: %s\n", step, strerror(-error));
		close(socket_of_sandbox);
		if (error != 0 || send(sandbox.channel, "g", 1, 0) != 1)
			_exit(92);
		if (watch)
			error = watch(&cable);
		status = end_sandbox(&sandbox);
		cable_close(&cable);
		_exit(status != 0 ? status : error);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
