/* SPDX-License-Identifier: Apache-2.0
 *
 * A legacy session's own stream: what is said when nobody listens, to a client that does not read,
 * and how long a session lives.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "frontend/supervisor_client.h"
#include "http/legacy.h"
#include "server.h"

#define HEAD                                                                                       \
	"Host: localhost\r\nContent-Type: application/json\r\n"                                    \
	"Accept: application/json, text/event-stream\r\n"
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

static struct event_base *base;
static struct supervisor_client supervisor;
static int supervisor_fds[2];
static struct host host;
static struct http *http;
static int listener;
static struct sockaddr_un address;
static socklen_t address_size;

static void turn(void)
{
	for (int i = 0; i < 20; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void open_server(void)
{
	static const struct supervisor_handlers handlers;

	(void)signal(SIGPIPE, SIG_IGN);
	base = server_base_new();
	cr_assert(base && http_prepare());
	cr_assert_eq(channel_pair(supervisor_fds), 0);
	supervisor_client_init(&supervisor, supervisor_fds[0], &handlers, NULL);
	host = (struct host){ .base = base, .catalog = &catalog };
	host.executions = executions_new(base, &supervisor);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	address.sun_family = AF_UNIX; /* the kernel finds a name */
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	address_size = sizeof(address);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &address_size), 0);
	cr_assert_eq(listen(listener, 10), 0);
	http = http_new(&host, listener, open("/dev/null", O_RDONLY));
	cr_assert_not_null(http);
	http_open(http);
}

static void close_server(void)
{
	http = http_free(http);
	host.executions = executions_free(host.executions);
	supervisor_client_done(&supervisor);
	event_base_free(base);
	fd_close_all(supervisor_fds, 2);
	fd_close(&listener);
}

TestSuite(http_streams, .init = open_server, .fini = close_server);

static int connect_client(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address, address_size), 0);
	turn();
	return fd;
}

/* What has come so far, in static storage, terminated; NULL: the end. */
static const char *receive(int fd)
{
	static char text[1 << 20];
	ssize_t size;

	turn();
	size = read(fd, text, sizeof(text) - 1);
	if (size == 0)
		return NULL;
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static void send_text(int fd, const char *text)
{
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	turn();
}

static struct legacy *new_session(void)
{
	const int fd = connect_client();
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "POST /mcp HTTP/1.1\r\n" HEAD "Content-Length: %zu\r\n\r\n%s",
		       strlen(INITIALIZE), INITIALIZE);
	send_text(fd, text);
	cr_assert_not_null(strstr(receive(fd), "HTTP/1.1 200 OK"));
	(void)close(fd);
	turn();
	cr_assert_not_null(http->sessions);
	return http->sessions;
}

static int listen_to(const struct legacy *legacy, const char *more)
{
	const int fd = connect_client();
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "GET /mcp HTTP/1.1\r\n" HEAD "Mcp-Session-Id: %s\r\n%s\r\n", legacy->id,
		       more);
	send_text(fd, text);
	return fd;
}

static void say(struct legacy *legacy, const char *text)
{
	struct buffer message = { 0 };

	buffer_append_text(&message, text);
	exchange_say(&legacy->channel, &message);
	buffer_done(&message);
}

Test(http_streams, what_nobody_heard_comes_first)
{
	struct legacy *legacy = new_session();
	const char *heard;
	int fd;

	say(legacy, "{\"first\":1}");
	fd = listen_to(legacy, "");
	heard = receive(fd);
	cr_assert_not_null(strstr(heard, "id: 0-0\ndata:\n\n"));
	cr_assert_not_null(strstr(heard, "id: 0-1\ndata: {\"first\":1}\n\n"));
	say(legacy, "{\"second\":2}");
	cr_assert_not_null(strstr(receive(fd), "id: 0-2\ndata: {\"second\":2}\n\n"));
	(void)close(fd);
	turn();
	cr_assert_null(legacy->listener);
	say(legacy, "{\"third\":3}");
	fd = listen_to(legacy, "");
	heard = receive(fd);
	cr_assert_null(strstr(heard, "second"), "it was heard");
	cr_assert_not_null(strstr(heard, "id: 0-3\n"));
	(void)close(fd);
	turn();
	fd = listen_to(legacy, "Last-Event-ID: 0-1\r\n");
	heard = receive(fd);
	cr_assert_null(strstr(heard, "first"));
	cr_assert_not_null(strstr(heard, "second"));
	cr_assert_not_null(strstr(heard, "third"));
	(void)close(fd);
}

Test(http_streams, a_client_that_does_not_read_is_left)
{
	struct legacy *legacy = new_session();
	const int fd = listen_to(legacy, "");
	static char text[8000];
	unsigned int said = 0;

	memset(text, 'x', sizeof(text) - 1);
	cr_assert_not(exchange_is_behind(&legacy->channel));
	while (legacy->listener && said < 2000) {
		say(legacy, text);
		said++;
		if (said == 100) /* more than the socket takes */
			cr_assert(exchange_is_behind(&legacy->channel));
		if (said % 16 == 0)
			turn();
	}
	turn();
	cr_assert_null(legacy->listener, "it was left");
	cr_assert_gt(said, 400, "4 MiB may wait");
	cr_assert_leq(legacy->replay.bytes, REPLAY_BYTES_MAX);
	cr_assert_null(connection_next(&http->connections, NULL));
	(void)close(fd);
}

Test(http_streams, sessions_end_when_idle_for_long)
{
	struct legacy *legacy = new_session();
	const int fd = listen_to(legacy, "");

	legacy->used_ms -= (int64_t)31 * 60 * 1000;
	legacy_sweep(http);
	cr_assert_eq(http->sessions, legacy, "somebody listens");
	(void)close(fd);
	turn();
	legacy_sweep(http);
	cr_assert_eq(http->sessions, legacy, "it was of use a moment ago");
	legacy->used_ms -= (int64_t)31 * 60 * 1000;
	legacy_sweep(http);
	cr_assert_null(http->sessions);
	cr_assert_null(host.sessions);
}

Test(http_streams, the_end_of_the_server_ends_everything)
{
	struct legacy *legacy = new_session();
	const int fd = listen_to(legacy, "");

	cr_assert_not_null(receive(fd));
	http = http_free(http);
	cr_assert_null(host.sessions);
	while (receive(fd))
		continue;
	(void)close(fd);
}
