/* SPDX-License-Identifier: Apache-2.0 */
#include "hostile_acts.h"
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
#define PLACE_MAX HOSTILE_PATH_MAX
#define TRIES_MAX 100000U
#define NO_PROCESS 99999999 /* more than there can be */

struct hostile_config config;
int *shared_result;

static char path_room[8][PLACE_MAX + 16];
static unsigned int path_next;

const char *in_place(const char *name)
{
	char *path = path_room[path_next++ % COUNT(path_room)];

	(void)snprintf(path, sizeof(path_room[0]), "%s/%s", config.place, name);
	return path;
}

static void make_file(const char *name, const char *text)
{
	FILE *file = fopen(in_place(name), "we");

	if (file != NULL) {
		(void)fputs(text, file);
		(void)fclose(file);
	}
}

/* The acts want files of their own: an act that succeeds changes them. */
static void make_place(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(config.place, sizeof(config.place), "%.48s/%d-%ld", config.shared, getpid(),
		       (long)now.tv_nsec);
	if (mkdir(config.place, 0700) != 0) {
		perror(config.place);
		return;
	}
	make_file("secret", "secret");
	make_file("gone", "");
	make_file("moved", "");
	make_file("moved2", "");
	make_file("program", "#!/bin/true\n");
	(void)chmod(in_place("program"), 0700);
	(void)symlink("secret", in_place("link"));
}

void hostile_read_config(void)
{
	FILE *file = fopen(HOSTILE_FOLDER "/config", "re");

	/* A program in a tree of its own sees nothing of it. */
	(void)snprintf(config.place, sizeof(config.place), "%s", HOSTILE_FOLDER);
	shared_result = mmap(NULL, sizeof(*shared_result), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	config.port = 1;
	config.victim = NO_PROCESS;
	if (file == NULL)
		return;
	if (fscanf(file, "%47s %d %d %d", config.shared, &config.port, &config.victim,
		   &config.other_port) == 4)
		make_place();
	(void)fclose(file);
}

/* Return what a system call returned, which has made a descriptor or nothing: 0 or an errno. */
int done(long result)
{
	const int error = result < 0 ? errno : 0;

	return error;
}

int done_fd(long fd)
{
	const int error = done(fd);

	if (fd >= 0)
		(void)close((int)fd);
	return error;
}

static const struct {
	const char *name;
	int (*run)(void);
} acts[] = {
#define X(name) { #name, act_##name },
	ACTS(X)
#undef X
};

static struct sockaddr_in host_address(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)config.port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* --- a socket of a host, whose peer has gone -------------------------------------------------- */

static int option(int fd, int level, int name, const void *value, socklen_t size)
{
	return done(CALL(setsockopt, fd, level, name, value, size));
}

static int on_later(int fd)
{
	static const int on = 1;

	return option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
}

static int on_send_anew_flag(int fd)
{
	return done(CALL(sendto, fd, "anew", 4, MSG_FASTOPEN | MSG_NOSIGNAL, NULL, 0));
}

static int on_message_anew(int fd)
{
	struct sockaddr_in to = host_address();
	struct iovec part = { .iov_base = &to, .iov_len = 1 };
	const struct msghdr message = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1
	};

	return done(CALL(sendmsg, fd, &message, MSG_FASTOPEN | MSG_NOSIGNAL));
}

/* A name, without the flag: the program may send messages. The kernel ignores it on a socket that
 * is connected, and the socket has no peer. */
static int on_message_named(int fd)
{
	struct sockaddr_in to = host_address();
	struct iovec part = { .iov_base = &to, .iov_len = 1 };
	const struct msghdr message = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1
	};

	return done(CALL(sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

static int on_disconnect(int fd)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };

	return done(CALL(connect, fd, &none, sizeof(none)));
}

static int on_device(int fd)
{
	return option(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
}

static const struct {
	const char *name;
	int (*run)(int fd);
} socket_acts[] = {
	{ "later", on_later },
	{ "message_named", on_message_named },
	{ "device", on_device },
	{ "send_anew_flag", on_send_anew_flag },
	{ "send_anew", step_send_anew },
	{ "send_anew_again", step_send_anew },
	{ "disconnect", on_disconnect },
	{ "message_anew", on_message_anew },
	{ "disconnect_again", on_disconnect },
	{ "connect", step_connect },
	{ "disconnect_last", on_disconnect },
	{ "bind", step_bind },
	{ "listen", step_listen },
};

static bool report_act(const char *program, const char *column, const char *act, int result)
{
	char line[256];
	const int size =
		snprintf(line, sizeof(line), "hostile %s %s %s %d\n", program, column, act, result);

	return CALL(write, STDERR_FILENO, line, (size_t)size) == size;
}

void hostile_try_socket(const char *program, int fd)
{
	uint32_t tries = 0;
	char byte;
	long size;

	do /* until its end or its reset */
		size = CALL(recvfrom, fd, &byte, 1, MSG_DONTWAIT, NULL, NULL);
	while (size > 0 || (size < 0 && errno == EAGAIN && tries++ < TRIES_MAX));
	if (size < 0 && (errno == ENOTCONN || errno == EAGAIN))
		return; /* it is a listener, or has a peer that stays */
	config.port = config.other_port;
	for (size_t i = 0; i < COUNT(socket_acts); i++)
		(void)report_act(program, "socket", socket_acts[i].name, socket_acts[i].run(fd));
}

void hostile_try_all(const char *program, const char *column)
{
	for (size_t i = 0; i < COUNT(acts); i++) {
		if (!report_act(program, column, acts[i].name, acts[i].run()))
			return;
	}
}
