/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload at the end of a cable and the gate at the other: names, connections and refusals. The
 * list of hosts is this file's; hosts are processes that send back what they get.
 */
#include "common/plan/plan.h"
#include "gateway/egress/gate.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "netns.h"

/* The workload asks for this name at its end. */
#define LATE_NAME "late.example" /* from this question on ten seconds pass in each turn */
#define LAST_NAME "end.example"
#define RUN_MOST_S 30

/* A hello with a name of nine bytes. */
static const char hello_a[] =
	"\x16\x03\x01\x00\x41\x01\x00\x00\x3d\x03\x03"
	"0123456789abcdef0123456789abcdef"
	"\x00\x00\x02\x13\x01\x01\x00\x00\x12\x00\x00\x00\x0e\x00\x0c\x00\x00\x09"
	"a.example";

static struct gate gate;
static int waiting; /* epoll */
static uint32_t dials, ended, refusals;
static uint64_t moved;
static bool is_over, is_late;

void event_gate_watch(struct gate *at, uint32_t mark, int fd, short before, short events)
{
	struct epoll_event event = { .events = (uint32_t)events, .data.u32 = mark };

	(void)at;
	if (epoll_ctl(waiting,
		      events == 0   ? EPOLL_CTL_DEL
		      : before == 0 ? EPOLL_CTL_ADD
				    : EPOLL_CTL_MOD,
		      fd, &event) != 0)
		abort();
}

void event_gate_refused(struct gate *at, const char *host, uint16_t port,
			enum connection_refused reason)
{
	(void)at;
	refusals += strcmp(host, "a.example") == 0 && port == 443;
}

static uint32_t reasons[CONNECTION_END_COUNT];

void event_gate_ended(struct gate *at, struct ipc_connection_end *end)
{
	(void)at;
	ended += end->number == 7 && strcmp(end->address, "192.0.2.7") == 0;
	moved += end->sent + end->received;
	reasons[end->reason]++;
}

void event_gate_name(struct gate *at, uint32_t question, const char *name)
{
	is_late |= strcmp(name, LATE_NAME) == 0;
	is_over |= strcmp(name, LAST_NAME) == 0;
	gate_named(at, question,
		   strcmp(name, "a.example") == 0 || strcmp(name, "ssh.example") == 0
			   ? DNS_OK
			   : DNS_NO_NAME);
}

static int start_host(void)
{
	char bytes[4096];
	ssize_t size;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	if (fork() != 0) {
		close(pair[1]);
		return pair[0];
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[0]);
	while ((size = read(pair[1], bytes, sizeof(bytes))) > 0) {
		if (write(pair[1], bytes, (size_t)size) != size)
			break;
	}
	_exit(0);
}

void event_gate_dial(struct gate *at, uint32_t entry, const char *host, uint16_t port)
{
	const bool is_tls = strcmp(host, "a.example") == 0 && port == 443;
	const bool is_tcp = strcmp(host, "ssh.example") == 0 && port == 8080;
	int fd = is_tls || is_tcp ? start_host() : -1;

	dials++;
	if (fd >= 0)
		fd = fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? fd : -1;
	gate_dialed(at, entry, fd,
		    &(struct ipc_dial_done){ .connection = 7,
					     .kind = is_tls ? PLAN_HOST_TLS : PLAN_HOST_TCP,
					     .address = "192.0.2.7" });
}

static bool is_server_there; /* that reads requests */
static uint32_t spent;

bool event_gate_read(struct gate *at, uint32_t entry, int host, const struct ipc_dial_done *done)
{
	return is_server_there;
}

void event_gate_spent(struct gate *at)
{
	cr_expect_eq(at, &gate);
	spent++;
}

/* Have an entry handed over to a server. */
static void hand_over(uint32_t index)
{
	struct ipc_dial_done done = { .kind = PLAN_HOST_HTTPS, .connection = index + 1 };
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	gate.entries[index] = (struct gate_entry){
		.is_used = true, .client = fds[0], .port = 443, .host = "a.example"
	};
	gate.entry_count++;
	gate.dial_count++;
	gate_dialed(&gate, index, fds[1], &done);
}

Test(gate, bytes_that_a_server_moves_are_of_the_sandbox)
{
	is_server_there = true;
	gate.limits = (struct network_limits){ .connections = 256, .rate = 64, .upload = 1000 };
	hand_over(0);
	hand_over(1);
	cr_expect(gate_count(&gate, 0, 400, 5000));
	cr_expect(gate_count(&gate, 0, 450, 9000));
	cr_expect(gate_count(&gate, 1, 549, 0));
	cr_expect_eq(gate.sent, 999);
	cr_expect_eq(gate.received, 9000);
	cr_expect_eq(refusals, 0);
	cr_expect_not(gate_count(&gate, 1, 550, 0));
	cr_expect_eq(refusals, 2); /* each connection is told to end, once */
	cr_expect_eq(spent, 1);
	cr_expect_not(gate_count(&gate, 0, 451, 9000));
	cr_expect_eq(refusals, 2);
	cr_expect_eq(spent, 1);
	gate_read(&gate, 0, 452, 9001);
	gate_read(&gate, 1, 550, 0);
	cr_expect_eq(gate.sent, 1002);
	cr_expect_eq(gate.received, 9001);
	cr_expect_eq(gate.entry_count, 0);
	hand_over(0); /* which was dialled meanwhile */
	cr_expect_eq(gate.entry_count, 0);
}

Test(gate, bytes_without_a_limit_are_only_counted)
{
	is_server_there = true;
	gate.limits = (struct network_limits){ .connections = 256, .rate = 64 };
	hand_over(0);
	cr_expect(gate_count(&gate, 0, 1ULL << 40, 1ULL << 40));
	gate_read(&gate, 0, 1ULL << 40, 1ULL << 40);
	cr_expect_eq(gate.sent, 1ULL << 40);
	cr_expect_eq(spent, 0);
}

static int watch(struct cable *cable)
{
	struct epoll_event events[16];
	const time_t end = time(NULL) + RUN_MOST_S;
	uint64_t now_ms = 1;

	waiting = epoll_create1(EPOLL_CLOEXEC);
	gate.limits = (struct network_limits){ .connections = 256, .rate = 64 };
	gate_begin(&gate, cable->dns, cable->ports, cable->count);
	while ((!is_over || gate.entry_count > 0) && time(NULL) < end) {
		const int count = epoll_wait(waiting, events, 16, 100);

		for (int i = 0; i < count; i++)
			gate_turn(&gate, events[i].data.u32, now_ms);
		now_ms += is_late ? GATE_HELLO_MS + 1 : 0;
		gate_tick(&gate, now_ms);
	}
	EXPECT(dials == 6);
	EXPECT(reasons[CONNECTION_END_LATE] == 1);
	EXPECT(reasons[CONNECTION_END_OTHER_NAME] == 1);
	EXPECT(reasons[CONNECTION_END_NO_TLS] == 1);
	EXPECT(reasons[CONNECTION_END_SIDES] == 2);
	EXPECT(ended == 5 && refusals == 3 && gate.entry_count == 0 && gate.dial_count == 0);
	EXPECT(moved == 2 * (sizeof(hello_a) - 1 + 7));
	return 0;
}

/* Ask for the name's address. 0: there is none. */
static uint32_t resolve(const char *name)
{
	const struct timeval limit = { .tv_sec = 10 };
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(53) };
	uint8_t query[512] = { 0x12, 0x34, 1, 0, 0, 1 }, answer[512];
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	size_t used = 12;
	uint32_t address = 0;
	ssize_t size;

	for (const char *at = name; *at != '\0'; at += *at == '.') {
		const size_t length = strcspn(at, ".");

		query[used] = (uint8_t)length;
		memcpy(query + used + 1, at, length);
		used += length + 1;
		at += length;
	}
	memcpy(query + used, "\0\0\1\0\1", 5);
	used += 5;
	inet_pton(AF_INET, "198.18.0.1", &server.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* A connected socket takes an answer from the asked address alone. */
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0 &&
	    send(fd, query, used, 0) == (ssize_t)used) {
		size = recv(fd, answer, sizeof(answer), 0);
		if (size == (ssize_t)used + 16 && answer[7] == 1)
			memcpy(&address, answer + size - 4, 4);
	}
	close(fd);
	return address;
}

static int open_connection(uint32_t address, uint16_t port)
{
	const struct timeval limit = { .tv_sec = 10 };
	struct sockaddr_in target = { .sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = address };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&target, sizeof(target)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Send bytes and return the answer's size, or -1 if the connection is reset. */
static ssize_t exchange(uint32_t address, uint16_t port, const void *bytes, size_t size)
{
	const int fd = open_connection(address, port);
	char answer[1024];
	ssize_t got = -1;

	if (fd >= 0 && send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size)
		got = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	return got;
}

static int act(void)
{
	char hello_b[sizeof(hello_a)];
	const uint32_t a = resolve("a.example"), ssh = resolve("ssh.example");
	const ssize_t size = sizeof(hello_a) - 1;
	int fd;

	EXPECT(a != 0 && ssh != 0 && a != ssh);
	EXPECT(resolve("A.EXAMPLE") == a);
	EXPECT(resolve("evil.example") == 0);
	EXPECT(exchange(a, 443, hello_a, (size_t)size) == size);
	EXPECT(exchange(ssh, 8080, "SSH-2.0", 7) == 7);
	memcpy(hello_b, hello_a, sizeof(hello_a));
	hello_b[size - 9] = 'b';
	EXPECT(exchange(a, 443, hello_b, (size_t)size) == -1 && errno == ECONNRESET);
	EXPECT(exchange(a, 443, "GET / HTTP/1.1\r\n\r\n", 18) == -1 && errno == ECONNRESET);
	EXPECT(exchange(inet_addr("93.184.216.34"), 443, hello_a, (size_t)size) <= 0);
	EXPECT(connect_to(SOCK_STREAM, "93.184.216.34", 22) == ECONNREFUSED);
	fd = open_connection(a, 443);
	EXPECT(fd >= 0 && send(fd, hello_a, 20, 0) == 20);
	EXPECT(resolve(LATE_NAME) == 0);
	EXPECT(recv(fd, hello_b, sizeof(hello_b), 0) == -1 && errno == ECONNRESET);
	EXPECT(resolve(LAST_NAME) == 0);
	return 0;
}

Test(gate, a_workload_reaches_the_hosts_of_the_list_alone)
{
	const int result = run_with_cable(act, true, watch);

	if (result == NETNS_NONE)
		cr_skip_test("no user namespaces here");
	cr_expect_eq(result, 0);
}
