/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/service.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"

#define RUN_FOLDER "/run/user"
#define OWN_FOLDER "msp"
#define SOCKET_NAME "supervisor.sock"

/* Everything but the owner's rights. */
#define OTHERS (S_IRWXG | S_IRWXO)

bool service_choose_folder(const char *run_folder, uid_t uid, const char *xdg, char *ret,
			   size_t room)
{
	struct stat status;

	format_text(ret, room, "%s/%u", run_folder, uid);
	if (lstat(ret, &status) != 0) {
		if (!xdg || xdg[0] != '/' || strlen(xdg) >= room - sizeof("/" OWN_FOLDER) ||
		    lstat(xdg, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != uid ||
		    (status.st_mode & OTHERS) != 0)
			return false;
		format_text(ret, room, "%s", xdg);
	}
	format_append(ret, room, "/" OWN_FOLDER);
	return true;
}

bool service_find_place(const char *given, struct service_place *ret, char text[SERVICE_TEXT_MAX])
{
	const char *slash = given ? strrchr(given, '/') : NULL;

	ret->is_given = slash != NULL;
	if (slash) {
		format_text(ret->name, sizeof(ret->name), "%s", slash + 1);
		format_text(ret->folder, sizeof(ret->folder), "%.*s",
			    slash == given ? 1 : (int)(slash - given), given);
		return true;
	}
	format_text(ret->name, sizeof(ret->name), SOCKET_NAME);
	if (service_choose_folder(RUN_FOLDER, geteuid(), getenv("XDG_RUNTIME_DIR"), ret->folder,
				  sizeof(ret->folder)))
		return true;
	return format_fail(
		false, text, SERVICE_TEXT_MAX,
		"there is no place for a service's socket: neither " RUN_FOLDER "/%u nor an "
		"XDG_RUNTIME_DIR of ours exists. 'loginctl enable-linger' makes the first",
		geteuid());
}

/* Close the connection for a reason, whose line comes after the state, as for printf. */
#define LEAVE(service, reason, ...)                                                                \
	do {                                                                                       \
		fd_close(&(service)->fd);                                                          \
		(service)->state = (reason);                                                       \
		format_text((service)->text, sizeof((service)->text), __VA_ARGS__);                \
	} while (false)

static int open_socket(void)
{
	const struct timeval most = { .tv_sec = SERVICE_ANSWER_MS / 1000 };
	const int bytes = 1 << 20; /* as channel_pair() */
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	return fd;
}

static void leave_unconnected(struct service *service, const struct service_place *place, int error)
{
	if (error == ENOENT || error == ECONNREFUSED)
		LEAVE(service, SERVICE_ABSENT, "nobody answers on %.500s/%s", place->folder,
		      place->name);
	else if (error == EAGAIN)
		LEAVE(service, SERVICE_SILENT,
		      "the service on %.500s/%s takes no connection: it hangs", place->folder,
		      place->name);
	else
		LEAVE(service, SERVICE_FAILED, "%.500s/%s cannot be connected to: %s",
		      place->folder, place->name, errno_text(error));
}

static void connect_in(struct service *service, const struct service_place *place, int folder)
{
	struct sockaddr_un address;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd;

	unix_socket_address(folder, place->name, &address);
	fd = open_socket();
	service->fd = fd;
	if (fd < 0)
		LEAVE(service, SERVICE_FAILED, "no socket: %s", errno_text(-fd));
	else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		leave_unconnected(service, place, errno);
	else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
		 peer.uid != geteuid())
		LEAVE(service, SERVICE_UNTRUSTED, "who listens on %.500s/%s is not of our user",
		      place->folder, place->name);
}

struct service service_connect(const char *given)
{
	struct service service = { .state = SERVICE_HERE, .fd = -1 };
	static struct service_place place;
	int folder FD_OWNED = -1;

	if (!service_find_place(given, &place, service.text)) {
		service.state = SERVICE_ABSENT;
		return service;
	}
	folder = unix_socket_open_folder(place.folder, service.text);
	if (folder < 0)
		service.state = folder == -ENOENT ? SERVICE_ABSENT : SERVICE_UNTRUSTED;
	else
		connect_in(&service, &place, folder);
	return service;
}

static void leave_silent(struct service *service)
{
	LEAVE(service, SERVICE_SILENT, "the service did not answer for %d s",
	      SERVICE_ANSWER_MS / 1000);
}

/* Or it ended just now, which looks the same. */
static void leave_other_version(struct service *service)
{
	LEAVE(service, SERVICE_OTHER_VERSION,
	      "the service gave no answer of this version: 'systemctl --user restart "
	      "msp.service' renews it; without systemd end its process, and 'msp setup' starts it");
}

int service_receive(struct service *service, struct channel_message *ret)
{
	const struct channel channel = { service->fd, IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	enum ipc_error wrong = IPC_OK;
	const int result = channel_receive(&channel, ret, 0, &wrong);

	if (result == -EAGAIN)
		leave_silent(service);
	else if (result == 0 || result == -EPROTO)
		leave_other_version(service);
	else if (result < 0)
		LEAVE(service, SERVICE_FAILED, "the service cannot be asked: %s",
		      errno_text(-result));
	return result == 1 ? 1 : 0;
}

#define WEAKER_TEXT "the service runs without cgroups, and --limits=fallback was not given here"

void service_check_limits(struct service *service, const struct ipc_status *status, uint32_t limits)
{
	if (service->state == SERVICE_HERE && status->limits != LIMITS_CGROUP &&
	    limits != LIMITS_FALLBACK)
		LEAVE(service, SERVICE_WEAKER, WEAKER_TEXT);
}

void service_leave_for(struct service *service, uint32_t reason)
{
	if (reason == CLIENT_END_FULL)
		LEAVE(service, SERVICE_FULL,
		      "the service already serves %d clients, which is the most: end one, "
		      "or use --standalone",
		      FRONTENDS_MAX);
	else if (reason == CLIENT_END_STOPPING)
		LEAVE(service, SERVICE_STOPPING, "the service is stopping: try again in a moment");
	else if (reason == CLIENT_END_UNFIT)
		LEAVE(service, SERVICE_UNFIT,
		      "the service cannot start: 'journalctl --user -u msp.service' says why");
	else if (reason == CLIENT_END_LIMITS)
		LEAVE(service, SERVICE_WEAKER, WEAKER_TEXT);
	else
		LEAVE(service, SERVICE_FAILED, "the service refused (%u)", reason);
}

void service_leave_unwelcomed(struct service *service, uint32_t reason, bool is_closed)
{
	if (reason)
		service_leave_for(service, reason);
	else if (is_closed)
		leave_other_version(service);
	else
		leave_silent(service);
}

void service_ask(struct service *service, struct ipc_status *ret)
{
	const struct channel channel = { service->fd, IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	static struct channel_message message;
	struct ipc_status_ask ask;

	if (service->state != SERVICE_HERE)
		return;
	memcpy(ask.schema, ipc_schema_hash, sizeof(ask.schema));
	/* A service that cannot be written to has said why, or shows it now. */
	(void)channel_send(&channel, IPC_TYPE_status_ask, &ask, NULL, 0);
	if (service_receive(service, &message) != 1)
		return;
	if (message.type == IPC_TYPE_status) {
		*ret = *ipc_body(&message, status);
	} else if (message.type == IPC_TYPE_client_end)
		service_leave_for(service, ipc_body(&message, client_end)->reason);
	else
		LEAVE(service, SERVICE_OTHER_VERSION, "the service answers what was not asked");
	channel_message_done(&message);
}

#define RELOAD_WAIT_US 3000000
#define RELOAD_STEP_NS 20000000

/* Ask the service that listens how it is; false: none does. */
static bool ask_once(const char *given, struct ipc_status *ret)
{
	struct service service = service_connect(given);

	service_ask(&service, ret);
	if (service.state != SERVICE_HERE)
		return false;
	fd_close(&service.fd);
	return true;
}

void service_reload(const char *given)
{
	const struct timespec step = { .tv_nsec = RELOAD_STEP_NS };
	const uint64_t end = clock_now_us() + RELOAD_WAIT_US;
	static struct ipc_status status;
	uint32_t generation;

	/* The listener is our user's, and only a process of that user can be meant. */
	if (!ask_once(given, &status) || status.pid <= 1 || kill((pid_t)status.pid, SIGHUP) != 0)
		return;
	generation = status.generation;
	while (status.generation == generation && !status.reload_failed && clock_now_us() < end) {
		(void)nanosleep(&step, NULL);
		if (!ask_once(given, &status))
			return;
	}
}
