/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections of workloads that keep to the list and of others: the host hears of the former alone.
 */
#include "gateway/egress/connection.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct connection connection;
static int workload, host; /* the far ends */

static void start(bool is_tls)
{
	int client[2], upstream[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, upstream), 0);
	workload = client[0];
	host = upstream[0];
	connection_begin(&connection, client[1], upstream[1], is_tls, "a.example");
}

struct hello {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct hello *hello, const void *data, size_t size)
{
	memcpy(hello->bytes + hello->size, data, size);
	hello->size += size;
}

static void put_number(struct hello *hello, size_t value, size_t width)
{
	for (size_t i = width; i > 0; i--) {
		const uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));

		put(hello, &byte, 1);
	}
}

/* Make a ClientHello for a name, with ECH if it is asked for. */
static struct hello make_hello(const char *name, bool has_ech)
{
	static const uint8_t zeros[32];
	const size_t extensions = strlen(name) + 9 + (has_ech ? 5 : 0);
	const size_t body = 2 + 32 + 1 + 4 + 2 + 2 + extensions;
	struct hello hello = { .size = 0 };

	put(&hello, "\x16\x03\x01", 3);
	put_number(&hello, body + 4, 2);
	put_number(&hello, 1, 1);
	put_number(&hello, body, 3);
	put(&hello, "\x03\x03", 2);
	put(&hello, zeros, 32);
	put(&hello, "\0\0\x02\x13\x01\x01\0", 7);
	put_number(&hello, extensions, 2);
	put_number(&hello, 0, 2);
	put_number(&hello, strlen(name) + 5, 2);
	put_number(&hello, strlen(name) + 3, 2);
	put_number(&hello, 0, 1);
	put_number(&hello, strlen(name), 2);
	put(&hello, name, strlen(name));
	if (has_ech)
		put(&hello, "\xfe\x0d\x00\x01\x00", 5);
	return hello;
}

static void turn(void)
{
	connection_turn(&connection, CONNECTION_CLIENT | CONNECTION_HOST, SIZE_MAX);
}

static ssize_t heard(void)
{
	char bytes[1024];

	return recv(host, bytes, sizeof(bytes), 0);
}

Test(connection, a_hello_for_the_name_reaches_the_host_whole)
{
	const struct hello hello = make_hello("A.example", false);
	char bytes[1024];
	short client_events, host_events;

	start(true);
	cr_assert_eq(write(workload, hello.bytes, hello.size), (ssize_t)hello.size);
	turn();
	cr_expect_eq(connection.state, CONNECTION_RELAYING);
	cr_assert_eq(recv(host, bytes, sizeof(bytes), 0), (ssize_t)hello.size);
	cr_expect_eq(memcmp(bytes, hello.bytes, hello.size), 0);
	cr_assert_eq(write(host, "answer", 6), 6);
	connection_wants(&connection, &client_events, &host_events);
	cr_expect_eq(client_events, POLLIN);
	cr_expect_eq(host_events, POLLIN);
	turn();
	cr_expect_eq(read(workload, bytes, sizeof(bytes)), 6);
	close(workload);
	turn();
	cr_expect_eq(connection.state, CONNECTION_RELAYING, "the host may still send");
	close(host);
	turn();
	cr_expect_eq(connection.state, CONNECTION_ENDED);
	cr_expect_eq(connection.refusal, CONNECTION_FINE);
	connection_end(&connection);
}

Test(connection, a_hello_in_pieces_reaches_the_host_when_it_is_complete)
{
	const struct hello hello = make_hello("a.example", false);
	short client_events, host_events;

	start(true);
	for (size_t i = 0; i < hello.size; i++) {
		cr_assert_eq(connection.state, CONNECTION_GREETING);
		connection_wants(&connection, &client_events, &host_events);
		cr_assert_eq(client_events, POLLIN);
		cr_assert_eq(host_events, 0);
		cr_assert_eq(heard(), -1, "%zu", i);
		cr_assert_eq(write(workload, hello.bytes + i, 1), 1);
		turn();
	}
	cr_expect_eq(heard(), (ssize_t)hello.size);
	connection_end(&connection);
}

/* Send bytes that are refused: the host hears nothing, and both are reset. */
static void expect_refusal(const void *bytes, size_t size, enum connection_refusal refusal)
{
	start(true);
	cr_assert_eq(write(workload, bytes, size), (ssize_t)size);
	turn();
	cr_expect_eq(connection.state, CONNECTION_ENDED);
	cr_expect_eq(connection.refusal, refusal, "%d", connection.refusal);
	cr_expect_eq(heard(), -1);
	connection_end(&connection);
	cr_expect_eq(heard(), 0, "nothing but its end");
	cr_expect_lt(write(workload, "x", 1), 0);
	close(workload);
	close(host);
}

Test(connection, refusals)
{
	const struct hello other = make_hello("b.example", false),
			   below = make_hello("a.a.example", false),
			   longer = make_hello("a.example.evil.example", false),
			   hidden = make_hello("a.example", true),
			   numbers = make_hello("127.0.0.1", false);

	signal(SIGPIPE, SIG_IGN);
	expect_refusal(other.bytes, other.size, CONNECTION_OTHER_NAME);
	expect_refusal(below.bytes, below.size, CONNECTION_OTHER_NAME);
	expect_refusal(longer.bytes, longer.size, CONNECTION_OTHER_NAME);
	expect_refusal(hidden.bytes, hidden.size, CONNECTION_HIDDEN_NAME);
	expect_refusal(numbers.bytes, numbers.size, CONNECTION_NO_TLS);
	expect_refusal("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 36, CONNECTION_NO_TLS);
	expect_refusal("SSH-2.0-OpenSSH\r\n", 17, CONNECTION_NO_TLS);
	expect_refusal("\x17\x03\x03\x00\x01x", 6, CONNECTION_NO_TLS);
	expect_refusal("\0", 1, CONNECTION_NO_TLS);
}

Test(connection, a_workload_that_ends_within_its_hello)
{
	const struct hello hello = make_hello("a.example", false);

	start(true);
	cr_assert_eq(write(workload, hello.bytes, 20), 20);
	turn();
	close(workload);
	turn();
	cr_expect_eq(connection.state, CONNECTION_ENDED);
	cr_expect_eq(connection.refusal, CONNECTION_NO_TLS);
	cr_expect_eq(heard(), -1);
	connection_end(&connection);
}

Test(connection, tiny_records_without_end)
{
	static uint8_t records[RELAY_BYTES];

	/* A hello of 16,000 bytes in records of one byte would take 96,000. */
	for (size_t i = 0; i + 6 <= sizeof(records); i += 6)
		memcpy(records + i, "\x16\x03\x01\x00\x01\x00", 6);
	records[5] = 1;
	records[17] = 0x3e;
	start(true);
	for (int i = 0; i < 100 && connection.state == CONNECTION_GREETING; i++) {
		(void)!write(workload, records + connection.out.end,
			     sizeof(records) - connection.out.end);
		turn();
	}
	cr_expect_eq(connection.refusal, CONNECTION_NO_TLS);
	cr_expect_eq(heard(), -1);
	connection_end(&connection);
}

Test(connection, other_kinds_are_relayed_at_once)
{
	char bytes[16];

	start(false);
	cr_assert_eq(write(host, "SSH-2.0", 7), 7);
	turn();
	cr_expect_eq(read(workload, bytes, sizeof(bytes)), 7);
	connection_end(&connection);
}
