/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/nonblocking.h"

/* Clients that may wait to be accepted: the broker serves 500, and all may come at once after it
 * was restarted. */
#define BACKLOG 512

/* How often, and after which pause, an address that is in use is tried: a second in all. */
#define TRIES 50
#define PAUSE_MS 20

#define UNIX_PREFIX "unix:"
#define HTTP_PATH "/mcp" /* the broker's only endpoint */

#define FORM_RULE                                                                                  \
	"127.0.0.1:PORT, [::1]:PORT or localhost:PORT (0: the kernel chooses the port), or "       \
	"unix:PATH"

#define LOOPBACK_RULE                                                                              \
	"an address of the loopback (127.0.0.1, [::1] or localhost) or unix:PATH, since msp "      \
	"speaks no TLS. For clients of other machines put a reverse proxy with TLS in front of "   \
	"it, or forward a port: ssh -L PORT:127.0.0.1:PORT THIS-MACHINE"

#define PATH_RULE                                                                                  \
	"unix: and an absolute path of at most 107 bytes (sun_path in unix(7)), whose last part "  \
	"is shorter than 64 bytes"

static bool parse_port(const char *text, in_port_t *ret)
{
	unsigned long port = 0;
	size_t size = 0;

	for (; text[size] >= '0' && text[size] <= '9' && size < 5; size++)
		port = port * 10 + (unsigned long)(text[size] - '0');
	*ret = htons((uint16_t)port);
	return size > 0 && text[size] == '\0' && port <= UINT16_MAX;
}

/* `host` without the brackets of a version 6 address. */
static const char *set_host(struct listen_address *address, const char *host, bool is_v6,
			    in_port_t port)
{
	const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;

	if (is_v6) {
		address->tcp.v6 =
			(struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
		if (inet_pton(AF_INET6, host, &address->tcp.v6.sin6_addr) == 1 &&
		    IN6_IS_ADDR_LOOPBACK(&address->tcp.v6.sin6_addr))
			return NULL;
	} else {
		address->tcp.v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
		if (inet_pton(AF_INET, number, &address->tcp.v4.sin_addr) == 1 &&
		    ntohl(address->tcp.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
			return NULL;
	}
	return LOOPBACK_RULE;
}

static const char *set_tcp(struct listen_address *address, const char *value)
{
	char host[INET6_ADDRSTRLEN];
	const char *colon = strrchr(value, ':');
	const bool is_v6 = value[0] == '[';
	size_t size = colon ? (size_t)(colon - value) : 0;
	in_port_t port;

	if (!colon || !parse_port(colon + 1, &port))
		return FORM_RULE;
	if (is_v6) {
		if (size < 2 || value[size - 1] != ']')
			return FORM_RULE;
		value++;
		size -= 2;
	}
	if (size >= sizeof(host))
		return LOOPBACK_RULE;
	memcpy(host, value, size);
	host[size] = '\0';
	return set_host(address, host, is_v6, port);
}

const char *listen_set_address(void *member, const char *value)
{
	struct listen_address address = { .path = NULL };
	const char *rule = NULL;

	if (strncmp(value, UNIX_PREFIX, strlen(UNIX_PREFIX)) != 0)
		rule = set_tcp(&address, value);
	else if (option_set_socket(&address.path, value + strlen(UNIX_PREFIX)) ||
		 strlen(address.path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		rule = PATH_RULE;
	if (!rule)
		*(struct listen_address *)member = address;
	return rule;
}

bool listen_is_wanted(const struct listen_address *address)
{
	return address->path || address->tcp.any.sa_family != AF_UNSPEC;
}

static int open_tcp(const struct listen_address *address)
{
	const int family = address->tcp.any.sa_family;
	const int on = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* Connections of a server that ended do not keep its port. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, &address->tcp.any,
		 family == AF_INET ? sizeof(address->tcp.v4) : sizeof(address->tcp.v6)) != 0 ||
	    listen(fd, BACKLOG) != 0) {
		const int error = -errno;

		fd_close(&fd);
		return error;
	}
	return fd;
}

struct place {
	int folder;
	const char *name;
};

/* Return whether the place is free: a process that is not clearly dead lives. */
static bool is_free(void *context)
{
	const struct place *place = context;
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return false;
	unix_socket_address(place->folder, place->name, &address);
	error = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
	fd_close(&fd);
	return error == ENOENT || error == ECONNREFUSED;
}

static int open_unix(struct place *place)
{
	const struct unix_socket_kind kind = { SOCK_STREAM, BACKLOG, is_free, place };

	return unix_socket_listen(place->folder, place->name, &kind);
}

/* The folder that is checked is the one that is used. 0, or -errno with a line in `text`. */
static int find_place(const char *path, struct place *ret, char text[LISTEN_TEXT_MAX])
{
	char folder[LISTEN_ADDRESS_MAX];
	const char *slash = strrchr(path, '/'); /* it is absolute */

	format_text(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	ret->name = slash + 1;
	ret->folder = unix_socket_open_folder(folder, text);
	return ret->folder < 0 ? ret->folder : 0;
}

static void format_address(const struct listen_address *address, char text[LISTEN_ADDRESS_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (address->path)
		format_text(text, LISTEN_ADDRESS_MAX, UNIX_PREFIX "%s", address->path);
	else if (address->tcp.any.sa_family == AF_INET)
		format_text(text, LISTEN_ADDRESS_MAX, "%s:%u",
			    inet_ntop(AF_INET, &address->tcp.v4.sin_addr, host, sizeof(host)),
			    ntohs(address->tcp.v4.sin_port));
	else
		format_text(text, LISTEN_ADDRESS_MAX, "[%s]:%u",
			    inet_ntop(AF_INET6, &address->tcp.v6.sin6_addr, host, sizeof(host)),
			    ntohs(address->tcp.v6.sin6_port));
}

static int explain_error(const struct listen_address *address, int error,
			 char text[LISTEN_TEXT_MAX])
{
	char where[LISTEN_ADDRESS_MAX];

	format_address(address, where);
	if (error == EADDRINUSE && address->path)
		format_text(text, LISTEN_TEXT_MAX,
			    "another program listens on %s: end it, or name another path", where);
	else if (error == EADDRINUSE)
		format_text(text, LISTEN_TEXT_MAX,
			    "another program listens on %s: end it ('ss -ltnp' shows which it is), "
			    "or name another port; with port 0 the kernel chooses one",
			    where);
	else if (error == EACCES && !address->path)
		format_text(text, LISTEN_TEXT_MAX,
			    "ports below 1024 are not for ordinary users, and %s is one: name a "
			    "higher one",
			    where);
	else if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT)
		format_text(text, LISTEN_TEXT_MAX,
			    "this machine has no address %s: name 127.0.0.1 in place of it", where);
	else
		format_text(text, LISTEN_TEXT_MAX, "cannot listen on %s: %s", where,
			    errno_text(error));
	return error == EADDRINUSE ? MSP_EXIT_AGAIN : MSP_EXIT_REFUSED;
}

int listen_open(const struct listen_address *address, int *ret, char text[LISTEN_TEXT_MAX])
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	struct place place = { .folder = -1 };
	int error = 0;
	int fd = -EADDRINUSE;

	if (address->path && find_place(address->path, &place, text) != 0)
		return MSP_EXIT_REFUSED;
	for (int i = 0; i < TRIES && fd == -EADDRINUSE; i++) {
		if (i > 0)
			(void)nanosleep(&pause, NULL); /* a signal ends us, or the pause */
		fd = address->path ? open_unix(&place) : open_tcp(address);
	}
	fd_close(&place.folder);
	if (fd >= 0)
		error = fd_set_nonblocking(fd, true);
	if (fd < 0 || error) {
		const int code = explain_error(address, fd < 0 ? -fd : -error, text);

		fd_close(&fd);
		return code;
	}
	*ret = fd;
	return 0;
}

void listen_describe(const struct listen_address *address, int fd, char text[LISTEN_TEXT_MAX])
{
	struct listen_address real = *address;
	socklen_t size = sizeof(real.tcp);
	char where[LISTEN_ADDRESS_MAX];

	if (!address->path)
		(void)getsockname(fd, &real.tcp.any, &size); /* cannot fail: it is bound */
	format_address(&real, where);
	if (address->path)
		format_text(text, LISTEN_TEXT_MAX, "%s, over HTTP at " HTTP_PATH, where);
	else
		format_text(text, LISTEN_TEXT_MAX, "http://%s" HTTP_PATH, where);
}
