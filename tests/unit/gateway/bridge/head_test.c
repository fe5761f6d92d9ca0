/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request: which Host and page are this machine's, where the next one begins, and
 * bytes that are no request of a browser.
 */
#include "gateway/bridge/head.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define PORT 7000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t found; /* the size of the last request */

static enum head_verdict judge_bytes(const char *bytes, size_t size, bool is_end, uint16_t port)
{
	return head_judge((const uint8_t *)bytes, size, is_end, port, &found);
}

static enum head_verdict judge(const char *text)
{
	return judge_bytes(text, strlen(text), false, PORT);
}

static enum head_verdict judge_fields(const char *fields)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n\r\n", fields);
	return judge(text);
}

Test(head, hosts)
{
	static const struct {
		const char *host;
		enum head_verdict verdict;
	} hosts[] = {
		{ "127.0.0.1:7000", HEAD_FINE },
		{ "localhost:7000", HEAD_FINE },
		{ "LocalHost:7000", HEAD_FINE },
		{ "[::1]:7000", HEAD_FINE },
		{ "  127.0.0.1:7000\t ", HEAD_FINE },
		{ "127.0.0.1", HEAD_HOST },
		{ "127.0.0.1:7001", HEAD_HOST },
		{ "127.0.0.1:07000", HEAD_FINE },
		{ "127.0.0.1:70000", HEAD_HOST },
		{ "127.0.0.1:007000", HEAD_HOST },
		{ "127.0.0.1:", HEAD_HOST },
		{ "127.0.0.1:7000x", HEAD_HOST },
		{ "127.0.0.1:7000, evil.example", HEAD_HOST },
		{ "evil.example:7000", HEAD_HOST },
		{ "localhost.evil.example:7000", HEAD_HOST },
		{ "127.0.0.1.evil.example:7000", HEAD_HOST },
		{ "evil.localhost:7000", HEAD_HOST },
		{ "localhost.:7000", HEAD_HOST },
		{ "127.0.0.2:7000", HEAD_HOST },
		{ "0.0.0.0:7000", HEAD_HOST },
		{ "user@127.0.0.1:7000", HEAD_HOST },
		{ "", HEAD_HOST },
	};
	char field[128];

	for (size_t i = 0; i < COUNT(hosts); i++) {
		(void)snprintf(field, sizeof(field), "Host: %s", hosts[i].host);
		cr_expect_eq(judge_fields(field), hosts[i].verdict, "%s", field);
	}
}

Test(head, without_a_port_it_is_that_of_http)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

	cr_expect_eq(judge_bytes(text, sizeof(text) - 1, false, 80), HEAD_FINE);
	cr_expect_eq(judge_bytes(text, sizeof(text) - 1, false, 8080), HEAD_HOST);
}

Test(head, origins)
{
	static const struct {
		const char *origin;
		enum head_verdict verdict;
	} origins[] = {
		{ "http://127.0.0.1:7000", HEAD_FINE },
		{ "http://localhost:5173", HEAD_FINE },
		{ "https://localhost", HEAD_FINE },
		{ "http://[::1]:7000", HEAD_FINE },
		{ "null", HEAD_ORIGIN },
		{ "https://evil.example", HEAD_ORIGIN },
		{ "http://localhost.evil", HEAD_ORIGIN },
		{ "http://127.0.0.1:7000@evil", HEAD_ORIGIN },
		{ "file://", HEAD_ORIGIN },
		{ "", HEAD_ORIGIN },
	};
	char field[128];

	for (size_t i = 0; i < COUNT(origins); i++) {
		(void)snprintf(field, sizeof(field), "Host: localhost:7000\r\nOrigin: %s",
			       origins[i].origin);
		cr_expect_eq(judge_fields(field), origins[i].verdict, "%s", field);
	}
	/* The Host is named first. */
	cr_expect_eq(judge_fields("Origin: https://evil.example\r\nHost: evil.example"), HEAD_HOST);
	/* One fine field does not undo another one. */
	cr_expect_eq(judge_fields("Host: localhost:7000\r\nOrigin: https://evil.example\r\n"
				  "Origin: http://localhost:7000"),
		     HEAD_ORIGIN);
}

Test(head, fields_that_servers_read_in_different_ways)
{
	static const char *const fields[] = {
		"Host: localhost:7000\r\nHost: localhost:7000",
		"Host: localhost:7000\r\nhost: evil.example",
		"Host : localhost:7000",
		" Host: localhost:7000",
		"X: y\r\n Host: localhost:7000",
		"Host: localhost:7000\r\nno field",
		"Host: localhost:7000\r\n: empty",
		"Host: localhost:7000\r\nX: a\rb",
		"Host: localhost:7000\r\nX: a\001b",
		"X: y",
	};

	for (size_t i = 0; i < COUNT(fields); i++)
		cr_expect_eq(judge_fields(fields[i]), HEAD_BAD, "%s", fields[i]);
	cr_expect_eq(judge("GET / HTTP/1.0\r\n\r\n"), HEAD_BAD);
}

Test(head, any_method_is_a_request)
{
	static const char *const methods[] = { "GET", "OPTIONS", "get", "SSH-2.0", "*x!", "PRI" };
	char text[128];

	for (size_t i = 0; i < COUNT(methods); i++) {
		(void)snprintf(text, sizeof(text), "%s /a?b HTTP/1.1\nHost: evil\n\n", methods[i]);
		cr_expect_eq(judge(text), HEAD_HOST, "%s", text);
	}
}

Test(head, other_protocols)
{
	static const struct {
		const char *bytes;
		size_t size;
	} others[] = {
		{ "\026\003\001", 3 },               /* TLS */
		{ "\0\0\0\010\004\322\026\057", 8 }, /* PostgreSQL */
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32 },
		{ "*1\r\n$4\r\nPING\r\n", 14 }, /* Redis */
		{ "GET key\r\n", 9 },           /* memcached */
		{ "EHLO example.org\r\n", 18 },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24 },
		{ "{\"a\":1}", 7 },
		{ " GET / HTTP/1.1\r\n", 17 },
		{ "\r\n", 2 },
		{ "AMQP\0\0\011\001", 8 },
	};

	for (size_t i = 0; i < COUNT(others); i++)
		cr_expect_eq(judge_bytes(others[i].bytes, others[i].size, false, PORT), HEAD_OTHER,
			     "%zu", i);
}

Test(head, piece_by_piece)
{
	static const char text[] = "POST /long HTTP/1.1\r\nA: b\r\nHost: evil.example\r\n\r\nbody";
	const size_t whole = (size_t)(strstr(text, "\r\n\r\n") - text) + 4;

	for (size_t size = 0; size < sizeof(text); size++) {
		cr_expect_eq(judge_bytes(text, size, false, PORT),
			     size < whole ? HEAD_MORE : HEAD_HOST, "%zu", size);
		/* At an end, what is no whole request line is none; a head that is cut off is bad.
		 */
		cr_expect_eq(judge_bytes(text, size, true, PORT),
			     size < 21      ? HEAD_OTHER
			     : size < whole ? HEAD_BAD
					    : HEAD_HOST,
			     "%zu", size);
	}
}

Test(head, sites)
{
	static const struct {
		const char *fields;
		enum head_verdict verdict;
	} rows[] = {
		{ "Sec-Fetch-Site: none", HEAD_FINE },
		{ "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate", HEAD_FINE },
		{ "Sec-Fetch-Site: same-origin", HEAD_FINE },
		{ "Sec-Fetch-Site: same-site", HEAD_FINE },
		{ "sec-fetch-site: Same-Site ", HEAD_FINE },
		{ "Sec-Fetch-Site: cross-site", HEAD_SITE },
		{ "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image",
		  HEAD_SITE },
		{ "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1",
		  HEAD_SITE },
		{ "Sec-Fetch-Site: cross-site\r\nReferer: http://localhost:5173/", HEAD_SITE },
		{ "Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost:5173", HEAD_FINE },
		{ "Sec-Fetch-Site: cross-site\r\nOrigin: null", HEAD_ORIGIN },
		{ "Sec-Fetch-Site: other", HEAD_SITE },
		{ "Sec-Fetch-Site:", HEAD_SITE },
		{ "Sec-Fetch-Site: none, cross-site", HEAD_SITE },
		{ "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site", HEAD_SITE },
		{ "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none", HEAD_SITE },
		{ "Referer: http://localhost:7000/a?b#c", HEAD_FINE },
		{ "Referer: http://127.0.0.1:5173/", HEAD_FINE },
		{ "Referer: https://evil.example/", HEAD_ORIGIN },
		{ "Referer: https://localhost.evil.example/", HEAD_ORIGIN },
		{ "Referer: https://evil.example/http://localhost/", HEAD_ORIGIN },
		{ "Referer: http://localhost:7000@evil.example/", HEAD_ORIGIN },
		{ "Sec-Fetch-Site: same-origin\r\nReferer: https://evil.example/", HEAD_ORIGIN },
	};
	char fields[256];

	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(fields, sizeof(fields), "Host: localhost:7000\r\n%s",
			       rows[i].fields);
		cr_expect_eq(judge_fields(fields), rows[i].verdict, "%s", fields);
	}
}

Test(head, sizes)
{
	static const struct {
		const char *fields;
		uint64_t body;
	} rows[] = {
		{ "X: y", 0 },
		{ "Content-Length: 0", 0 },
		{ "Content-Length: 12", 12 },
		{ "Content-Length: 999999999999999999", 999999999999999999U },
		{ "Transfer-Encoding: chunked", HEAD_ENDLESS },
		{ "Content-Length: 1\r\nTransfer-Encoding: chunked", HEAD_ENDLESS },
		{ "Connection: Upgrade\r\nUpgrade: websocket", HEAD_ENDLESS },
	};
	static const char *const bad[] = {
		"Content-Length: 1\r\nContent-Length: 1",
		"Content-Length:",
		"Content-Length: -1",
		"Content-Length: 1000000000000000000",
		"Content-Length: 1, 1",
		"Content-Length: 0x1",
	};
	char fields[256];

	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)snprintf(fields, sizeof(fields), "Host: localhost:7000\r\n%s",
			       rows[i].fields);
		cr_expect_eq(judge_fields(fields), HEAD_FINE, "%s", fields);
		cr_expect_eq(found,
			     rows[i].body == HEAD_ENDLESS ? HEAD_ENDLESS
							  : strlen("GET / HTTP/1.1\r\n\r\n\r\n") +
								    strlen(fields) + rows[i].body,
			     "%s", fields);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		(void)snprintf(fields, sizeof(fields), "Host: localhost:7000\r\n%s", bad[i]);
		cr_expect_eq(judge_fields(fields), HEAD_BAD, "%s", fields);
		cr_expect_eq(found, HEAD_ENDLESS);
	}
}
