/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/hand_over.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "launcher/start/bridge_program.h"
#include "launcher/start/config.h"

/* A service that stops has its brokers say what they still have to, and ends; it gives itself
 * 150 ms to end what runs. */
#define LAST_WORDS_MS 1000

static struct channel_message message;

/* The signals that end msp must do so, whatever the client left blocked: the end of the connection
 * has the service kill what runs for this client. */
static void unblock_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* cannot fail with these arguments */
}

static int serve_alone(const char *text)
{
	return log_fail(HAND_OVER_NOT, "serve: %s; this client gets a supervisor of its own", text);
}

static int explain_end(uint32_t reason)
{
	switch (reason) {
	case CLIENT_END_DONE:
		return 0;
	case CLIENT_END_FAILED:
		return log_fail(MSP_EXIT_SOFTWARE,
				"serve: the service could not serve this client: 'journalctl "
				"--user -u msp.service' says why");
	case CLIENT_END_STOPPING:
		return log_fail(MSP_EXIT_AGAIN, "serve: the service stops, and what ran for this "
						"client was ended: start this server again");
	default:
		return log_fail(MSP_EXIT_SOFTWARE,
				"serve: the service ended this client for an unknown reason");
	}
}

/* Until nobody holds the other end: then the client has heard all that there is. */
static void await_last_words(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLRDHUP };

	while (poll(&entry, 1, LAST_WORDS_MS) < 0 && errno == EINTR)
		;
}

/* The service may have no network of the host, and its client's msp has. */
static void host_bridge(void)
{
	const struct ipc_client_bridge *bridge = ipc_body(&message, client_bridge);

	bridge_program_host(bridge->port, bridge->host_port, message.fds[0]);
	channel_message_done(&message);
}

/* The client's streams are the broker's: while we held them it could not see their end. */
static int await_end(struct service *service, int null)
{
	const struct timeval never = { 0 };
	bool is_said, is_bridge;
	int code;

	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    setsockopt(service->fd, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never)) != 0)
		return log_fail(MSP_EXIT_SOFTWARE, "serve: %s", errno_text(errno));
	do {
		is_said = service_receive(service, &message) == 1;
		is_bridge = is_said && message.type == IPC_TYPE_client_bridge;
		if (is_bridge)
			host_bridge();
	} while (is_bridge);
	if (!is_said)
		return log_fail(MSP_EXIT_AGAIN,
				"serve: the service ended without a word, and what ran for this "
				"client with it: start this server again");
	code = message.type == IPC_TYPE_client_end
		       ? explain_end(ipc_body(&message, client_end)->reason)
		       : log_fail(MSP_EXIT_SOFTWARE, "serve: the service says what it must not");
	channel_message_done(&message);
	if (code == MSP_EXIT_AGAIN)
		await_last_words(service->fd);
	fd_close(&service->fd);
	return code;
}

/* Stop waiting. The service may take the client at that moment, and then nobody else must serve it:
 * after the shutdown nothing more can come, so what is there now is all. */
static int leave_silent(struct service *service)
{
	(void)shutdown(service->fd, SHUT_RDWR); /* the worst of it: the connection is gone */
	if (service_receive(service, &message) == 1) {
		channel_message_done(&message);
		fd_close(&service->fd);
		return log_fail(
			MSP_EXIT_AGAIN,
			"serve: the service took this client too late: start this server again");
	}
	return serve_alone("the service does not answer ('systemctl --user restart msp.service' "
			   "may help)");
}

static bool is_silent(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	int ready;

	do {
		ready = poll(&entry, 1, SERVICE_ANSWER_MS);
	} while (ready < 0 && errno == EINTR);
	return ready <= 0;
}

/* The client's descriptors go to nobody who has not shown that it lives and is of this version: in
 * the queue of one that hangs they would stay open, and the client would never see its end. 0, or
 * an exit code; whether the service is still here is another question. */
static int examine_service(struct service *service, struct config *config, uint32_t *limits)
{
	struct ipc_status status = { 0 };
	char text[CONFIG_TEXT_MAX];
	int code = 0;

	service_ask(service, &status);
	/* The configuration's limits matter only for a service with weaker ones. */
	if (status.limits != LIMITS_CGROUP && *limits == LIMITS_UNSAID)
		code = config_read(config, text);
	if (code)
		return log_fail(code, "serve: %s", text);
	*limits = config_limits(config, *limits);
	service_check_limits(service, &status, *limits);
	return 0;
}

static int not_fit(const struct service *service)
{
	if (service->state == SERVICE_FULL || service->state == SERVICE_STOPPING)
		return log_fail(MSP_EXIT_AGAIN, "serve: %s", service->text);
	return serve_alone(service->text);
}

/* Before the client itself. One that cannot be written to has said why, or shows it later. */
static void send_workspaces(const struct channel *channel, const struct workspaces *workspaces)
{
	const struct ipc_client_workspace said = { .is_start = workspaces->is_start };

	for (uint32_t i = 0; i < workspaces->count; i++)
		(void)channel_send(channel, IPC_TYPE_client_workspace, &said, &workspaces->list[i],
				   0);
}

int hand_over(struct service *service, struct config *config, uint32_t limits,
	      const struct workspaces *workspaces, int null)
{
	static const int stdio[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	const struct channel channel = { service->fd, IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	struct ipc_client_start start = { 0 };
	int code;

	unblock_signals();
	code = examine_service(service, config, &limits);
	if (code)
		return code;
	if (service->state != SERVICE_HERE)
		return not_fit(service);
	start.limits = limits;
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	send_workspaces(&channel, workspaces);
	/* A service that cannot be written to has said why, or shows it now. */
	(void)channel_send(&channel, IPC_TYPE_client_start, &start, stdio, 0);
	if (is_silent(service->fd))
		return leave_silent(service);
	if (service_receive(service, &message) != 1)
		return serve_alone(service->text);
	if (message.type == IPC_TYPE_client_started)
		return await_end(service, null);
	if (message.type == IPC_TYPE_client_end) {
		service_leave_for(service, ipc_body(&message, client_end)->reason);
		return not_fit(service);
	}
	channel_message_done(&message);
	fd_close(&service->fd);
	return serve_alone("the service answers what was not asked");
}
