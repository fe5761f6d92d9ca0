/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that servers of msp-http have. The test is msp-cable and the server.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_http.h"
#include "gateway/egress/readers.h"
#include "stewards/base/counters.h"
#include "support.h"

#define DATA 1000U
#define SERVER 3U
#define ENTRY 9U

static struct channel cable, far_cable, server;
static struct outbox to_cable = { .channel = &cable };
static struct channel_message message;
static int waiting, near_server;
static uint32_t ended, ended_entry;

void event_reader_ended(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received)
{
	cr_expect_eq(slot, 5);
	cr_expect_eq(use, 7);
	ended++;
	ended_entry = entry;
}

static bool may_go_on = true;
static uint64_t moved_bytes;

bool event_reader_moved(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received)
{
	cr_expect_eq(slot, 5);
	cr_expect_eq(use, 7);
	cr_expect_eq(entry, ENTRY);
	moved_bytes = sent + received;
	return may_go_on;
}

static void take_server(uint32_t number)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	server = (struct channel){ ends[0], IPC_HTTP, IPC_EGRESS, IPC_SERVE };
	near_server = ends[1];
	cr_assert_eq(readers_take(number, ends[1]), 0);
}

/* As on a machine with small buffers. */
static void shrink_room(void)
{
	const int room = 16384;

	cr_assert_eq(setsockopt(near_server, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
}

static const _Atomic uint64_t *counters;

static void begin(void)
{
	void *mapped;
	int ends[2];

	counters_open(fd_of_memory(GATEWAY_COUNTERS_SIZE, &mapped));
	counters = mapped;

	cr_assert_eq(channel_pair(ends), 0);
	cable = (struct channel){ ends[0], IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE };
	far_cable = (struct channel){ ends[1], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE };
	waiting = epoll_create1(EPOLL_CLOEXEC);
	readers_begin(&to_cable, waiting, DATA);
	take_server(SERVER);
}

static bool receive(const struct channel *from, uint32_t type)
{
	enum ipc_error wrong;

	return channel_receive(from, &message, MSG_DONTWAIT, &wrong) == 1 && message.type == type;
}

static bool open_of(uint64_t number, uint32_t of, uint32_t slot)
{
	const struct reader_connection connection = { .number = number,
						      .server = of,
						      .slot = slot,
						      .use = 7,
						      .entry = ENTRY,
						      .port = 443,
						      .is_counted = 1,
						      .idle_s = 4,
						      .host = "a.example",
						      .address = "192.0.2.7" };
	int fds[2];
	bool is_open;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	is_open = readers_open(&connection, fds[0], fds[1]);
	fd_close_all(fds, 2);
	return is_open;
}

/* Hand over a connection with this number. */
static bool open_one(uint64_t number, uint32_t of)
{
	return open_of(number, of, 5);
}

static void turn(void)
{
	struct epoll_event event;

	cr_assert_eq(epoll_wait(waiting, &event, 1, 1000), 1);
	cr_assert_eq(event.data.u64, DATA + SERVER);
	cr_assert_eq(readers_turn(SERVER), 0);
}

static void expect_end(uint64_t number, uint32_t reason)
{
	cr_assert(receive(&far_cable, IPC_TYPE_connection_end));
	cr_expect_eq(ipc_body(&message, connection_end)->number, number);
	cr_expect_eq(ipc_body(&message, connection_end)->slot, 5);
	cr_expect_eq(ipc_body(&message, connection_end)->use, 7);
	cr_expect_eq(ipc_body(&message, connection_end)->reason, reason);
	cr_expect_str_eq(ipc_body(&message, connection_end)->address, "192.0.2.7");
}

Test(readers, a_connection, .init = begin)
{
	const struct ipc_http_refused refused = { 21, CONNECTION_REFUSED_REQUEST };
	const struct ipc_http_done done = { 21, 300, 400, CONNECTION_END_REQUEST };

	cr_assert(open_one(21, SERVER));
	cr_assert(receive(&server, IPC_TYPE_http_open));
	cr_expect_eq(ipc_body(&message, http_open)->number, 21);
	cr_expect_eq(ipc_body(&message, http_open)->port, 443);
	cr_expect_eq(ipc_body(&message, http_open)->is_counted, 1);
	cr_expect_eq(ipc_body(&message, http_open)->idle_s, 4);
	cr_expect_str_eq(ipc_body(&message, http_open)->host, "a.example");
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_refused, &refused, NULL, 0), 0);
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_done, &done, NULL, 0), 0);
	turn();
	cr_assert(receive(&far_cable, IPC_TYPE_connection_refused));
	cr_expect_eq(ipc_body(&message, connection_refused)->reason, CONNECTION_REFUSED_REQUEST);
	cr_expect_eq(ipc_body(&message, connection_refused)->port, 443);
	cr_expect_str_eq(ipc_body(&message, connection_refused)->host, "a.example");
	cr_expect_leq(ipc_body(&message, connection_refused)->time_us, clock_now_us());
	cr_expect_gt(ipc_body(&message, connection_refused)->time_us, 0);
	cr_expect_eq(counters[5], 1);
	expect_end(21, CONNECTION_END_REQUEST);
	cr_expect_eq(ipc_body(&message, connection_end)->sent, 300);
	cr_expect_eq(ipc_body(&message, connection_end)->received, 400);
	cr_expect_eq(ended, 1);
	cr_expect_eq(ended_entry, ENTRY);
}

Test(readers, a_server_that_ends, .init = begin)
{
	cr_assert(open_one(1, SERVER));
	cr_assert(open_one(2, SERVER));
	close(server.fd);
	turn();
	expect_end(1, CONNECTION_END_READER);
	expect_end(2, CONNECTION_END_READER);
	cr_expect_eq(ended, 2);
	cr_expect_not(open_one(3, SERVER));
	take_server(SERVER);
	cr_expect(open_one(4, SERVER));
}

Test(readers, another_in_its_place, .init = begin)
{
	cr_assert(open_one(1, SERVER));
	take_server(SERVER);
	expect_end(1, CONNECTION_END_READER);
	cr_assert(open_one(2, SERVER));
	cr_expect(receive(&server, IPC_TYPE_http_open));
}

Test(readers, bytes_that_are_counted, .init = begin)
{
	const struct ipc_http_moved first = { 1, 300, 400 }, second = { 1, 300, 900 };

	cr_assert(open_one(1, SERVER));
	cr_assert(receive(&server, IPC_TYPE_http_open));
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_moved, &first, NULL, 0), 0);
	turn();
	cr_expect_eq(moved_bytes, 700);
	cr_assert(receive(&server, IPC_TYPE_http_more));
	cr_expect_eq(ipc_body(&message, http_more)->number, 1);
	may_go_on = false;
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_moved, &second, NULL, 0), 0);
	turn();
	cr_expect_eq(moved_bytes, 1200);
	cr_expect_not(receive(&server, IPC_TYPE_http_more));
	/* Bytes that are counted stay so, also in the record of a server that breaks the protocol.
	 */
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_moved, &first, NULL, 0), 0);
	turn();
	expect_end(1, CONNECTION_END_READER);
	cr_expect_eq(ipc_body(&message, connection_end)->received, 900);
}

/* A server that says what it cannot know is left. */
Test(readers, a_server_that_is_broken, .init = begin)
{
	static const struct ipc_http_done wrong[] = { { 99, 0, 0, 0 },
						      { 1, 0, 0, CONNECTION_END_COUNT } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert(open_one(1, SERVER));
		cr_assert_eq(channel_send(&server, IPC_TYPE_http_done, &wrong[i], NULL, 0), 0);
		turn();
		expect_end(1, CONNECTION_END_READER);
		cr_expect_not(open_one(2, SERVER));
		take_server(SERVER);
	}
}

Test(readers, a_sandbox_that_ends, .init = begin)
{
	cr_assert(open_one(1, SERVER));
	cr_assert(receive(&server, IPC_TYPE_http_open));
	readers_end_host(4, "", CONNECTION_END_SANDBOX);
	cr_expect_not(receive(&server, IPC_TYPE_http_end));
	readers_end_host(5, "b.example", CONNECTION_END_CUT);
	cr_expect_not(receive(&server, IPC_TYPE_http_end));
	readers_end_host(5, "a.example", CONNECTION_END_CUT);
	cr_assert(receive(&server, IPC_TYPE_http_end));
	cr_expect_eq(ipc_body(&message, http_end)->reason, CONNECTION_END_CUT);
	readers_end_host(5, "", CONNECTION_END_SANDBOX);
	cr_expect_not(receive(&server, IPC_TYPE_http_end), "it has heard so");
	cr_assert(open_one(2, SERVER));
	cr_assert(receive(&server, IPC_TYPE_http_open));
	readers_end_host(5, "", CONNECTION_END_SANDBOX);
	cr_assert(receive(&server, IPC_TYPE_http_end));
	cr_expect_eq(ipc_body(&message, http_end)->number, 2);
	cr_expect_eq(ipc_body(&message, http_end)->reason, CONNECTION_END_SANDBOX);
}

/* Hand over connections of a sandbox until one is refused. Return how many the server has. */
static uint32_t fill(uint32_t slot)
{
	uint32_t count = 0;

	while (count < READERS_MAX && open_of(1000 * slot + count, SERVER, slot)) {
		cr_assert(receive(&server, IPC_TYPE_http_open));
		channel_message_done(&message);
		count++;
	}
	return count;
}

Test(readers, shares_of_a_server, .init = begin)
{
	const struct ipc_http_done done = { 5000, 0, 0, CONNECTION_END_SIDES };
	uint32_t sum = fill(5);

	cr_expect_eq(sum, 768, "alone it has three quarters");
	for (uint32_t slot = 6; slot < 11; slot++) {
		const uint32_t taken = fill(slot);

		cr_expect_gt(taken, 0, "%u", slot);
		sum += taken;
	}
	cr_expect_leq(sum, HTTP_CONNECTIONS_MAX);
	cr_expect_eq(fill(5), 0);
	cr_assert_eq(channel_send(&server, IPC_TYPE_http_done, &done, NULL, 0), 0);
	turn();
	cr_expect_eq(fill(11), 1, "given back");
}

/* Answer each end that the server has heard of. Return how many. */
static uint32_t answer_ends(void)
{
	static struct ipc_http_done dones[HTTP_CONNECTIONS_MAX];
	uint32_t count = 0;

	while (receive(&server, IPC_TYPE_http_end))
		dones[count++].number = ipc_body(&message, http_end)->number;
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(channel_send(&server, IPC_TYPE_http_done, &dones[i], NULL, 0), 0);
		if (i % 64 == 63 || i + 1 == count)
			cr_assert_eq(readers_turn(SERVER), 0);
	}
	return count;
}

/* A channel has less room than a sandbox has connections: the server hears of the rest when it
 * answers, and keeps the connections of others. */
Test(readers, more_ends_than_a_channel_takes, .init = begin)
{
	uint32_t own, answered = 0, more = 1;

	cr_assert(open_of(1, SERVER, 6));
	cr_assert(receive(&server, IPC_TYPE_http_open));
	own = fill(5);
	shrink_room();
	readers_end_host(5, "", CONNECTION_END_SANDBOX);
	for (; more > 0; answered += more)
		more = answer_ends();
	cr_expect_eq(answered, own);
	cr_expect_eq(ended, own);
	cr_expect(open_of(2, SERVER, 6), "the server is there");
}

/* The control: it reads nothing, and has heard of no end. */
Test(readers, a_server_that_reads_nothing, .init = begin)
{
	shrink_room();
	for (uint64_t number = 1; open_one(number, SERVER);)
		number++;
	readers_end_host(5, "", CONNECTION_END_SANDBOX);
	turn();
	expect_end(1, CONNECTION_END_READER);
}

Test(readers, numbers_of_servers, .init = begin)
{
	cr_expect_not(open_one(1, SERVER + 1));
	cr_expect_not(open_one(1, HTTP_SERVERS_MAX));
	cr_expect_eq(readers_take(HTTP_SERVERS_MAX, dup(waiting)), -EPROTO);
}
