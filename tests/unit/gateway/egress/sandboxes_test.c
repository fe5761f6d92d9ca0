/* SPDX-License-Identifier: Apache-2.0
 *
 * The gates of several sandboxes over real sockets, with a test in the places of msp-cable and
 * msp-dial: answers find their question, and what has ended leaves nothing.
 */
#include "gateway/egress/sandboxes.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/plan/plan.h"
#include "gateway/egress/gate.h"
#include "stewards/base/counters.h"
#include "support.h"

#define SLOT 3U
#define USE 9U

static struct channel cable = { -1, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE };
static struct channel dial = { -1, IPC_EGRESS, IPC_DIAL, IPC_SERVE };
static struct channel far_cable = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE };
static struct channel far_dial = { -1, IPC_DIAL, IPC_EGRESS, IPC_SERVE };
static struct outbox to_cable = { .channel = &cable }, to_dial = { .channel = &dial };
static struct channel_message message;
static int waiting;
static struct sockaddr_in address; /* the listener's */

static void open_channels(struct channel *own, struct channel *far)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	own->fd = ends[0];
	far->fd = ends[1];
}

#define RATE 64U /* of new connections */

static int open_listener(int type)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);

	cr_assert_eq(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	if (type == SOCK_STREAM) {
		cr_assert_eq(listen(fd, 256), 0);
		cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	}
	return fd;
}

static void begin_sandbox(uint32_t slot, uint32_t use)
{
	const struct ipc_egress_begin begin = {
		slot, use, 1, HTTP_SERVERS_MAX, { .connections = 256, .rate = RATE }
	};

	cr_assert_eq(sandboxes_take_port(&(struct ipc_egress_port){ slot, 0 },
					 open_listener(SOCK_STREAM)),
		     0);
	cr_assert_eq(sandboxes_begin_one(&begin, open_listener(SOCK_DGRAM), 1), 0);
}

static const _Atomic uint64_t *counters;

static void open_all(uint32_t fds)
{
	void *mapped;

	open_channels(&cable, &far_cable);
	open_channels(&dial, &far_dial);
	waiting = epoll_create1(EPOLL_CLOEXEC);
	counters_open(fd_of_memory(GATEWAY_COUNTERS_SIZE, &mapped));
	counters = mapped;
	sandboxes_begin(&to_cable, &to_dial, waiting, fds);
	begin_sandbox(SLOT, USE);
}

static void open_many(void)
{
	open_all(1000);
}

/* A sandbox with its two listeners, and one connection. */
static void open_few(void)
{
	open_all(4);
}

static void turn_all(void)
{
	struct epoll_event events[16];
	int count;

	do {
		count = epoll_wait(waiting, events, 16, 50);
		for (int i = 0; i < count; i++)
			sandboxes_turn(events[i].data.u64, 2);
	} while (count > 0);
	cr_assert_eq(sandboxes_failure(), 0);
}

static int connect_workload(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Receive what msp-dial is asked. 0: nothing. */
static uint64_t receive_ask(void)
{
	enum ipc_error wrong;

	if (channel_receive(&far_dial, &message, MSG_DONTWAIT, &wrong) != 1)
		return 0;
	cr_expect_eq(ipc_body(&message, dial_ask)->slot, SLOT);
	cr_expect_eq(ipc_body(&message, dial_ask)->use, USE);
	cr_expect_str_eq(ipc_body(&message, dial_ask)->host, "127.0.0.1");
	cr_expect_eq(ipc_body(&message, dial_ask)->port, ntohs(address.sin_port));
	return ipc_body(&message, dial_ask)->number;
}

/* Receive the end of a connection. False: there is none. */
static bool receive_end(struct ipc_connection_end *ret)
{
	enum ipc_error wrong;

	if (channel_receive(&far_cable, &message, MSG_DONTWAIT, &wrong) != 1)
		return false;
	*ret = *ipc_body(&message, connection_end);
	return true;
}

/* Answer a dial with one end of a pair, and return the other one. */
static int answer_dial(uint64_t number)
{
	const struct ipc_dial_done done = { .number = number,
					    .connection = number + 1,
					    .address = "192.0.2.1" };
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	cr_assert_eq(sandboxes_dialed(&done, ends[0]), 0);
	return ends[1];
}

static void expect_text(int fd, const char *text)
{
	char bytes[64] = "";

	cr_expect_eq(recv(fd, bytes, sizeof(bytes), 0), (ssize_t)strlen(text));
	cr_expect_str_eq(bytes, text);
}

/* Begin connections of the last sandbox until none is asked about. Return how many are. */
static uint32_t fill(int *workloads, uint32_t count)
{
	enum ipc_error wrong;
	uint32_t asked = 0;

	for (uint32_t i = 0; i < count; i++) {
		workloads[i] = connect_workload();
		if (i % 16 != 15)
			continue;
		turn_all();
		while (outbox_flush(&to_dial) == 0 &&
		       channel_receive(&far_dial, &message, MSG_DONTWAIT, &wrong) == 1)
			asked++;
	}
	return asked;
}

Test(sandboxes, shares_of_the_questions)
{
	static int workloads[10][160];
	uint32_t sum;

	fd_raise_limit();
	open_all(20000);
	sum = fill(workloads[0], 160);
	cr_expect_eq(sum, GATE_DIALS_MAX);
	for (uint32_t i = 1; i < 10; i++) {
		uint32_t asked;

		begin_sandbox(SLOT + i, USE);
		asked = fill(workloads[i], 160);
		cr_expect_gt(asked, 0, "%u", i);
		sum += asked;
	}
	cr_expect_leq(sum, QUESTIONS_MAX);
	/* The waiting connections are asked about when there is room. */
	cr_assert_eq(sandboxes_end_one(SLOT), 0);
	for (uint64_t number = 1; number <= sum; number++) {
		const uint64_t at = number * QUESTIONS_MAX + number - 1;

		(void)sandboxes_answered(&(struct ipc_ask_done){ at, DIAL_RESULT_FAILED });
	}
	sandboxes_tick(3000);
	turn_all();
	cr_expect_gt(fill(workloads[0], 16), 0);
}

Test(sandboxes, a_connection_and_its_end, .init = open_many)
{
	const int workload = connect_workload();
	struct ipc_connection_end end;
	uint64_t number;
	int host;

	turn_all();
	number = receive_ask();
	cr_assert_neq(number, 0);
	host = answer_dial(number);
	cr_assert_eq(send(workload, "question", 8, 0), 8);
	turn_all();
	expect_text(host, "question");
	cr_assert_eq(send(host, "answer", 6, 0), 6);
	turn_all();
	expect_text(workload, "answer");
	cr_expect(sandboxes_are_busy());
	close(workload);
	close(host);
	turn_all();
	cr_assert(receive_end(&end));
	cr_expect_eq(end.number, number + 1);
	cr_expect_eq(end.sent, 8);
	cr_expect_eq(end.received, 6);
	cr_expect_eq(end.slot, SLOT);
	cr_expect_eq(end.use, USE);
	cr_expect_eq(end.reason, CONNECTION_END_SIDES);
	cr_expect_str_eq(end.address, "192.0.2.1");
	cr_expect_not(receive_end(&end));
	cr_expect(sandboxes_are_busy(), "the connection counts for a while");
	sandboxes_tick(1000);
	cr_expect_not(sandboxes_are_busy());
	cr_expect_eq(sandboxes_end_one(SLOT), 0);
}

/* Receive an open connection of a look. Return its number; 0: those were all. */
static uint64_t receive_open(uint32_t look)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(&far_cable, &message, MSG_DONTWAIT, &wrong), 1);
	cr_assert_eq(message.type, IPC_TYPE_connection_open);
	cr_expect_eq(ipc_body(&message, connection_open)->look, look);
	return ipc_body(&message, connection_open)->number;
}

Test(sandboxes, a_look_reports_the_open_connections, .init = open_many)
{
	const int first = connect_workload(), second = connect_workload();
	const struct ipc_egress_look look = { 5, SLOT, USE }, before = { 6, SLOT, USE - 1 },
				     far = { 7, GATEWAY_SLOTS, USE };
	uint64_t number;
	int host;

	turn_all();
	number = receive_ask();
	cr_assert_neq(receive_ask(), 0, "the other one stays dialled");
	host = answer_dial(number);
	cr_assert_eq(send(first, "question", 8, 0), 8);
	cr_assert_eq(send(second, "question", 8, 0), 8);
	turn_all();
	cr_assert_eq(send(host, "answer", 6, 0), 6);
	turn_all();
	cr_assert_eq(sandboxes_look(&look), 0);
	cr_expect_eq(receive_open(5), number + 1);
	cr_expect_eq(ipc_body(&message, connection_open)->sent, 8);
	cr_expect_eq(ipc_body(&message, connection_open)->received, 6);
	cr_expect_eq(ipc_body(&message, connection_open)->port, ntohs(address.sin_port));
	cr_expect_str_eq(ipc_body(&message, connection_open)->host, "127.0.0.1");
	cr_expect_eq(receive_open(5), 0);
	cr_assert_eq(sandboxes_look(&before), 0);
	cr_expect_eq(receive_open(6), 0, "of another sandbox there are none");
	cr_expect_eq(sandboxes_look(&far), -EPROTO);
	close(first);
	close(second);
	close(host);
}

Test(sandboxes, a_refused_dial_resets_the_workload, .init = open_many)
{
	const int workload = connect_workload();
	struct ipc_ask_done refused = { .result = DIAL_RESULT_REFUSED };
	struct ipc_connection_end end;
	char byte;

	turn_all();
	refused.number = receive_ask();
	cr_expect_eq(sandboxes_answered(&refused), 0);
	cr_expect_eq(recv(workload, &byte, 1, 0), -1);
	cr_expect_eq(errno, ECONNRESET);
	cr_expect_not(receive_end(&end), "nothing was begun");
	cr_expect_eq(sandboxes_answered(&refused), -EPROTO, "answered twice");
	close(workload);
}

Test(sandboxes, a_refusal_raises_the_sandboxs_counter, .init = open_many)
{
	struct ipc_dial_done done = { .kind = PLAN_HOST_TLS, .connection = 1 };
	const int workload = connect_workload();
	enum ipc_error wrong;
	int host[2];
	char byte;

	turn_all();
	done.number = receive_ask();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, host), 0);
	cr_assert_eq(sandboxes_dialed(&done, host[0]), 0);
	turn_all();
	cr_expect_eq(counters[SLOT], 0);
	cr_assert_eq(write(workload, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	turn_all();
	cr_expect_leq(recv(workload, &byte, 1, 0), 0);
	cr_assert_eq(channel_receive(&far_cable, &message, MSG_DONTWAIT, &wrong), 1);
	cr_assert_eq(message.type, IPC_TYPE_connection_refused);
	cr_expect_eq(ipc_body(&message, connection_refused)->reason, CONNECTION_REFUSED_TLS);
	cr_expect_eq(counters[SLOT], 1);
	cr_expect_eq(counters[SLOT + 1], 0);
	close(workload);
	close(host[1]);
}

Test(sandboxes, an_answer_after_the_end_of_its_sandbox, .init = open_many)
{
	const int first = connect_workload(), second = connect_workload();
	struct ipc_ask_done refused = { .result = DIAL_RESULT_FAILED };
	struct ipc_connection_end end;
	uint64_t number;
	char byte;
	int host;

	turn_all();
	number = receive_ask();
	refused.number = receive_ask();
	cr_assert_neq(refused.number, 0);
	cr_assert_eq(sandboxes_end_one(SLOT), 0);
	cr_expect_eq(recv(first, &byte, 1, 0), -1);
	begin_sandbox(SLOT, USE + 1);
	host = answer_dial(number);
	cr_expect_eq(recv(host, &byte, 1, 0), 0, "it is closed");
	cr_assert(receive_end(&end));
	cr_expect_eq(end.use, USE);
	cr_expect_eq(end.reason, CONNECTION_END_SANDBOX);
	cr_expect_eq(sandboxes_answered(&refused), 0);
	sandboxes_tick(1000);
	cr_expect_not(sandboxes_are_busy());
	close(first);
	close(second);
	close(host);
}

Test(sandboxes, the_end_of_a_sandbox_ends_its_connections, .init = open_many)
{
	const int workload = connect_workload();
	struct ipc_connection_end end;
	char byte;
	int host;

	turn_all();
	host = answer_dial(receive_ask());
	turn_all();
	cr_assert_eq(sandboxes_end_one(SLOT), 0);
	cr_expect_eq(recv(workload, &byte, 1, 0), -1);
	cr_expect_eq(errno, ECONNRESET);
	cr_assert(receive_end(&end));
	cr_expect_eq(end.reason, CONNECTION_END_SANDBOX);
	cr_expect_eq(sandboxes_end_one(SLOT), 0, "it is none any more");
	close(workload);
	close(host);
}

static void cut_host(uint32_t use, const char *host)
{
	struct ipc_egress_cut cut = { .slot = SLOT, .use = use };

	memcpy(cut.host, host, strlen(host) + 1);
	cr_assert_eq(sandboxes_cut(&cut), 0);
	turn_all();
}

Test(sandboxes, a_host_that_is_taken_away, .init = open_many)
{
	const int open = connect_workload();
	struct ipc_connection_end end;
	uint64_t first, second;
	int dialled, host;
	char byte;

	turn_all();
	first = receive_ask();
	host = answer_dial(first);
	dialled = connect_workload();
	turn_all();
	second = receive_ask();
	cut_host(USE, "127.0.0.2");
	cut_host(USE + 1, "127.0.0.1");
	cr_assert_not(receive_end(&end), "another host, another sandbox");
	cut_host(USE, "127.0.0.1");
	cr_assert(receive_end(&end));
	cr_expect_eq(end.number, first + 1);
	cr_expect_eq(end.reason, CONNECTION_END_CUT);
	cr_expect_eq(recv(open, &byte, 1, 0), -1);
	cr_expect_eq(recv(host, &byte, 1, 0), 0);
	/* The one that was being dialled. */
	(void)answer_dial(second);
	turn_all();
	cr_assert(receive_end(&end));
	cr_expect_eq(end.number, second + 1);
	cr_expect_eq(end.reason, CONNECTION_END_CUT);
	cr_expect_eq(recv(dialled, &byte, 1, 0), -1);
	cr_expect_eq(sandboxes_cut(&(struct ipc_egress_cut){ .slot = GATEWAY_SLOTS }), -EPROTO);
}

Test(sandboxes, a_further_port_of_one_that_runs, .init = open_many)
{
	const struct ipc_egress_port port = { SLOT, USE }, ended = { SLOT, USE + 1 };
	struct ipc_connection_end end;
	int workload;

	cr_assert_eq(sandboxes_take_port(&ended, open_listener(SOCK_STREAM)), 0);
	workload = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_expect_neq(connect(workload, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(workload);
	cr_assert_eq(sandboxes_take_port(&port, open_listener(SOCK_STREAM)), 0);
	workload = connect_workload();
	turn_all();
	close(answer_dial(receive_ask()));
	close(workload);
	turn_all();
	cr_assert(receive_end(&end));
	for (uint32_t i = 2; i < GATE_LISTENERS_MAX; i++)
		cr_assert_eq(sandboxes_take_port(&port, open_listener(SOCK_STREAM)), 0);
	cr_assert_eq(sandboxes_take_port(&port, open_listener(SOCK_STREAM)), 0);
	workload = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_expect_neq(connect(workload, (const struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(sandboxes_end_one(SLOT), 0);
}

Test(sandboxes, connections_wait_for_descriptors, .init = open_few)
{
	const int first = connect_workload(), second = connect_workload();
	struct ipc_ask_done refused = { .result = DIAL_RESULT_FAILED };

	turn_all();
	refused.number = receive_ask();
	cr_assert_neq(refused.number, 0);
	cr_expect_eq(receive_ask(), 0, "there is room for one");
	cr_assert_eq(sandboxes_answered(&refused), 0);
	turn_all();
	cr_expect_neq(receive_ask(), 0, "now for the next one");
	close(first);
	close(second);
}

/* Have `count` connections come and be refused. Return how many came. */
static uint32_t flood(uint32_t count)
{
	uint32_t came = 0;

	for (uint32_t i = 0; i < count; i++) {
		const int workload = connect_workload();
		struct ipc_ask_done refused = { .result = DIAL_RESULT_FAILED };
		struct epoll_event event;

		if (epoll_wait(waiting, &event, 1, 20) == 1)
			sandboxes_turn(event.data.u64, 2);
		refused.number = receive_ask();
		came += refused.number != 0;
		if (refused.number != 0)
			cr_assert_eq(sandboxes_answered(&refused), 0);
		close(workload);
	}
	return came;
}

Test(sandboxes, a_flood_of_connections_waits, .init = open_many)
{
	cr_expect_eq(flood(GATE_BURST * RATE + 5), GATE_BURST * RATE);
	cr_expect(sandboxes_are_busy());
	sandboxes_tick(1 + 500);
	cr_expect_eq(flood(RATE / 2), RATE / 2);
	cr_expect_eq(flood(5), 0);
}

Test(sandboxes, answers_that_nobody_asked_for, .init = open_many)
{
	const struct ipc_ask_done answer = { .number = 1 };
	const struct ipc_dial_done done = { .number = 1 };

	cr_expect_eq(sandboxes_answered(&answer), -EPROTO);
	cr_expect_eq(sandboxes_dialed(&done, dup(waiting)), -EPROTO);
}

Test(sandboxes, begins_that_do_not_fit, .init = open_many)
{
	const struct network_limits few = { .connections = 1, .rate = 1 },
				    beyond = { .connections = GATE_CONNECTIONS_MAX + 1, .rate = 1 };
	const struct ipc_egress_begin twice = { SLOT, USE, 0, 0, few },
				      far = { GATEWAY_SLOTS, USE, 0, 0, few },
				      more = { SLOT + 1, USE, 2, 0, few },
				      many = { SLOT + 1, USE, 1, 0, beyond };

	cr_expect_eq(sandboxes_begin_one(&twice, open_listener(SOCK_DGRAM), 1), -EPROTO);
	cr_expect_eq(sandboxes_begin_one(&far, open_listener(SOCK_DGRAM), 1), -EPROTO);
	cr_assert_eq(sandboxes_take_port(&(struct ipc_egress_port){ SLOT + 1, 0 },
					 open_listener(SOCK_STREAM)),
		     0);
	cr_expect_eq(sandboxes_take_port(&(struct ipc_egress_port){ SLOT + 2, 0 },
					 open_listener(SOCK_STREAM)),
		     -EPROTO);
	cr_expect_eq(sandboxes_begin_one(&more, open_listener(SOCK_DGRAM), 1), -EPROTO);
	cr_assert_eq(sandboxes_take_port(&(struct ipc_egress_port){ SLOT + 1, 0 },
					 open_listener(SOCK_STREAM)),
		     0);
	cr_expect_eq(sandboxes_begin_one(&many, open_listener(SOCK_DGRAM), 1), -EPROTO);
	cr_expect_eq(sandboxes_end_one(GATEWAY_SLOTS), -EPROTO);
}
