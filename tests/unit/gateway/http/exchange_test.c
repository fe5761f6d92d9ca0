/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections between two ends of a test, without and with TLS: bytes in any pieces, backpressure,
 * and time limits.
 */
#include "gateway/http/exchange.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/http/trust.h"
#include "rig.h"

#define REQUEST "GET /a HTTP/1.1\r\nHost: plain.example\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct rig rig;
static struct exchange *exchange;
static int workload, host; /* the far ends */
static uint64_t now_ms = 1000;
static int refused = -1;

void event_exchange_refused(struct exchange *of, enum connection_refused reason)
{
	cr_assert_eq(of, exchange);
	refused = (int)reason;
}

static void start_exchange(const struct target *target)
{
	int client[2], upstream[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, upstream), 0);
	workload = client[0];
	host = upstream[0];
	exchange = malloc(sizeof(*exchange));
	cr_assert_not_null(exchange);
	cr_assert(exchange_begin(exchange, target, client[1], upstream[1], now_ms));
	exchange_turn(exchange, now_ms);
}

static void start_plain(void)
{
	rig_make(&rig);
	start_exchange(&rig.plain);
}

static void end_exchange(void)
{
	exchange_end(exchange);
	free(exchange);
	cr_assert_eq(close(workload), 0);
	cr_assert_eq(close(host), 0);
}

static void say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	exchange_turn(exchange, now_ms);
}

static const char *hear(int fd)
{
	static char text[70000];
	const ssize_t size = recv(fd, text, sizeof(text) - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	return size == 0 ? "(end)" : text;
}

Test(exchange, requests_in_turn)
{
	start_plain();
	for (int i = 0; i < 3; i++) {
		say(workload, REQUEST);
		cr_expect_str_eq(hear(host), "GET /a HTTP/1.1\r\nHost: plain.example\r\n"
					     "Accept-Encoding: identity\r\n\r\n");
		say(host, ANSWER);
		cr_expect_str_eq(hear(workload), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
						 "ok");
	}
	cr_expect_eq(exchange->end, EXCHANGE_GOES_ON);
	cr_expect_eq(exchange->host.sent, 3 * 67U);
	end_exchange();
}

Test(exchange, second_request_waits_for_the_first_answer)
{
	start_plain();
	say(workload, REQUEST REQUEST);
	cr_expect_eq(strlen(hear(host)), 67);
	cr_expect_str_eq(hear(host), "");
	say(host, ANSWER);
	cr_expect_eq(strlen(hear(host)), 67);
	end_exchange();
}

Test(exchange, bytes_in_pieces)
{
	static const char request[] = "POST /a HTTP/1.1\r\nHost: plain.example\r\n"
				      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	static const char answer[] = "HTTP/1.1 200 " RIG_PASS "\r\nTransfer-Encoding: chunked\r\n"
				     "\r\n4\r\npa55\r\n4\r\nword\r\n0\r\n\r\n";
	char got[1024] = "";

	start_plain();
	for (size_t i = 0; i < sizeof(request) - 1; i++) {
		const char piece[] = { request[i], '\0' };

		say(workload, piece);
	}
	cr_expect(strstr(hear(host), "1\r\nc\r\n0\r\n\r\n"));
	for (size_t i = 0; i < sizeof(answer) - 1; i++) {
		const char piece[] = { answer[i], '\0' };

		say(host, piece);
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s", hear(workload));
	}
	cr_expect_str_eq(got, "HTTP/1.1 200 msp-secr\r\nTransfer-Encoding: chunked\r\n\r\n"
			      "8\r\nmsp-secr\r\n0\r\n\r\n");
	end_exchange();
}

/* Fill a socket; how many bytes the exchange took. */
static size_t fill_socket(int fd)
{
	static char bytes[65536];
	size_t sum = 0;

	for (int i = 0; i < 1000; i++) {
		const ssize_t size = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);

		if (size < 0 && errno == EAGAIN) {
			exchange_turn(exchange, now_ms);
			if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 0) == 0)
				return sum;
			continue;
		}
		cr_assert_gt(size, 0);
		sum += (size_t)size;
		exchange_turn(exchange, now_ms);
	}
	return sum;
}

Test(exchange, side_that_does_not_read_stops_the_other)
{
	short client, upstream;

	start_plain();
	say(workload, "POST /a HTTP/1.1\r\nHost: plain.example\r\n"
		      "Content-Length: 100000000000\r\n\r\n");
	cr_expect_lt(fill_socket(workload), 4U << 20);
	cr_expect_lt(exchange->to_host.size, 300000);
	exchange_wants(exchange, &client, &upstream);
	cr_expect_eq(client, 0);
	cr_expect_eq(upstream, POLLIN | POLLOUT);
	say(host, "HTTP/1.1 200 OK\r\n\r\n");
	cr_expect_lt(fill_socket(host), 4U << 20);
	cr_expect_lt(exchange->to_client.size, 300000);
	end_exchange();
}

Test(exchange, refusal_comes_before_its_answer)
{
	start_plain();
	say(workload, "GET /a HTTP/1.1\r\nHost: other.example\r\n\r\nmore");
	cr_expect_eq(refused, CONNECTION_REFUSED_HOST);
	cr_expect_eq(exchange->end, EXCHANGE_FINISHING);
	cr_expect(strstr(hear(workload), "HTTP/1.1 421 Refused by msp\r\n"));
	cr_expect_str_eq(hear(workload), "(end)");
	cr_expect_str_eq(hear(host), "");
	cr_assert_eq(shutdown(workload, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	cr_expect_eq(exchange->reason, CONNECTION_END_REQUEST);
	end_exchange();
}

static void pass_time(uint64_t ms)
{
	now_ms += ms;
	exchange_tick(exchange, now_ms);
	if (exchange->is_ready)
		exchange_turn(exchange, now_ms);
}

Test(exchange, head_has_its_time)
{
	start_plain();
	say(workload, "GET ");
	for (int i = 0; i < 29; i++) {
		pass_time(1000);
		say(workload, "a");
	}
	cr_expect_eq(exchange->end, EXCHANGE_GOES_ON);
	pass_time(EXCHANGE_HEAD_MS - 28000);
	cr_expect_eq(exchange->end, EXCHANGE_FINISHING);
	cr_expect_eq(exchange->reason, CONNECTION_END_LATE);
	cr_expect(strstr(hear(workload), "HTTP/1.1 408 "));
	pass_time(EXCHANGE_LINGER_MS + 1);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	end_exchange();
}

Test(exchange, idle_connection_ends)
{
	start_plain();
	pass_time(EXCHANGE_IDLE_MS);
	cr_expect_eq(exchange->end, EXCHANGE_GOES_ON);
	say(workload, REQUEST);
	pass_time(EXCHANGE_IDLE_MS + 1);
	cr_expect_eq(exchange->end, EXCHANGE_GOES_ON);
	pass_time(EXCHANGE_STALL_MS);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	cr_expect_eq(exchange->reason, CONNECTION_END_LATE);
	end_exchange();
	start_plain();
	pass_time(EXCHANGE_IDLE_MS + 1);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	cr_expect_eq(exchange->reason, CONNECTION_END_SIDES);
	end_exchange();
}

Test(exchange, profile_may_have_a_shorter_idle_limit)
{
	start_plain();
	exchange->idle_ms = 2000;
	pass_time(1500);
	say(workload, REQUEST);
	pass_time(1500);
	cr_expect_eq(exchange->end, EXCHANGE_GOES_ON);
	pass_time(1000);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	cr_expect_eq(exchange->reason, CONNECTION_END_IDLE);
	end_exchange();
}

Test(exchange, counted_bytes_wait_for_more)
{
	short client, upstream;

	start_plain();
	exchange->most = 100000;
	say(workload, "POST /a HTTP/1.1\r\nHost: plain.example\r\n"
		      "Content-Length: 100000000000\r\n\r\n");
	for (int i = 0; i < 100; i++) {
		(void)fill_socket(workload);
		while (strlen(hear(host)) > 0)
			;
	}
	cr_expect(exchange_is_held(exchange));
	cr_expect_leq(exchange->host.sent, 100000 + 2 * 131072 + 65536);
	exchange_wants(exchange, &client, &upstream);
	cr_expect_eq(client | upstream, 0);
	cr_expect_not(exchange->is_ready);
	exchange->most += 1U << 20;
	exchange_turn(exchange, now_ms);
	cr_expect_not(exchange_is_held(exchange));
	exchange_wants(exchange, &client, &upstream);
	cr_expect_neq(client | upstream, 0);
	end_exchange();
}

/* A host ends within an answer: all its bytes come, and no end of it. */
Test(exchange, answer_without_an_end)
{
	static const struct {
		const char *answer, *got;
		enum connection_end reason;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab pa55",
		  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab pa55", CONNECTION_END_PARTIAL },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		  CONNECTION_END_PARTIAL },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX",
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		  CONNECTION_END_ANSWER },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
		  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", CONNECTION_END_SIDES },
		{ "HTTP/1.1 200 OK\r\n\r\nab",
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
		  "2\r\nab\r\n0\r\n\r\n",
		  CONNECTION_END_SIDES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start_plain();
		say(workload, REQUEST);
		say(host, rows[i].answer);
		cr_assert_eq(shutdown(host, SHUT_WR), 0);
		exchange_turn(exchange, now_ms);
		cr_expect_str_eq(hear(workload), rows[i].got, "%zu", i);
		cr_expect_str_eq(hear(workload), "(end)", "%zu", i);
		cr_expect_not(exchange->is_cut);
		cr_expect_eq(exchange->reason, rows[i].reason, "%zu", i);
		end_exchange();
	}
}

Test(exchange, host_ends_within_a_head)
{
	start_plain();
	say(workload, REQUEST);
	say(host, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20");
	cr_assert_eq(shutdown(host, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect(exchange->end == EXCHANGE_ENDED && exchange->is_cut);
	end_exchange();
}

Test(exchange, ends_of_its_sides)
{
	start_plain();
	cr_assert_eq(shutdown(host, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect_str_eq(hear(workload), "(end)");
	cr_assert_eq(shutdown(workload, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect_eq(exchange->end, EXCHANGE_ENDED);
	end_exchange();
	start_plain();
	say(workload, REQUEST);
	cr_assert_eq(shutdown(host, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect(exchange->end == EXCHANGE_ENDED && exchange->is_cut);
	end_exchange();
	start_plain();
	say(workload, "GET ");
	cr_assert_eq(shutdown(workload, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect(exchange->end == EXCHANGE_ENDED && exchange->is_cut);
	end_exchange();
}

/* --- TLS -------------------------------------------------------------------------------------- */

/* Have the two ends of TLS talk until both are done or one has failed. */
static bool greet(SSL *workload_ssl, SSL *host_ssl)
{
	for (int i = 0; i < 50; i++) {
		const int one = SSL_do_handshake(workload_ssl);
		const int other = SSL_do_handshake(host_ssl);

		exchange_turn(exchange, now_ms);
		if (one == 1 && other == 1)
			return true;
	}
	return false;
}

static SSL *make_workload(SSL_CTX *context, char *name)
{
	SSL *ssl = SSL_new(context);

	cr_assert_eq(SSL_set_fd(ssl, workload), 1);
	cr_assert_eq(SSL_set_tlsext_host_name(ssl, name), 1);
	SSL_set_connect_state(ssl);
	return ssl;
}

Test(exchange, tls_of_both_sides)
{
	const int own = memfd_create("own", 0), certificate = memfd_create("certificate", 0);
	SSL_CTX *connecting;
	SSL *workload_ssl, *host_ssl;
	char text[256] = "";
	size_t size = 0;

	trust_start();
	cr_assert(trust_make_authority(own, certificate));
	cr_assert(trust_begin(own, certificate));
	rig_make(&rig);
	connecting = SSL_CTX_new(TLS_client_method());
	start_exchange(&rig.api);
	/* A host whose certificate our own CA made: msp-http's leaf is one of this name. */
	workload_ssl = make_workload(connecting, rig.api.name);
	host_ssl = trust_accept(host, rig.api.name);
	cr_assert_not_null(host_ssl);
	cr_assert(greet(workload_ssl, host_ssl));
	cr_assert_eq(SSL_write_ex(workload_ssl, "GET /user HTTP/1.1\r\nHost: api.example\r\n\r\n",
				  41, &size),
		     1);
	exchange_turn(exchange, now_ms);
	cr_assert_eq(SSL_read_ex(host_ssl, text, sizeof(text) - 1, &size), 1);
	text[size] = '\0';
	cr_expect(strncmp(text, "GET /user HTTP/1.1\r\nHost: api.example\r\n", 39) == 0, "%s",
		  text);
	cr_expect_eq(exchange->host_trouble, NULL);
	/* A host that ends without the alert has not ended an answer without a length. */
	cr_assert_eq(SSL_write_ex(host_ssl, "HTTP/1.1 200 OK\r\n\r\nab", 21, &size), 1);
	exchange_turn(exchange, now_ms);
	cr_assert_eq(shutdown(host, SHUT_WR), 0);
	exchange_turn(exchange, now_ms);
	cr_expect_eq(exchange->reason, CONNECTION_END_PARTIAL);
	for (size_t at = 0; SSL_read_ex(workload_ssl, text + at, sizeof(text) - 1 - at, &size) == 1;
	     text[at] = '\0')
		at += size;
	cr_expect(strstr(text, "\r\n\r\n2\r\nab\r\n") && !strstr(text, "0\r\n\r\n"), "%s", text);
	cr_expect_eq(SSL_get_error(workload_ssl, 0), SSL_ERROR_SSL); /* an unexpected end */
	SSL_free(workload_ssl);
	SSL_free(host_ssl);
	SSL_CTX_free(connecting);
	cr_assert_eq(close(own), 0);
	cr_assert_eq(close(certificate), 0);
	end_exchange();
}
