/* SPDX-License-Identifier: Apache-2.0 */
#include "front/service.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/audit.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/log.h"
#include "run/posture.h"
#include "run/sandbox.h"

/* Pause after the system refused a connection: the socket stays readable, and asking at once again
 * would be a busy loop. */
#define PAUSE_US 100000
#define SIGN_LEAST_US 1000

static struct service service = { -1, -1, 0 };
static struct loop_watch listen_watch;
static frontend_callback *on_frontend;
static uint64_t sign_due_us = UINT64_MAX, listen_due_us = UINT64_MAX;
static uint64_t opened_us;

/* The manager's protocol, sd_notify(3): one datagram with lines of NAME=VALUE. */
static void notify_manager(const char *text)
{
	/* A manager that does not listen ends us by its watchdog. */
	if (service.notify >= 0 && write(service.notify, text, strlen(text)) < 0)
		log_line("the service manager cannot be told %s: %s", text, errno_text(errno));
}

/* The socket's folder is the user's alone; this is the second check, and the one that counts. */
static bool is_same_user(int fd, struct ucred *ret_peer)
{
	socklen_t size = sizeof(*ret_peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) == 0 &&
	       ret_peer->uid == supervisor.uid;
}

static void on_connection(void *context)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	int fd FD_OWNED = accept4(service.listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		log_line("no client can connect now: %s", errno_text(errno));
		loop_remove(&listen_watch);
		listen_due_us = clock_now_us() + PAUSE_US;
	}
	if (fd < 0) /* or it went again before we looked */
		return;
	if (!is_same_user(fd, &peer)) {
		log_line("a connection of another user was refused");
		audit_stranger(peer.uid);
	} else if (frontend_count(true) == FRONTENDS_MAX) {
		const struct channel client = { fd, IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };

		frontend_tell_client_end(&client, CLIENT_END_FULL);
	} else {
		/* A refused connection is closed, which tells its client. */
		(void)frontend_add(fd_take(&fd), true, on_frontend);
	}
}

int service_open(const struct service *from, frontend_callback *on_message)
{
	service = *from;
	on_frontend = on_message;
	opened_us = clock_now_us();
	return service.listener < 0
		       ? 0
		       : loop_add(&listen_watch, service.listener, on_connection, NULL);
}

/* Half of what the manager waits, as sd_watchdog_enabled(3) advises; never so often that nothing
 * else is done. */
static uint64_t sign_interval_us(void)
{
	return service.watchdog_us / 2 > SIGN_LEAST_US ? service.watchdog_us / 2 : SIGN_LEAST_US;
}

void service_tell_ready(void)
{
	notify_manager("READY=1");
	if (service.watchdog_us > 0)
		sign_due_us = clock_now_us() + sign_interval_us();
}

void service_tell_stopping(void)
{
	loop_remove(&listen_watch);
	notify_manager("STOPPING=1");
}

uint64_t service_deadline_us(void)
{
	return sign_due_us < listen_due_us ? sign_due_us : listen_due_us;
}

void service_tick(void)
{
	const uint64_t now = clock_now_us();

	if (sign_due_us <= now) {
		notify_manager("WATCHDOG=1");
		sign_due_us = now + sign_interval_us();
	}
	if (listen_due_us <= now)
		listen_due_us = loop_add(&listen_watch, service.listener, on_connection, NULL) == 0
					? UINT64_MAX
					: now + PAUSE_US;
}

void service_status(struct ipc_status *ret)
{
	*ret = (struct ipc_status){
		.pid = supervisor.pid,
		.landlock_abi = (uint32_t)supervisor.landlock_abi,
		.limits = supervisor.limits,
		.clients = frontend_count(false),
		.clients_max = FRONTENDS_MAX,
		.executions = supervisor.executions_live,
		.executions_max = supervisor.executions_max,
		.executions_started = supervisor.executions_started,
		.executions_refused = supervisor.executions_refused,
		.memory_bytes = sandbox_memory_used(),
		.memory_max_bytes = supervisor.memory_bytes,
		.generation = supervisor.generation,
		.reload_failed = supervisor.is_reload_failed,
		.is_offline = supervisor.is_offline,
		.uptime_us = clock_now_us() - opened_us,
		.posture = *posture_default(),
	};
}
