/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay between pipes, sockets, files and terminals. Each test is the loop that a session is:
 * poll, step; a test that would wait for ever ends with its alarm.
 */
#include "ask/relay.h"
#include "frontend/nonblocking.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"

static struct relay relay;
static uint8_t buffer[RELAY_BUFFER_BYTES];

static void begin(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(20);
}

TestSuite(relay, .init = begin);

static void make_pipe(int ends[2])
{
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
}

static void make_relay(int source, enum relay_end source_end, int sink, enum relay_end sink_end)
{
	if (source_end == RELAY_OWN)
		cr_assert_eq(fd_set_nonblocking(source, true), 0);
	if (sink_end == RELAY_OWN)
		cr_assert_eq(fd_set_nonblocking(sink, true), 0);
	relay_init(&relay, source, source_end, sink, sink_end);
	relay.buffer = buffer;
}

/* One turn of the loop; false when nothing was ready within `wait_ms`. */
static bool turn(int wait_ms)
{
	struct pollfd entries[2];

	relay_poll(&relay, true, entries);
	if (poll(entries, 2, wait_ms) <= 0)
		return false;
	(void)relay_step(&relay, entries);
	return true;
}

static uint8_t byte_at(size_t position)
{
	return (uint8_t)(position * 31 ^ position >> 8 ^ position >> 16);
}

/* A terminal gets a copy, of which the end is kept. */
Test(relay, keeps_the_end)
{
	static struct relay_tail tail;
	int in[2], out[2];
	uint8_t bytes[3000];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_TERMINAL);
	relay.tail = &tail;
	for (int i = 0; i < 3; i++) {
		memset(bytes, 'a' + i, sizeof(bytes));
		cr_assert_eq(write(in[1], bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
		while (turn(100))
			;
		cr_assert_eq(tail.size, i == 0 ? sizeof(bytes) : RELAY_TAIL_BYTES);
	}
	cr_assert_eq(tail.bytes[RELAY_TAIL_BYTES - sizeof(bytes) - 1], 'b');
	cr_assert_eq(tail.bytes[RELAY_TAIL_BYTES - sizeof(bytes)], 'c');
	cr_assert_eq(tail.bytes[RELAY_TAIL_BYTES - 1], 'c');
}

/* Push `size` bytes into `in`, take them from `out`, never waiting at either, and compare. */
static void expect_passage(int in, int out, size_t size)
{
	static uint8_t piece[100000];
	size_t sent = 0;
	size_t received = 0;

	cr_assert_eq(fd_set_nonblocking(in, true), 0);
	cr_assert_eq(fd_set_nonblocking(out, true), 0);
	while (received < size || !relay_is_over(&relay)) {
		const size_t want = size - sent < 70000 ? size - sent : 70000;
		ssize_t moved;

		for (size_t i = 0; i < want; i++)
			piece[i] = byte_at(sent + i);
		moved = want > 0 ? write(in, piece, want) : 0;
		sent += moved > 0 ? (size_t)moved : 0;
		if (sent == size && in >= 0) {
			(void)close(in);
			in = -1;
		}
		if (!relay_is_over(&relay))
			(void)turn(0);
		moved = read(out, piece, sizeof(piece));
		for (ssize_t i = 0; i < moved; i++)
			cr_assert_eq(piece[i], byte_at(received + (size_t)i), "byte %zu",
				     received + (size_t)i);
		received += moved > 0 ? (size_t)moved : 0;
		cr_assert_leq(received, size);
	}
	cr_expect_eq(relay.state, RELAY_ENDED);
}

Test(relay, pipe_to_pipe)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	cr_expect(relay.uses_splice);
	expect_passage(in[1], out[0], 5000000);
}

Test(relay, pipe_to_pipe_by_copying)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_PIPE, out[1], RELAY_PIPE);
	relay.uses_splice = false;
	expect_passage(in[1], out[0], 1000000);
}

/* What two pipes hold after a passage from one to the other, the second the caller's. */
static void expect_room(size_t size, int before, int own, int callers)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	if (before > 0)
		cr_assert_eq(fcntl(out[1], F_SETPIPE_SZ, before), before);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	expect_passage(in[1], out[0], size);
	cr_expect_eq(fcntl(in[0], F_GETPIPE_SZ), own);
	cr_expect_eq(fcntl(out[1], F_GETPIPE_SZ), callers);
}

Test(relay, the_pipes_of_a_long_stream_are_made_larger)
{
	expect_room(1000000, 0, 1 << 16, 1 << 16);
	expect_room(3000000, 0, 1 << 20, 1 << 18);
}

Test(relay, no_pipe_is_made_smaller)
{
	expect_room(3000000, 1 << 19, 1 << 20, 1 << 19);
}

Test(relay, socket_to_pipe)
{
	int in[2], out[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
	make_pipe(out);
	make_relay(in[0], RELAY_SOCKET, out[1], RELAY_OWN);
	expect_passage(in[1], out[0], 3000000);
}

Test(relay, pipe_to_socket)
{
	int in[2], out[2];

	make_pipe(in);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_SOCKET);
	expect_passage(in[1], out[0], 3000000);
}

static int file_with(size_t size)
{
	const int fd = memfd_create("relay", MFD_CLOEXEC);
	uint8_t *bytes = malloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	cr_assert_eq(fd_write_all(fd, bytes, size), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	free(bytes);
	return fd;
}

Test(relay, file_to_pipe)
{
	static uint8_t piece[65536];
	size_t received = 0;
	int out[2];

	make_pipe(out);
	make_relay(file_with(1000000), RELAY_FILE, out[1], RELAY_OWN);
	cr_expect(relay.uses_splice);
	cr_assert_eq(fd_set_nonblocking(out[0], true), 0);
	while (received < 1000000) {
		ssize_t moved;

		if (!relay_is_over(&relay))
			(void)turn(0);
		moved = read(out[0], piece, sizeof(piece));
		for (ssize_t i = 0; i < moved; i++)
			cr_assert_eq(piece[i], byte_at(received + (size_t)i));
		received += moved > 0 ? (size_t)moved : 0;
	}
	while (!relay_is_over(&relay))
		(void)turn(100);
	cr_expect_eq(relay.state, RELAY_ENDED);
}

static void pipe_into_file(int file)
{
	int in[2];

	make_pipe(in);
	make_relay(in[0], RELAY_OWN, file, RELAY_FILE);
	cr_assert_eq(write(in[1], "hello", 5), 5);
	(void)close(in[1]);
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	cr_expect_eq(relay.state, RELAY_ENDED);
}

Test(relay, pipe_to_file)
{
	const int file = memfd_create("relay", MFD_CLOEXEC);
	char text[8] = "";

	pipe_into_file(file);
	cr_expect_eq(pread(file, text, sizeof(text), 0), 5);
	cr_expect_str_eq(text, "hello");
}

Test(relay, pipe_to_a_file_that_is_appended_to)
{
	const int file = memfd_create("relay", MFD_CLOEXEC);
	char text[8] = "";

	cr_assert_eq(write(file, "a ", 2), 2);
	cr_assert_eq(fcntl(file, F_SETFL, O_APPEND), 0);
	pipe_into_file(file);
	cr_expect_not(relay.uses_splice, "the kernel refuses to splice to it");
	cr_expect_eq(pread(file, text, sizeof(text) - 1, 0), 7);
	cr_expect_str_eq(text, "a hello");
}

Test(relay, pipe_to_dev_null)
{
	pipe_into_file(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

Test(relay, a_full_disk_is_a_failure)
{
	int in[2];

	make_pipe(in);
	make_relay(in[0], RELAY_OWN, open("/dev/full", O_WRONLY | O_CLOEXEC), RELAY_FILE);
	cr_assert_eq(write(in[1], "x", 1), 1);
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	cr_expect_eq(relay.state, RELAY_FAILED);
	cr_expect_eq(relay.error, ENOSPC);
}

Test(relay, nothing_to_do_is_no_busy_loop)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	cr_expect_not(turn(50), "an empty source does not wake us");
	cr_assert_eq(write(in[1], "x", 1), 1);
	cr_expect(turn(1000));
	cr_expect_leq((int)turn(50) + (int)turn(50), 1, "at most one idle turn after a move");
}

/* What is ready but cannot be moved must not wake us again and again. */
static void expect_rest_when_full(int in)
{
	static uint8_t piece[65536];
	int turns = 0;

	cr_assert_eq(fd_set_nonblocking(in, true), 0);
	while (write(in, piece, sizeof(piece)) > 0 || turn(50)) {
		turns++;
		cr_assert_lt(turns, 1000, "a full sink does not let it rest");
	}
	cr_expect_eq(relay.state, RELAY_SINK);
	cr_expect_not(turn(50));
}

Test(relay, a_full_pipe_lets_it_rest)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	expect_rest_when_full(in[1]);
}

Test(relay, a_full_socket_lets_it_rest)
{
	int in[2], out[2];

	make_pipe(in);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_SOCKET);
	expect_rest_when_full(in[1]);
}

Test(relay, a_blocking_pipe_with_little_room_does_not_hold_it_up)
{
	uint8_t page[4096];
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	relay.uses_splice = false;
	expect_rest_when_full(in[1]);
	cr_assert_eq(read(out[0], page, sizeof(page)), (ssize_t)sizeof(page));
	cr_expect(turn(1000), "there is room for a page");
	cr_expect_not(turn(50), "and for no more");
}

Test(relay, the_callers_flags_stay)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_PIPE, out[1], RELAY_PIPE);
	cr_assert_eq(write(in[1], "x", 1), 1);
	(void)turn(100);
	cr_expect_eq(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	cr_expect_eq(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
}

Test(relay, a_reader_that_goes_breaks_it)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	(void)close(out[0]);
	cr_expect(turn(1000), "noticed without anything to write");
	cr_expect_eq(relay.state, RELAY_BROKEN);
}

Test(relay, a_reader_that_goes_breaks_a_write_too)
{
	int in[2], out[2];
	struct pollfd entries[2];

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	(void)close(out[0]);
	cr_assert_eq(write(in[1], "x", 1), 1);
	relay_poll(&relay, false, entries);
	cr_assert_eq(poll(entries, 2, 1000), 1);
	(void)relay_step(&relay, entries);
	cr_expect_eq(relay.state, RELAY_BROKEN);
}

Test(relay, a_socket_that_goes_breaks_it)
{
	int in[2], out[2];

	make_pipe(in);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_SOCKET);
	(void)close(out[0]);
	cr_assert_eq(write(in[1], "x", 1), 1);
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	cr_expect_eq(relay.state, RELAY_BROKEN);
}

Test(relay, what_is_in_the_buffer_is_passed_on_before_the_end)
{
	int in[2], out[2];
	uint8_t piece[20000] = { 0 };
	ssize_t received = 0;

	make_pipe(in);
	make_pipe(out);
	make_relay(in[0], RELAY_OWN, out[1], RELAY_PIPE);
	relay.uses_splice = false; /* 4096 bytes at a time */
	cr_assert_eq(write(in[1], piece, sizeof(piece)), (ssize_t)sizeof(piece));
	(void)close(in[1]);
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	(void)close(out[1]);
	while (true) {
		const ssize_t got = read(out[0], piece, sizeof(piece));

		if (got <= 0)
			break;
		received += got;
	}
	cr_expect_eq(received, 20000);
}

Test(relay, a_source_that_cannot_be_read)
{
	int out[2];

	make_pipe(out);
	make_relay(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), RELAY_FILE, out[1], RELAY_OWN);
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	cr_expect_eq(relay.state, RELAY_FAILED);
	cr_expect_eq(relay.error, EISDIR);
}

Test(relay, a_terminal)
{
	const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];
	int out[2];
	int slave;
	char text[16] = "";

	cr_assert_geq(master, 0);
	cr_assert_eq(grantpt(master), 0);
	cr_assert_eq(unlockpt(master), 0);
	cr_assert_eq(ptsname_r(master, name, sizeof(name)), 0);
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(slave, 0);
	cr_expect_eq(relay_end_of(slave), RELAY_TERMINAL);
	make_pipe(out);
	make_relay(master, RELAY_OWN, out[1], RELAY_PIPE);
	cr_assert_eq(write(slave, "hi", 2), 2);
	cr_assert(turn(1000));
	(void)turn(100);
	(void)turn(100);
	cr_expect_eq(read(out[0], text, sizeof(text)), 2);
	(void)close(slave); /* the last user goes: EIO, which is its end of file */
	while (!relay_is_over(&relay))
		cr_assert(turn(1000));
	cr_expect_eq(relay.state, RELAY_ENDED);
}

Test(relay, kinds_of_ends)
{
	int ends[2];

	make_pipe(ends);
	cr_expect_eq(relay_end_of(ends[0]), RELAY_PIPE);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	cr_expect_eq(relay_end_of(ends[0]), RELAY_SOCKET);
	cr_expect_eq(relay_end_of(memfd_create("x", MFD_CLOEXEC)), RELAY_FILE);
	cr_expect_eq(relay_end_of(open("/dev/null", O_RDWR | O_CLOEXEC)), RELAY_FILE);
	cr_expect_eq(relay_end_of(9999), RELAY_FILE);
}
