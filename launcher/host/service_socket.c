/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/service_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/nonblocking.h"
#include "launcher/host/budget.h"
#include "launcher/host/unix_socket.h"

/* Clients that may wait to be accepted; systemd's own default is beyond what clients come to. */
#define BACKLOG 128

/* A number of the environment; 0 when it is not set or none. */
static uint64_t read_number(const char *name)
{
	const char *text = getenv(name);

	return text ? budget_parse_number(text) : 0;
}

static bool has_option(int fd, int option, int wanted)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static uint64_t count_passed(void)
{
	return read_number("LISTEN_PID") == (uint64_t)getpid() ? read_number("LISTEN_FDS") : 0;
}

bool service_sockets_passed(void)
{
	return count_passed() > 0;
}

/* The manager's socket, if it passed any: 1. 0: it did not. -1 with a line in `text`. */
static int take_passed(struct service_sockets *sockets, char text[SERVICE_TEXT_MAX])
{
	const uint64_t count = count_passed();

	if (count == 0)
		return 0;
	if (count != 1 || !has_option(SERVICE_SOCKETS_FD, SO_DOMAIN, AF_UNIX) ||
	    !has_option(SERVICE_SOCKETS_FD, SO_TYPE, SOCK_SEQPACKET) ||
	    !has_option(SERVICE_SOCKETS_FD, SO_ACCEPTCONN, 1))
		return format_fail(
			-1, text, SERVICE_TEXT_MAX,
			"what the service manager passes must be one listening unix socket of "
			"the kind SOCK_SEQPACKET: ListenSequentialPacket= in msp.socket");
	if (fcntl(SERVICE_SOCKETS_FD, F_SETFD, FD_CLOEXEC) != 0)
		return format_fail(-1, text, SERVICE_TEXT_MAX, "descriptor %d: %s",
				   SERVICE_SOCKETS_FD, errno_text(errno));
	sockets->listener = SERVICE_SOCKETS_FD;
	sockets->is_activated = 1;
	return 1;
}

/* Another service at our place. */
struct other {
	const char *given;
	struct service service;
};

static bool is_absent(void *context)
{
	struct other *other = context;

	other->service = service_connect(other->given);
	fd_close(&other->service.fd);
	return other->service.state == SERVICE_ABSENT;
}

static int make_listener(const struct service_place *place, const char *given, int folder,
			 struct service_sockets *sockets, char text[SERVICE_TEXT_MAX])
{
	struct other other = { .given = given };
	const struct unix_socket_kind kind = { SOCK_SEQPACKET, BACKLOG, is_absent, &other };
	const int fd = unix_socket_listen(folder, place->name, &kind);

	if (fd >= 0) {
		sockets->listener = fd;
		return 0;
	}
	if (fd != -EADDRINUSE)
		return format_fail(MSP_EXIT_REFUSED, text, SERVICE_TEXT_MAX,
				   "cannot listen on %.500s/%s: %s", place->folder, place->name,
				   errno_text(-fd));
	if (other.service.state != SERVICE_HERE && other.service.state != SERVICE_SILENT)
		return format_fail(MSP_EXIT_REFUSED, text, SERVICE_TEXT_MAX, "%s",
				   other.service.text);
	return format_fail(MSP_EXIT_AGAIN, text, SERVICE_TEXT_MAX,
			   "a service already listens on %.500s/%s: 'msp status' shows it, "
			   "'systemctl --user restart msp.service' renews it",
			   place->folder, place->name);
}

static int listen_ourselves(const char *given, struct service_sockets *sockets,
			    char text[SERVICE_TEXT_MAX])
{
	static struct service_place place;
	int folder FD_OWNED = -1;

	if (!service_find_place(given, &place, text))
		return MSP_EXIT_REFUSED;
	if (mkdir(place.folder, S_IRWXU) != 0 && errno != EEXIST)
		return format_fail(MSP_EXIT_REFUSED, text, SERVICE_TEXT_MAX,
				   "the folder %.500s cannot be made: %s", place.folder,
				   errno_text(errno));
	folder = unix_socket_open_folder(place.folder, text);
	return folder < 0 ? MSP_EXIT_REFUSED : make_listener(&place, given, folder, sockets, text);
}

/* NOTIFY_SOCKET: a path, or with '@' in front a name in the abstract namespace. A socket or -errno.
 */
static int connect_notify(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t size = strlen(name);
	int fd;

	if ((name[0] != '/' && name[0] != '@') || size < 2 || size >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, name, size);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return connect(fd, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) == 0
		       ? fd
		       : fd_unless(-errno, fd);
}

static int open_notify(struct service_sockets *sockets, char text[SERVICE_TEXT_MAX])
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (!name || !*name)
		return 0;
	sockets->notify = connect_notify(name);
	if (sockets->notify < 0)
		return format_fail(MSP_EXIT_REFUSED, text, SERVICE_TEXT_MAX,
				   "NOTIFY_SOCKET=%.300s cannot be connected to: %s", name,
				   errno_text(-sockets->notify));
	if (!getenv("WATCHDOG_PID") || read_number("WATCHDOG_PID") == (uint64_t)getpid())
		sockets->watchdog_us = read_number("WATCHDOG_USEC");
	return 0;
}

int service_sockets_open(const char *given, struct service_sockets *ret,
			 char text[SERVICE_TEXT_MAX])
{
	struct service_sockets sockets = { .listener = -1, .notify = -1 };
	const int passed = take_passed(&sockets, text);
	int code = 0;

	if (passed < 0)
		return MSP_EXIT_REFUSED;
	if (passed == 0)
		code = listen_ourselves(given, &sockets, text);
	/* A connection that is gone again before it is accepted must not block the loop. */
	if (!code && fd_set_nonblocking(sockets.listener, true) != 0)
		code = MSP_EXIT_REFUSED;
	if (!code)
		code = open_notify(&sockets, text);
	if (code) {
		fd_close(&sockets.listener);
		fd_close(&sockets.notify);
		return code;
	}
	*ret = sockets;
	return 0;
}
