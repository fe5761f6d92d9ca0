/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "executions/executions.h"
#include "frontend/nonblocking.h"
#include "http/http.h"
#include "lib/heap/memory.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"
#include "stdio_server.h"

/* Messages taken from the supervisor before other events have their turn. */
#define MESSAGES_PER_ROUND 64

/* Time to tell HTTP clients that the supervisor is gone. */
static const struct timeval last_words_time = { .tv_usec = 200000 };

struct server {
	struct event_base *base;
	struct stdio *stdio; /* one of these two serves clients */
	struct http *http;
	struct supervisor_client supervisor;
	struct event *supervisor_readable;
	struct event *supervisor_writable;
	struct host host;
	bool is_over;
	int exit_code;
};

static void on_library_log(int severity, const char *text)
{
	if (severity >= EVENT_LOG_WARN)
		log_line("%s", text);
}

struct event_base *server_base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (!config)
		return NULL;
	event_set_log_callback(on_library_log);
	/* one thread; environment variables have no effect */
	if (event_config_avoid_method(config, "select") == 0 &&
	    event_config_avoid_method(config, "poll") == 0 &&
	    event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static void finish_server(struct server *server, int exit_code)
{
	if (server->is_over)
		return;
	server->is_over = true;
	server->exit_code = exit_code;
	(void)event_del(server->supervisor_readable);
	(void)event_del(server->supervisor_writable);
	if (server->http) /* tell its clients about lost executions */
		(void)event_base_loopexit(server->base, &last_words_time);
	else
		(void)event_base_loopbreak(server->base);
}

/* The supervisor is gone or broke the protocol: every execution is dead or soon will be. Its client
 * is told of each, as far as it reads. */
static void lose_supervisor(struct server *server, const char *why)
{
	if (server->is_over)
		return;
	log_line("the supervisor %s", why);
	requests_lose(server->host.requests);
	executions_lose(server->host.executions);
	subscriptions_end(&server->host);
	finish_server(server, MSP_EXIT_SOFTWARE);
}

/* The only client has gone: end the broker, and with it everything that ran for the client. */
static void on_client_end(void *context)
{
	struct server *server = context;

	supervisor_goodbye(&server->supervisor);
	finish_server(server, 0);
}

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	struct server *server = context;

	host_take_welcome(&server->host, welcome, plan);
	if (server->http)
		http_open(server->http);
	else
		stdio_open(server->stdio);
}

static void on_policy(void *context, const struct ipc_policy_changed *changed, int plan)
{
	struct server *server = context;

	host_take_policy(&server->host, changed, plan);
}

static void require_asked(struct server *server, bool was_asked)
{
	if (!was_asked)
		lose_supervisor(server, "answered what was not asked");
}

static void on_refused(void *context, const struct ipc_execution_refused *refused)
{
	struct server *server = context;

	require_asked(server, requests_on(server->host.requests, ANSWER_REFUSED, refused, -1) ||
				      executions_on_refused(server->host.executions, refused));
}

static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	struct server *server = context;

	require_asked(server, executions_on_started(server->host.executions, started, fds));
}

static void on_tty(void *context, const struct ipc_execution_tty *tty, int terminal)
{
	struct server *server = context;

	require_asked(server, executions_on_tty(server->host.executions, tty, terminal));
}

static void on_extended(void *context, const struct ipc_execution_extended *extended)
{
	struct server *server = context;

	require_asked(server, executions_on_extended(server->host.executions, extended));
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	struct server *server = context;

	require_asked(server, executions_on_done(server->host.executions, done));
}

static void on_posture(void *context, const struct ipc_profile_posture *posture)
{
	struct server *server = context;

	posture_learn(&server->host.posture, posture->profile, &posture->posture);
}

/* An answer to a request about persistent sandboxes, without a descriptor. */
#define ON_ANSWER(handler, name, kind)                                                             \
	static void on_##handler(void *context, const struct ipc_##name *message)                  \
	{                                                                                          \
		struct server *server = context;                                                   \
                                                                                                   \
		require_asked(server, requests_on(server->host.requests, kind, message, -1));      \
	}
ON_ANSWER(sandbox, sandbox_info, ANSWER_SANDBOX)
ON_ANSWER(checkpoint, checkpoint_info, ANSWER_CHECKPOINT)
ON_ANSWER(request_done, request_done, ANSWER_DONE)
ON_ANSWER(changes_done, changes_done, ANSWER_CHANGES_DONE)

static void on_changes(void *context, const struct ipc_changes_started *started, int records)
{
	struct server *server = context;

	require_asked(server, requests_on(server->host.requests, ANSWER_CHANGES, started, records));
}

static void on_queued(void *context)
{
	struct server *server = context;

	if (event_add(server->supervisor_writable, NULL) != 0)
		give_up("watching the supervisor's channel");
}

static const struct supervisor_handlers supervisor_handlers = {
	.on_welcome = on_welcome,
	.on_policy = on_policy,
	.on_refused = on_refused,
	.on_started = on_started,
	.on_tty = on_tty,
	.on_extended = on_extended,
	.on_done = on_done,
	.on_posture = on_posture,
	.on_sandbox = on_sandbox,
	.on_checkpoint = on_checkpoint,
	.on_request_done = on_request_done,
	.on_changes = on_changes,
	.on_changes_done = on_changes_done,
	.on_queued = on_queued,
};

static void on_supervisor_readable(evutil_socket_t fd, short what, void *argument)
{
	struct server *server = argument;
	int result = 1;

	for (int i = 0; i < MESSAGES_PER_ROUND && result == 1 && !server->is_over; i++)
		result = supervisor_receive(&server->supervisor);
	if (result == -EPROTO)
		log_line("protocol error: %s", ipc_error_text(server->supervisor.error));
	if (result != 1 && result != -EAGAIN)
		lose_supervisor(server, result == 0 ? "is gone" : "broke the protocol");
}

static void on_supervisor_writable(evutil_socket_t fd, short what, void *argument)
{
	struct server *server = argument;

	if (supervisor_flush(&server->supervisor) != 0)
		lose_supervisor(server, "does not listen");
	else if (!supervisor_has_queued(&server->supervisor))
		(void)event_del(server->supervisor_writable);
}

static struct event *watch_event(struct server *server, int fd, short what, event_callback_fn call)
{
	struct event *event = event_new(server->base, fd, (short)(what | EV_PERSIST), call, server);

	if (!event)
		give_up("memory for events");
	return event;
}

static struct server *make_server(struct event_base *base, int channel)
{
	struct server *server = memory_get_zeroed(1, sizeof(*server));

	server->base = base;
	supervisor_client_init(&server->supervisor, channel, &supervisor_handlers, server);
	server->host.executions = executions_new(base, &server->supervisor);
	server->host.requests = requests_new(&server->supervisor);
	server->host.supervisor = &server->supervisor;
	server->host.base = base;
	server->host.catalog = &catalog;
	resource_log_watch(&server->host);
	resource_diff_watch(&server->host);
	server->supervisor_readable = watch_event(server, channel, EV_READ, on_supervisor_readable);
	server->supervisor_writable =
		watch_event(server, channel, EV_WRITE, on_supervisor_writable);
	if (fd_set_nonblocking(channel, true) != 0 ||
	    event_add(server->supervisor_readable, NULL) != 0)
		give_up("watching the supervisor's channel");
	/* The parent process has set the limits. */
	if (supervisor_hello(&server->supervisor, LIMITS_FALLBACK) != 0)
		lose_supervisor(server, "is gone");
	return server;
}

struct server *server_new(struct event_base *base, int in, int out, int channel)
{
	struct server *server = make_server(base, channel);

	server->stdio = stdio_new(&server->host, in, out, on_client_end, server);
	return server;
}

struct server *server_new_http(struct event_base *base, int listener, int tokens, int channel)
{
	struct server *server = make_server(base, channel);

	server->http = http_new(&server->host, listener, tokens);
	return server->http ? server : server_free(server);
}

struct server *server_free(struct server *server)
{
	if (!server)
		return NULL;
	server->stdio = stdio_free(server->stdio);
	server->http = http_free(server->http);
	host_done(&server->host);
	server->host.executions = executions_free(server->host.executions);
	server->host.requests = requests_free(server->host.requests);
	supervisor_client_done(&server->supervisor);
	event_free(server->supervisor_readable);
	event_free(server->supervisor_writable);
	free(server);
	return NULL;
}

int server_run(struct server *server)
{
	while (!server->is_over) {
		const int result = event_base_dispatch(server->base);

		if (result < 0) /* the library has reported the error */
			give_up("waiting for events");
		if (result > 0)
			bug("the event loop has nothing to wait for");
	}
	return server->exit_code;
}

bool server_is_over(const struct server *server)
{
	return server->is_over;
}
