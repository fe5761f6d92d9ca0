/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways out over sockets. Addresses are those of the host's listeners, which the test started.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif

static int act_socket(char **arguments)
{
	const int domain = (int)number_of(arguments);
	const int type = (int)number_of(arguments + 1);

	return outcome(socket(domain, type, (int)number_of(arguments + 2)));
}

static int act_socketpair(char **arguments)
{
	int fds[2];

	return outcome(socketpair((int)number_of(arguments), SOCK_STREAM, 0, fds));
}

struct address {
	struct sockaddr_storage is;
	socklen_t size;
};

/* ADDRESS PORT */
static struct address address_of(char **arguments)
{
	const in_port_t port = htons((uint16_t)number_of(arguments + 1));
	struct address address = { .size = 0 };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address.is;
	struct sockaddr_in *four = (struct sockaddr_in *)&address.is;

	if (inet_pton(AF_INET6, arguments[0], &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		address.size = sizeof(*six);
	} else if (inet_pton(AF_INET, arguments[0], &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = port;
		address.size = sizeof(*four);
	}
	return address;
}

static int open_socket(const struct address *to, int type)
{
	return to->size > 0 ? socket(to->is.ss_family, type | SOCK_CLOEXEC, 0) : -1;
}

static int act_connect(char **arguments)
{
	const struct address address = address_of(arguments);
	const int fd = open_socket(&address, SOCK_STREAM);

	if (fd < 0)
		return address.size > 0 ? errno : UNPREPARED;
	return outcome(connect(fd, (const struct sockaddr *)&address.is, address.size));
}

/* Succeeds when something answers: a datagram into nothing is no success. */
static int act_datagram(char **arguments)
{
	const struct timeval patience = { .tv_usec = 300000 };
	const struct address address = address_of(arguments);
	const int fd = open_socket(&address, SOCK_DGRAM);
	char answer[16];

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
		return UNPREPARED;
	if (connect(fd, (const struct sockaddr *)&address.is, address.size) != 0 ||
	    send(fd, "probe", 5, 0) < 0)
		return errno;
	return outcome(recv(fd, answer, sizeof(answer), 0));
}

/* NAME ADDRESS PORT: ask that server for a name's address, as a tunnel through DNS would. */
static int act_ask_name(char **arguments)
{
	const struct timeval patience = { .tv_usec = 300000 };
	const struct address address = address_of(arguments + 1);
	const int fd = open_socket(&address, SOCK_DGRAM);
	const size_t size = strlen(arguments[0]);
	unsigned char query[300] = { 0, 1, 1, 0, 0, 1 };
	size_t at = 12;

	if (fd < 0 || size > 63 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
		return UNPREPARED;
	query[at++] = (unsigned char)size;
	memcpy(query + at, arguments[0], size);
	at += size + 1;
	query[at + 1] = query[at + 3] = 1; /* an address, of the internet */
	if (sendto(fd, query, at + 4, 0, (const struct sockaddr *)&address.is, address.size) < 0)
		return errno;
	return outcome(recv(fd, query, sizeof(query), 0));
}

/* Any interface but the first, which is the loopback of every network namespace. */
static int act_see_interfaces(char **arguments)
{
	char name[IF_NAMESIZE];

	(void)arguments;
	for (unsigned int index = 2; index < 4096; index++) {
		if (if_indextoname(index, name)) {
			(void)printf("interface %s\n", name);
			return SUCCEEDED;
		}
	}
	return errno;
}

/* --- TCP Fast Open -----------------------------------------------------------------------------
 */

static int listen_on_loopback(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) != 0 || listen(fd, 4) != 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &size) != 0)
		return -1;
	return fd;
}

static long fast_open_sendto(int fd, const struct sockaddr_in *to)
{
	return sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)to, sizeof(*to));
}

static void fill(struct msghdr *message, struct iovec *part, const struct sockaddr_in *to)
{
	static char byte[] = "x";
	static struct sockaddr_in copy;

	copy = *to;
	*part = (struct iovec){ byte, 1 };
	*message = (struct msghdr){
		.msg_name = &copy, .msg_namelen = sizeof(copy), .msg_iov = part, .msg_iovlen = 1
	};
}

static long fast_open_sendmsg(int fd, const struct sockaddr_in *to)
{
	struct msghdr message;
	struct iovec part;

	fill(&message, &part, to);
	return sendmsg(fd, &message, MSG_FASTOPEN);
}

static long fast_open_sendmmsg(int fd, const struct sockaddr_in *to)
{
	struct mmsghdr message = { .msg_len = 0 };
	struct iovec part;

	fill(&message.msg_hdr, &part, to);
	return sendmmsg(fd, &message, 1, MSG_FASTOPEN);
}

static long fast_open_option(int fd, const struct sockaddr_in *to)
{
	const int on = 1;

	(void)to;
	return setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
}

static int act_fast_open(char **arguments)
{
	static const struct {
		const char *name;
		long (*send)(int fd, const struct sockaddr_in *to);
	} ways[] = {
		{ "sendto", fast_open_sendto },
		{ "sendmsg", fast_open_sendmsg },
		{ "sendmmsg", fast_open_sendmmsg },
		{ "option", fast_open_option },
	};
	struct sockaddr_in address;
	const int listener = listen_on_loopback(&address);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (size_t i = 0; listener >= 0 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, arguments[0]) == 0)
			return outcome(ways[i].send(fd, &address));
	}
	return UNPREPARED;
}

static int act_ulp(char **arguments)
{
	struct sockaddr_in address;
	const int listener = listen_on_loopback(&address);

	(void)arguments; /* reaches the kernel as ENOENT: no such module */
	return listener < 0 ? UNPREPARED
			    : outcome(setsockopt(listener, IPPROTO_TCP, TCP_ULP, "none", 5));
}

/* --- unix sockets ------------------------------------------------------------------------------
 */

/* A name that begins with '@' is abstract. */
static socklen_t unix_address(const char *name, struct sockaddr_un *ret)
{
	const size_t size = strnlen(name, sizeof(ret->sun_path) - 1);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, name, size);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] != '@'));
}

static int connect_to(const char *name, int type)
{
	struct sockaddr_un address;
	const socklen_t size = unix_address(name, &address);
	const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return UNPREPARED;
	return outcome(connect(fd, (struct sockaddr *)&address, size));
}

static int act_unix_connect(char **arguments)
{
	return connect_to(arguments[0], SOCK_STREAM);
}

static int act_unix_packet(char **arguments)
{
	return connect_to(arguments[0], SOCK_SEQPACKET);
}

static int act_unix_datagram(char **arguments)
{
	struct sockaddr_un address;
	const socklen_t size = unix_address(arguments[0], &address);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return outcome(fd < 0 ? -1 : sendto(fd, "probe", 5, 0, (struct sockaddr *)&address, size));
}

static const struct act list[] = {
	{ "socket", act_socket },
	{ "socketpair", act_socketpair },
	{ "connect", act_connect },
	{ "datagram", act_datagram },
	{ "ask-name", act_ask_name },
	{ "see-interfaces", act_see_interfaces },
	{ "fast-open", act_fast_open },
	{ "ulp", act_ulp },
	{ "unix-connect", act_unix_connect },
	{ "unix-packet", act_unix_packet },
	{ "unix-datagram", act_unix_datagram },
};

const struct acts network_acts = ACTS(list);
