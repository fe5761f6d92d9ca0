/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a proxy's answer, by a table and over sockets.
 */
#include "gateway/dial/proxy.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"

static const struct {
	const char *text;
	enum proxy_state state;
	const char *rest; /* the host's bytes */
} rows[] = {
	{ "HTTP/1.1 200 Connection established\r\n\r\n", PROXY_OPEN, "" },
	{ "HTTP/1.0 200 OK\r\nProxy-Agent: x/1.0\r\nVia:1.1 a\r\n\r\n", PROXY_OPEN, "" },
	{ "HTTP/1.1 200\r\n\r\nSSH-2.0-x\r\n", PROXY_OPEN, "SSH-2.0-x\r\n" },
	{ "HTTP/1.1 299 \r\nA:\r\nB: \xe4\t\r\n\r\n\r\n", PROXY_OPEN, "\r\n" },
	{ "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\nhello", PROXY_OPEN, "hello" },
	{ "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n<html>", PROXY_LOGIN, "<html>" },
	{ "HTTP/1.1 403 Forbidden\r\n\r\n", PROXY_REFUSED, "" },
	{ "HTTP/1.0 503 Service Unavailable\r\n\r\n", PROXY_REFUSED, "" },
	{ "HTTP/1.1 302 Found\r\nLocation: http://a.example/\r\n\r\n", PROXY_REFUSED, "" },
	{ "HTTP/1.1 999 x\r\n\r\n", PROXY_REFUSED, "" },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 000 x\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/2.0 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.x 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "http/1.1 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ " HTTP/1.1 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "\r\nHTTP/1.1 200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1  200 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 20 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 2000 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 +20 OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200OK\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\n\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\nA: b\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 O\x01K\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\n: b\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\nA\r\n\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\n\rA", PROXY_BROKEN, NULL },
	{ "SSH-2.0-x\r\n", PROXY_BROKEN, NULL },
	{ "HTTP/1.1 200 OK\r\nA: b\r\n", PROXY_WAITS, "" },
	{ "HTTP/1.1 200 OK\r\n\r", PROXY_WAITS, "" },
	{ "H", PROXY_WAITS, "" },
	{ "", PROXY_WAITS, "" },
};

Test(proxy, heads)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t size = strlen(rows[i].text);

		for (size_t part = 1; part <= size + 1; part += size > 0 ? size : 1) {
			struct proxy_answer answer = { .size = 0 };
			enum proxy_state state = PROXY_WAITS;
			size_t at = 0, used = 0;

			for (; at < size && state == PROXY_WAITS; at += used)
				state = proxy_read(&answer, rows[i].text + at,
						   part < size - at ? part : size - at, &used);
			cr_expect_eq(state, rows[i].state, "%zu: %s", i, rows[i].text);
			if (rows[i].rest != NULL)
				cr_expect_str_eq(rows[i].text + at, rows[i].rest, "%zu", i);
		}
	}
}

/* A head of `size` bytes; read in parts of 1000. */
static enum proxy_state read_long(size_t size)
{
	static const char first[] = "HTTP/1.1 200 ";
	char text[2 * PROXY_HEAD_MAX];
	struct proxy_answer answer = { .size = 0 };
	enum proxy_state state = PROXY_WAITS;

	memset(text, 'x', size);
	memcpy(text, first, sizeof(first) - 1);
	memcpy(text + size - 4, "\r\n\r\n", 4);
	for (size_t at = 0, used; at < size && state == PROXY_WAITS; at += used)
		state = proxy_read(&answer, text + at, size - at < 1000 ? size - at : 1000, &used);
	return state;
}

Test(proxy, the_longest_head)
{
	cr_expect_eq(read_long(PROXY_HEAD_MAX), PROXY_OPEN);
	cr_expect_eq(read_long(PROXY_HEAD_MAX + 1), PROXY_BROKEN);
}

static void send_text(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

Test(proxy, the_bytes_after_the_head_stay)
{
	struct proxy_answer answer = { .size = 0 };
	char text[256] = "";
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	cr_assert(proxy_ask(ends[0], "a.example", 443));
	cr_assert_gt(recv(ends[1], text, sizeof(text) - 1, 0), 0);
	cr_expect_str_eq(text, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_WAITS);
	send_text(ends[1], "HTTP/1.1 200 OK\r\nVia: b\r\n\r");
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_WAITS);
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_WAITS, "nothing is read twice");
	send_text(ends[1], "\nSSH-2.0-x\r\n");
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_OPEN);
	memset(text, 0, sizeof(text));
	cr_expect_eq(recv(ends[0], text, sizeof(text), MSG_DONTWAIT), 11);
	cr_expect_str_eq(text, "SSH-2.0-x\r\n");
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

Test(proxy, a_connection_that_ends)
{
	struct proxy_answer answer = { .size = 0 };
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	send_text(ends[1], "HTTP/1.1 200 OK\r\n");
	fd_close(&ends[1]);
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_WAITS);
	cr_expect_eq(proxy_receive(&answer, ends[0]), PROXY_BROKEN);
	cr_expect_not(proxy_ask(ends[0], "a.example", 443));
	fd_close(&ends[0]);
}
