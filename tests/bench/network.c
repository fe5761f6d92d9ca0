/* SPDX-License-Identifier: Apache-2.0
 *
 * network serve PORT: answers what a client sends with the same bytes. A first message that begins
 * with 'g' asks for so many bytes.
 *
 * network answers|stream|many ADDRESS PORT COUNT: prints the nanoseconds of a connection with its
 * first answer, on average of COUNT; of COUNT bytes; of COUNT connections at once, each with an
 * answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

#define MESSAGE 64
#define BLOCK (1 << 18)

static char block[BLOCK];
static struct sockaddr_in address = { .sin_family = AF_INET };

/* In a process of its own: the others are served meanwhile. */
static void send_bytes(int connection, long long left)
{
	if (fork() != 0)
		return;
	while (left > 0) {
		const ssize_t size =
			send(connection, block, left < BLOCK ? (size_t)left : BLOCK, MSG_NOSIGNAL);

		if (size < 0)
			_exit(1);
		left -= size;
	}
	_exit(0);
}

static void serve_one(int connection)
{
	const ssize_t size = recv(connection, block, MESSAGE, 0);

	if (size > 0 && block[0] == 'g')
		send_bytes(connection, atoll(block + 1));
	else if (size > 0 && send(connection, block, (size_t)size, MSG_NOSIGNAL) == size)
		return;
	close(connection);
}

static void serve(void)
{
	const int listener = socket(AF_INET, SOCK_STREAM, 0), waiting = epoll_create1(0), on = 1;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = listener }, events[64];

	signal(SIGCHLD, SIG_IGN);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 4096) != 0 || epoll_ctl(waiting, EPOLL_CTL_ADD, listener, &event) != 0)
		fail("serve");
	for (;;) {
		const int count = epoll_wait(waiting, events, 64, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd != listener) {
				serve_one(events[i].data.fd);
				continue;
			}
			event.data.fd = accept(listener, NULL, NULL);
			if (event.data.fd >= 0)
				epoll_ctl(waiting, EPOLL_CTL_ADD, event.data.fd, &event);
		}
	}
}

static int open_connection(int flags)
{
	const int one = socket(AF_INET, SOCK_STREAM | flags, 0);

	if (one < 0 || (connect(one, (struct sockaddr *)&address, sizeof(address)) != 0 &&
			errno != EINPROGRESS))
		fail("connect");
	return one;
}

static void exchange(int one)
{
	char message[MESSAGE] = "e";

	if (send(one, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE ||
	    recv(one, message, MESSAGE, MSG_WAITALL) != MESSAGE)
		fail("exchange");
}

static void answers(long count)
{
	const int64_t begun = now_ns();

	for (long i = 0; i < count; i++) {
		const int one = open_connection(0);

		exchange(one);
		close(one);
	}
	printf("%lld\n", (long long)(now_ns() - begun) / count);
}

static void stream(long long bytes)
{
	const int64_t begun = now_ns();
	const int one = open_connection(0);
	char message[MESSAGE] = "g";
	long long got = 0;
	ssize_t size;

	snprintf(message + 1, MESSAGE - 1, "%lld", bytes);
	if (send(one, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
		fail("send");
	while (got < bytes && (size = recv(one, block, BLOCK, 0)) > 0)
		got += size;
	if (got != bytes)
		fail("stream");
	printf("%lld\n", (long long)(now_ns() - begun));
}

/* Send or receive on a connection that can go on. Return whether it has its answer. */
static int go_on(int waiting, int one, uint32_t events)
{
	char message[MESSAGE] = "e";
	struct epoll_event reading = { .events = EPOLLIN, .data.fd = one };

	if (events & EPOLLOUT) {
		if (send(one, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE ||
		    epoll_ctl(waiting, EPOLL_CTL_MOD, one, &reading) != 0)
			fail("send");
		return 0;
	}
	if (recv(one, message, MESSAGE, 0) != MESSAGE)
		fail("recv");
	return 1;
}

/* All stay open to the end. */
static void many(long count)
{
	const int waiting = epoll_create1(0);
	const int64_t begun = now_ns();
	struct epoll_event event = { .events = EPOLLOUT }, events[64];

	for (long i = 0; i < count; i++) {
		event.data.fd = open_connection(SOCK_NONBLOCK);
		if (epoll_ctl(waiting, EPOLL_CTL_ADD, event.data.fd, &event) != 0)
			fail("epoll_ctl");
	}
	while (count > 0) {
		const int ready = epoll_wait(waiting, events, 64, 30000);

		if (ready <= 0)
			fail("epoll_wait");
		for (int i = 0; i < ready; i++)
			count -= go_on(waiting, events[i].data.fd, events[i].events);
	}
	printf("%lld\n", (long long)(now_ns() - begun));
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc == 3 && strcmp(argv[1], "serve") == 0) {
		address.sin_port = htons((uint16_t)atoi(argv[2]));
		getrlimit(RLIMIT_NOFILE, &files);
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
		serve();
	}
	if (argc != 5 || inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
		return 64;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	address.sin_port = htons((uint16_t)atoi(argv[3]));
	if (strcmp(argv[1], "answers") == 0)
		answers(atol(argv[4]));
	else if (strcmp(argv[1], "stream") == 0)
		stream(atoll(argv[4]));
	else
		many(atol(argv[4]));
	return 0;
}
