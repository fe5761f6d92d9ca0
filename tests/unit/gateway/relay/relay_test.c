/* SPDX-License-Identifier: Apache-2.0
 *
 * Relays between sockets that are slow, end and break.
 */
#include "gateway/relay/relay.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct relay relay;
static int from[2], to[2]; /* [0] is the other process's, [1] ours */

static void start(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, from), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, to), 0);
}

TestSuite(relay, .init = start);

static void move(void)
{
	relay_move(&relay, from[1], to[1], SIZE_MAX);
}

Test(relay, bytes_pass_in_order)
{
	char got[32] = "";

	cr_assert_eq(write(from[0], "first ", 6), 6);
	cr_expect_eq(relay_read(&relay, from[1], SIZE_MAX), 6U);
	cr_expect(relay_wants_target(&relay));
	cr_assert_eq(write(from[0], "hello ", 6), 6);
	move();
	cr_assert_eq(write(from[0], "world", 5), 5);
	move();
	cr_assert_eq(read(to[0], got, sizeof(got)), 17);
	cr_expect_str_eq(got, "first hello world");
	cr_expect_eq(relay.moved, 17U);
	cr_expect_not(relay_wants_target(&relay));
}

Test(relay, a_target_that_does_not_read_stops_the_source)
{
	static char zeros[1 << 16];
	size_t sent = 0, got = 0;

	for (int i = 0; i < 100; i++) {
		const ssize_t size = write(from[0], zeros, sizeof(zeros));

		sent += size > 0 ? (size_t)size : 0;
		move();
	}
	cr_expect_not(relay_wants_source(&relay), "its memory is bounded");
	cr_expect(relay_wants_target(&relay));
	cr_expect_eq(relay.state, RELAY_OPEN);
	for (ssize_t size = 1; size > 0 || relay_wants_target(&relay);) {
		size = read(to[0], zeros, sizeof(zeros));
		got += size > 0 ? (size_t)size : 0;
		move();
	}
	cr_expect_eq(got, sent);
	cr_expect_eq(relay.moved, sent);
}

Test(relay, the_end_comes_after_the_bytes)
{
	char got[8];

	cr_assert_eq(write(from[0], "x", 1), 1);
	close(from[0]);
	move();
	cr_expect_eq(relay.state, RELAY_OPEN, "the end is for another turn");
	move();
	cr_expect_eq(relay.state, RELAY_ENDED);
	cr_expect_eq(read(to[0], got, sizeof(got)), 1);
	cr_expect_eq(read(to[0], got, sizeof(got)), 0);
	cr_expect_eq(write(to[0], "y", 1), 1, "the other direction goes on");
	cr_expect_eq(read(to[1], got, sizeof(got)), 1);
	cr_expect_not(relay_wants_source(&relay));
}

Test(relay, a_broken_target)
{
	close(to[0]);
	cr_assert_eq(write(from[0], "x", 1), 1);
	move();
	cr_expect_eq(relay.state, RELAY_FAILED);
	cr_expect_not(relay_wants_source(&relay));
	cr_expect_not(relay_wants_target(&relay));
}

Test(relay, a_source_that_was_reset)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger reset = { .l_onoff = 1 };
	socklen_t size = sizeof(address);
	const int listener = socket(AF_INET, SOCK_STREAM, 0),
		  client = socket(AF_INET, SOCK_STREAM, 0);
	int source;

	cr_assert_eq(bind(listener, (struct sockaddr *)&address, size), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(connect(client, (struct sockaddr *)&address, size), 0);
	source = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(client);
	relay_move(&relay, source, to[1], SIZE_MAX);
	cr_expect_eq(relay.state, RELAY_FAILED);
}

Test(relay, a_share_of_the_bytes)
{
	char got[32];

	cr_assert_eq(write(from[0], "0123456789", 10), 10);
	relay_move(&relay, from[1], to[1], 4);
	cr_expect_eq(read(to[0], got, sizeof(got)), 4);
	relay_move(&relay, from[1], to[1], 100);
	cr_expect_eq(read(to[0], got, sizeof(got)), 6);
}

Test(relay, too_much_is_not_kept)
{
	static char zeros[RELAY_BYTES];

	cr_assert_eq(write(from[0], "x", 1), 1);
	cr_expect_eq(relay_read(&relay, from[1], SIZE_MAX), 1U);
	cr_assert_eq(write(from[0], zeros, sizeof(zeros)), (ssize_t)sizeof(zeros));
	cr_expect_eq(relay_read(&relay, from[1], SIZE_MAX), sizeof(zeros) - 1);
	cr_expect_eq(relay_read(&relay, from[1], SIZE_MAX), 0U);
	cr_expect_eq(relay.end, sizeof(zeros));
	cr_expect_eq(relay.state, RELAY_OPEN);
}

Test(relay, memory_is_had_while_bytes_are_kept)
{
	static char zeros[RELAY_BYTES];
	struct relay other = { .state = RELAY_OPEN };
	const uint8_t *kept;

	move();
	cr_expect_null(relay.bytes, "nothing came");
	while (write(to[1], zeros, sizeof(zeros)) > 0)
		continue;
	cr_assert_eq(write(from[0], "x", 1), 1);
	move();
	kept = relay.bytes;
	cr_assert_not_null(kept, "the target takes nothing");
	cr_expect_neq(relay_room(&other), kept);
	while (read(to[0], zeros, sizeof(zeros)) > 0)
		continue;
	move();
	cr_expect_null(relay.bytes);
	cr_assert_eq(write(from[0], "y", 1), 1);
	cr_expect_eq(relay_read(&relay, from[1], SIZE_MAX), 1U);
	relay_drop(&relay);
	cr_expect_null(relay.bytes);
	cr_expect_not(relay_wants_target(&relay));
	relay_drop(&other);
}
