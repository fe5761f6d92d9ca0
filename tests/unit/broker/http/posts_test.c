/* SPDX-License-Identifier: Apache-2.0
 *
 * POSTs and the ends of their connections at every moment, in a whole broker whose supervisor is
 * the test: what must be cancelled is, what must survive does, and nothing is used after its end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/text/names.h"
#include "http/http.h"
#include "rig.h"

#define HEAD                                                                                       \
	"Host: localhost\r\nContent-Type: application/json\r\n"                                    \
	"Accept: application/json, text/event-stream\r\n"
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define CALL                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"            \
	"\"run_command\",\"arguments\":{\"command\":\"true\"}%s}}"
#define META                                                                                       \
	",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                  \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN                                                                                     \
	"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: run_command\r\n"

#define BEYOND_PLAIN_MS 1300

static struct rig rig;
static struct sockaddr_un address;
static socklen_t address_size;
static int null = -1;
static char received[1 << 20];

static void open_web(void)
{
	int channel[2];

	(void)signal(SIGPIPE, SIG_IGN);
	memset(&rig, 0, sizeof(rig));
	rig.client_in = rig.client_out = rig.broker_out = -1;
	rig.line = malloc(1);
	rig.pending = malloc(1);
	rig.base = server_base_new();
	cr_assert(rig.base && http_prepare());
	cr_assert_eq(channel_pair(channel), 0);
	rig.broker_channel = channel[1];
	rig.supervisor = (struct channel){ channel[0], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	rig.broker_in = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	address.sun_family = AF_UNIX; /* the kernel finds a name */
	cr_assert_eq(bind(rig.broker_in, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	address_size = sizeof(address);
	cr_assert_eq(getsockname(rig.broker_in, (struct sockaddr *)&address, &address_size), 0);
	cr_assert_eq(listen(rig.broker_in, 10), 0);
	null = open("/dev/null", O_RDONLY);
	rig.server = server_new_http(rig.base, rig.broker_in, null, channel[1]);
	cr_assert_not_null(rig.server);
	(void)rig_take(&rig, IPC_TYPE_hello);
	rig_welcome(&rig);
}

static void close_web(void)
{
	rig_close(&rig);
	fd_close(&null);
}

TestSuite(http_posts, .init = open_web, .fini = close_web);

static int connect_client(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address, address_size), 0);
	rig_turn(&rig);
	return fd;
}

static void send_bytes(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t sent = write(fd, bytes, size);

		rig_turn(&rig);
		if (sent < 0 && errno != EAGAIN)
			return; /* refused meanwhile */
		bytes += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	rig_turn(&rig);
}

static void post(int fd, const char *headers, const char *body)
{
	char head[1024];

	(void)snprintf(head, sizeof(head),
		       "POST /mcp HTTP/1.1\r\n" HEAD "%sContent-Length: %zu\r\n\r\n", headers,
		       strlen(body));
	send_bytes(fd, head, strlen(head));
	send_bytes(fd, body, strlen(body));
}

/* What has come so far; NULL: the end. */
static const char *hear(int fd)
{
	ssize_t size;

	rig_turn(&rig);
	size = read(fd, received, sizeof(received) - 1);
	if (size == 0 || (size < 0 && errno != EAGAIN))
		return NULL;
	received[size > 0 ? size : 0] = '\0';
	return received;
}

static void hang_up(int fd)
{
	(void)close(fd);
	rig_turn(&rig);
}

static void wait_ms(int ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < ms / 10; i++) {
		(void)nanosleep(&pause, NULL);
		rig_turn(&rig);
	}
}

/* A session; the header that names it, in static storage. */
static const char *begin(void)
{
	static char header[128];
	const int fd = connect_client();
	const char *found;

	post(fd, "", INITIALIZE);
	found = strstr(hear(fd), "Mcp-Session-Id: ");
	cr_assert_not_null(found);
	(void)snprintf(header, sizeof(header), "%.*s\r\n", (int)strcspn(found, "\r"), found);
	hang_up(fd);
	return header;
}

static struct rig_workload call(int fd, const char *headers, const char *meta)
{
	char body[512];

	(void)snprintf(body, sizeof(body), CALL, meta);
	post(fd, headers, body);
	return rig_start(&rig, rig_body(&rig, execution_start)->request);
}

static void finish(struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_EXITED };

	cr_assert_eq(write(workload->out, "printed", 7), 7);
	rig_workload_end(workload);
	rig_done(&rig, &done);
}

/* The broker has it ended, and no longer reads it. */
static void expect_cancelled(struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_CANCELLED };

	cr_assert_eq(rig_body(&rig, execution_end)->request, workload->request);
	rig_workload_end(workload);
	rig_done(&rig, &done);
}

Test(http_posts, answered)
{
	const int fd = connect_client();
	struct rig_workload workload = call(fd, MODERN, META);

	cr_assert_str_empty(hear(fd));
	finish(&workload);
	expect_part(hear(fd), "printed");
	expect_part(received, "application/json");
	workload = call(fd, MODERN, META); /* on the same connection */
	finish(&workload);
	expect_part(hear(fd), "printed");
	hang_up(fd);
}

Test(http_posts, the_end_of_a_pending_modern_one_cancels)
{
	const int fd = connect_client();
	struct rig_workload workload = call(fd, MODERN, META);

	rig_take_nothing(&rig);
	hang_up(fd);
	expect_cancelled(&workload);
}

Test(http_posts, the_end_of_a_modern_stream_cancels)
{
	const int fd = connect_client();
	struct rig_workload workload = call(fd, MODERN, META);

	wait_ms(BEYOND_PLAIN_MS);
	expect_part(hear(fd), "text/event-stream");
	hang_up(fd);
	expect_cancelled(&workload);
}

Test(http_posts, the_end_of_a_pending_legacy_one_cancels_nothing)
{
	const char *session = begin();
	int fd = connect_client();
	struct rig_workload workload = call(fd, session, "");
	char get[512];

	hang_up(fd);
	rig_take_nothing(&rig);
	finish(&workload);
	fd = connect_client();
	(void)snprintf(get, sizeof(get),
		       "GET /mcp HTTP/1.1\r\n" HEAD "%sLast-Event-ID: 1-0\r\n\r\n", session);
	send_bytes(fd, get, strlen(get));
	expect_part(hear(fd), "id: 1-1\ndata: {");
	expect_part(received, "printed");
	expect_part(received, "\r\n0\r\n\r\n");
	hang_up(fd);
}

Test(http_posts, a_legacy_stream_is_taken_up_again)
{
	const char *session = begin();
	const int first = connect_client();
	struct rig_workload workload = call(first, session, "");
	int second;
	char get[512];

	wait_ms(BEYOND_PLAIN_MS);
	expect_part(hear(first), "id: 1-0\ndata:\n\n");
	(void)snprintf(get, sizeof(get),
		       "GET /mcp HTTP/1.1\r\n" HEAD "%sLast-Event-ID: 1-0\r\n\r\n", session);
	second = connect_client(); /* the first one is open still */
	send_bytes(second, get, strlen(get));
	expect_part(hear(second), "200 OK");
	cr_assert_null(hear(first), "it has been left");
	finish(&workload);
	expect_part(hear(second), "printed");
	hang_up(first);
	hang_up(second);
}

Test(http_posts, deleting_a_session_ends_what_is_pending)
{
	const char *session = begin();
	const int pending = connect_client(), other = connect_client();
	struct rig_workload workload = call(pending, session, "");
	char text[512];

	(void)snprintf(text, sizeof(text), "DELETE /mcp HTTP/1.1\r\n" HEAD "%s\r\n", session);
	send_bytes(other, text, strlen(text));
	expect_part(hear(other), "204");
	expect_cancelled(&workload);
	expect_part(hear(pending), "202");
	hang_up(pending);
	hang_up(other);
}

Test(http_posts, too_much_early_is_an_end)
{
	static char junk[100000];
	const int fd = connect_client();
	struct rig_workload workload = call(fd, MODERN, META);

	memset(junk, 'x', sizeof(junk));
	send_bytes(fd, junk, sizeof(junk));
	expect_cancelled(&workload);
	cr_assert_null(hear(fd));
	hang_up(fd);
}

Test(http_posts, too_long_a_body_is_refused_and_thrown_away)
{
	static char spaces[6 << 20];
	const int fd = connect_client();
	const char *head = "POST /mcp HTTP/1.1\r\n" HEAD "Content-Length: 6291456\r\n\r\n";

	memset(spaces, ' ', sizeof(spaces));
	send_bytes(fd, head, strlen(head));
	send_bytes(fd, spaces, sizeof(spaces));
	expect_part(hear(fd), "413 Content Too Large");
	hang_up(fd);
}

Test(http_posts, ends_at_every_byte)
{
	char body[512], text[1024];

	(void)snprintf(body, sizeof(body), CALL, META);
	(void)snprintf(text, sizeof(text),
		       "POST /mcp HTTP/1.1\r\n" HEAD MODERN "Content-Length: %zu\r\n\r\n%s",
		       strlen(body), body);
	for (size_t size = 0; size < strlen(text); size++) {
		const int fd = connect_client();

		send_bytes(fd, text, size);
		hang_up(fd);
	}
	rig_take_nothing(&rig);
}

Test(http_posts, the_server_ends_in_the_middle)
{
	const char *session = begin();
	const int pending = connect_client(), streaming = connect_client();
	const int half = connect_client();
	struct rig_workload first = call(pending, session, "");
	struct rig_workload second = call(streaming, MODERN, META);

	wait_ms(BEYOND_PLAIN_MS);
	send_bytes(half, "POST /mcp HTTP/1.1\r\nHos", 23);
	rig.server = server_free(rig.server);
	rig_workload_end(&first);
	rig_workload_end(&second);
	(void)close(pending);
	(void)close(streaming);
	(void)close(half);
}

Test(http_posts, the_supervisor_ends)
{
	const int fd = connect_client();
	struct rig_workload workload = call(fd, MODERN, META);

	fd_close(&rig.supervisor.fd);
	rig_turn(&rig);
	cr_assert(server_is_over(rig.server));
	wait_ms(50);
	expect_part(hear(fd), "\"id\":7");
	rig_workload_end(&workload);
	hang_up(fd);
}

/* Requests with a few bytes changed, left out or put in, in pieces: whatever comes back, the next
 * good one is served. */
Test(http_posts, spoiled_requests)
{
	static const char spoil[] = "\r\n :;,?/=\0\t\"{}[]x0-\xff%";
	const char *body = INITIALIZE;
	char good[1024], text[1100];
	uint64_t random = 88172645463325252U; /* the same each time */
	size_t size;

	for (int round = 0; round < 3000; round++) {
		const int fd = connect_client();

		(void)snprintf(good, sizeof(good),
			       "POST /mcp HTTP/1.1\r\n" HEAD "%sContent-Length: %zu\r\n\r\n%s",
			       round % 2 ? "" : "Transfer-Encoding: chunked\r\n", strlen(body),
			       body);
		size = strlen(good);
		memcpy(text, good, size);
		for (int i = 0; i < 1 + round % 4; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			const size_t at = random % size;
			const char with = spoil[random / 1024 % sizeof(spoil)];

			if (random / 65536 % 3 == 0) {
				memmove(text + at, text + at + 1, size - at - 1);
				size--;
			} else if (random / 65536 % 3 == 1) {
				memmove(text + at + 1, text + at, size - at);
				text[at] = with;
				size++;
			} else {
				text[at] = with;
			}
		}
		send_bytes(fd, text, size / 2);
		send_bytes(fd, text + size / 2, size - size / 2);
		if (round % 3)
			(void)hear(fd);
		hang_up(fd);
	}
	(void)begin();
}
