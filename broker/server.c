/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "client.h"
#include "common/fd.h"
#include "common/log.h"
#include "executions.h"
#include "mcp/session.h"
#include "mcp/subscriptions.h"
#include "memory.h"

/* Messages taken from the supervisor before others have their turn. */
#define MESSAGES_PER_ROUND 64

struct server {
	struct event_base *base;
	struct client *client;
	struct supervisor_client supervisor;
	struct event *supervisor_readable;
	struct event *supervisor_writable;
	struct host host;
	struct exchange client_exchange; /* every message of the client belongs to it */
	struct session session;
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
	/* one thread; an inherited environment has no say */
	if (event_config_avoid_method(config, "select") == 0 &&
	    event_config_avoid_method(config, "poll") == 0 &&
	    event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static void finish(struct server *server, int exit_code)
{
	if (server->is_over)
		return;
	server->is_over = true;
	server->exit_code = exit_code;
	(void)event_del(server->supervisor_readable);
	(void)event_del(server->supervisor_writable);
	(void)event_base_loopbreak(server->base);
}

/* A supervisor that is gone or confused: whatever ran is dead or soon will be. Its client hears of
 * each, as far as it reads. */
static void lose_supervisor(struct server *server, const char *why)
{
	if (server->is_over)
		return;
	log_line("the supervisor %s", why);
	executions_lose(server->host.executions);
	subscriptions_end(&server->host);
	finish(server, MSP_EXIT_SOFTWARE);
}

static void on_line(void *context, char *line, size_t size)
{
	struct server *server = context;

	session_take_text(&server->session, &server->client_exchange, line, size);
}

static void on_long_line(void *context)
{
	struct server *server = context;

	session_refuse_long(&server->client_exchange);
}

static void on_client_end(void *context)
{
	struct server *server = context;

	supervisor_goodbye(&server->supervisor);
	finish(server, 0); /* our end is the end of everything that ran for this client */
}

static const struct client_handlers client_handlers = {
	.on_line = on_line,
	.on_long_line = on_long_line,
	.on_end = on_client_end,
};

static struct server *server_of(struct exchange *exchange)
{
	return (struct server *)(void *)((char *)exchange -
					 offsetof(struct server, client_exchange));
}

static void say_to_client(struct exchange *exchange, const struct buffer *line)
{
	client_send(server_of(exchange)->client, line);
}

static void answer_client(struct exchange *exchange, const struct buffer *line, int code)
{
	(void)code;
	client_send(server_of(exchange)->client, line);
}

static bool is_client_behind(const struct exchange *exchange)
{
	const struct server *server =
		(const struct server *)(const void *)((const char *)exchange -
						      offsetof(struct server, client_exchange));

	return client_is_behind(server->client);
}

static void never_done(struct exchange *exchange)
{
	(void)exchange;
	bug("the client's exchange ends with the server");
}

static const struct exchange_kind client_exchange = { say_to_client, answer_client, never_done };

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	struct server *server = context;

	host_take_welcome(&server->host, welcome, plan);
	client_open(server->client);
}

static void require_asked(struct server *server, bool was_asked)
{
	if (!was_asked)
		lose_supervisor(server, "answered what was not asked");
}

static void on_refused(void *context, const struct ipc_execution_refused *refused)
{
	struct server *server = context;

	require_asked(server, executions_on_refused(server->host.executions, refused));
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

static void on_done(void *context, const struct ipc_execution_done *done)
{
	struct server *server = context;

	require_asked(server, executions_on_done(server->host.executions, done));
}

static const struct supervisor_handlers supervisor_handlers = {
	.on_welcome = on_welcome,
	.on_refused = on_refused,
	.on_started = on_started,
	.on_tty = on_tty,
	.on_done = on_done,
};

static void on_supervisor_readable(evutil_socket_t fd, short what, void *argument)
{
	struct server *server = argument;
	int result = 1;

	(void)fd;
	(void)what;
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

	(void)fd;
	(void)what;
	if (supervisor_flush(&server->supervisor) != 0)
		lose_supervisor(server, "does not listen");
	else if (!supervisor_has_queued(&server->supervisor))
		(void)event_del(server->supervisor_writable);
}

static void on_queued(void *context)
{
	struct server *server = context;

	if (event_add(server->supervisor_writable, NULL) != 0)
		give_up("watching the supervisor's channel");
}

static struct event *watch(struct server *server, int fd, short what, event_callback_fn call)
{
	struct event *event = event_new(server->base, fd, (short)(what | EV_PERSIST), call, server);

	if (!event)
		give_up("memory for events");
	return event;
}

struct server *server_new(struct event_base *base, int in, int out, int channel)
{
	struct server *server = memory_get_zeroed(1, sizeof(*server));

	server->base = base;
	supervisor_client_init(&server->supervisor, channel, &supervisor_handlers, server);
	server->host.executions = executions_new(base, &server->supervisor, on_queued, server);
	server->host.base = base;
	server->host.catalog = &catalog;
	exchange_init(&server->client_exchange, &client_exchange);
	server->client_exchange.is_behind = is_client_behind;
	session_init(&server->session, &server->host, 0, &server->client_exchange);
	server->client = client_new(base, in, out, &client_handlers, server);
	server->supervisor_readable = watch(server, channel, EV_READ, on_supervisor_readable);
	server->supervisor_writable = watch(server, channel, EV_WRITE, on_supervisor_writable);
	if (fd_set_nonblocking(channel, true) != 0 ||
	    event_add(server->supervisor_readable, NULL) != 0)
		give_up("watching the supervisor's channel");
	if (supervisor_hello(&server->supervisor) != 0)
		lose_supervisor(server, "is gone");
	return server;
}

struct server *server_free(struct server *server)
{
	if (!server)
		return NULL;
	session_done(&server->session);
	host_done(&server->host);
	server->host.executions = executions_free(server->host.executions);
	server->client = client_free(server->client);
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

		if (result < 0) /* the library has said why */
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
