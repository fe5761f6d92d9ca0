/* SPDX-License-Identifier: Apache-2.0
 *
 * The port of a machine, whose kernel may be the workload's: what goes where, and what ends the
 * talk.
 */
#include "vm/talk.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct mounts mounts = { .count = 1, .list = { { .path = "/" } } };
static struct machine machine;
static struct talk talk;
static char word[] = "true";
static char *words[] = { word, NULL };
static int port, console, out, errors;

static void set_up(void)
{
	int ports[2], consoles[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ports), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, consoles), 0);
	machine.port = ports[0];
	machine.console = consoles[0];
	port = ports[1];
	console = consoles[1];
	talk.machine = &machine;
	talk.mounts = &mounts;
	talk.arguments = words;
	talk.boot_ms = 2000;
	out = memfd_create("out", MFD_CLOEXEC);
	errors = memfd_create("errors", MFD_CLOEXEC);
	talk_begin();
}

TestSuite(talk, .init = set_up, .timeout = 20);

static void send_frame(uint32_t type, const void *body, uint32_t size)
{
	const struct wire_head head = { type, size };

	cr_assert_eq(write(port, &head, sizeof(head)), sizeof(head));
	cr_assert_eq(write(port, body, size), size);
}

static void send_ended(uint32_t code, uint32_t signal)
{
	const struct wire_ended ended = { code, signal };

	send_frame(WIRE_ENDED, &ended, sizeof(ended));
}

/* Talk with a machine that sends no more; stdout and stderr are files meanwhile. */
static enum talk_end talk_all(void)
{
	const int before[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	enum talk_end end;

	(void)shutdown(port, SHUT_WR);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(errors, STDERR_FILENO);
	end = talk_run(&talk);
	(void)dup2(before[0], STDOUT_FILENO);
	(void)dup2(before[1], STDERR_FILENO);
	return end;
}

static void expect_file(int fd, const char *text)
{
	static char bytes[2 * WIRE_BODY_MAX];
	const ssize_t size = pread(fd, bytes, sizeof(bytes) - 1, 0);

	bytes[size > 0 ? size : 0] = '\0';
	cr_expect_str_eq(bytes, text);
}

Test(talk, streams_and_exit_code)
{
	send_frame(WIRE_READY, NULL, 0);
	send_frame(WIRE_OUTPUT, "one ", 4);
	send_frame(WIRE_ERRORS, "wrong", 5);
	send_frame(WIRE_WANT, NULL, 0);
	send_frame(WIRE_OUTPUT, "two", 3);
	send_ended(7, 0);
	send_frame(WIRE_OUTPUT, "late", 4);
	cr_expect_eq(talk_all(), TALK_ENDED);
	cr_expect_eq(talk.ended.code, 7);
	expect_file(out, "one two");
	expect_file(errors, "wrong");
}

Test(talk, request_is_sent_when_the_machine_listens)
{
	struct wire_head head;
	static uint8_t body[WIRE_BODY_MAX];
	uint32_t types[8] = { 0 };
	size_t count = 0;

	cr_assert_eq(setenv("ONLY", "one", 1), 0);
	environ[1] = NULL;
	send_frame(WIRE_READY, NULL, 0);
	cr_expect_eq(talk_all(), TALK_GONE);
	(void)shutdown(machine.port, SHUT_WR);
	while (count < 8 && recv(port, &head, sizeof(head), MSG_WAITALL) == sizeof(head)) {
		cr_assert_leq(head.size, WIRE_BODY_MAX);
		cr_assert_eq(recv(port, body, head.size, MSG_WAITALL), head.size);
		types[count++] = head.type;
	}
	cr_assert_eq(count, 4);
	cr_expect_eq(types[0], WIRE_MOUNT);
	cr_expect_eq(types[1], WIRE_ARGUMENTS);
	cr_expect_eq(types[2], WIRE_ENVIRONMENT);
	cr_expect_eq(types[3], WIRE_START);
}

Test(talk, a_machine_that_reads_no_more)
{
	static const struct timeval most = { .tv_usec = 1000 };
	static char large[1 << 20];

	memset(large, 'x', sizeof(large) - 1);
	words[0] = large;
	cr_assert_eq(setsockopt(machine.port, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)), 0);
	send_frame(WIRE_READY, NULL, 0);
	send_frame(WIRE_OUTPUT, "before", 6);
	cr_expect_eq(talk_all(), TALK_DEAF);
	words[0] = word;
	cr_expect_eq(recv(port, large, sizeof(large), MSG_DONTWAIT) > 0, true, "it got some");
}

Test(talk, largest_part)
{
	static char bytes[WIRE_BODY_MAX + 1];

	memset(bytes, 'x', WIRE_BODY_MAX);
	send_frame(WIRE_READY, NULL, 0);
	send_frame(WIRE_OUTPUT, bytes, WIRE_BODY_MAX);
	cr_expect_eq(talk_all(), TALK_GONE);
	expect_file(out, bytes);
}

/* Frames that the first process never sends; in these a head has no body behind it. */
Test(talk, wrong_frames)
{
	static const struct wire_head heads[] = {
		{ 0, 0 },
		{ WIRE_MOUNT, 0 },
		{ WIRE_START, sizeof(struct wire_start) },
		{ WIRE_INPUT, 0 },
		{ WIRE_TYPE_COUNT, 0 },
		{ ~0U, ~0U },
		{ WIRE_READY, 0 }, /* again */
		{ WIRE_READY, 1 },
		{ WIRE_WANT, 1 },
		{ WIRE_OUTPUT, 0 },
		{ WIRE_OUTPUT, WIRE_BODY_MAX + 1 },
		{ WIRE_ERRORS, ~0U },
		{ WIRE_FAILED, 0 },
		{ WIRE_FAILED, sizeof(struct wire_failed) - 1 },
		{ WIRE_FAILED, sizeof(struct wire_failed) + 1 },
		{ WIRE_ENDED, 0 },
		{ WIRE_ENDED, sizeof(struct wire_ended) + 1 },
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		set_up();
		send_frame(WIRE_READY, NULL, 0);
		cr_assert_eq(write(port, &heads[i], sizeof(heads[i])), sizeof(heads[i]));
		cr_expect_eq(talk_all(), TALK_WRONG, "%zu", i);
		expect_file(out, "");
		(void)close(port);
		(void)close(machine.port);
	}
}

Test(talk, nothing_counts_before_the_machine_listens)
{
	for (uint32_t type = WIRE_WANT; type <= WIRE_ENDED; type++) {
		set_up();
		send_frame(type, "12345678", type == WIRE_WANT ? 0 : 8);
		cr_expect_eq(talk_all(), TALK_WRONG, "%u", type);
		expect_file(out, "");
		expect_file(errors, "");
		(void)close(port);
		(void)close(machine.port);
	}
}

Test(talk, wrong_ends)
{
	static const struct wire_ended ends[] = {
		{ 256, 0 },     { ~0U, 0 },     { 0, SIGSTOP }, { 0, SIGTSTP },
		{ 0, SIGCHLD }, { 0, SIGCONT }, { 0, _NSIG },   { 0, ~0U },
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		set_up();
		send_frame(WIRE_READY, NULL, 0);
		send_ended(ends[i].code, ends[i].signal);
		cr_expect_eq(talk_all(), TALK_WRONG, "%zu", i);
	}
}

Test(talk, end_by_a_signal)
{
	send_frame(WIRE_READY, NULL, 0);
	send_ended(0, SIGKILL);
	cr_expect_eq(talk_all(), TALK_ENDED);
	cr_expect_eq(talk.ended.signal, SIGKILL);
}

Test(talk, reason_of_a_failure_is_a_line)
{
	struct wire_failed failed = { .error = 2 };

	memset(failed.act, '\033', sizeof(failed.act));
	memcpy(failed.act, "mounting /\n\200", 12);
	send_frame(WIRE_READY, NULL, 0);
	send_frame(WIRE_FAILED, &failed, sizeof(failed));
	cr_expect_eq(talk_all(), TALK_FAILED);
	cr_expect_eq(strlen(talk.failed.act), sizeof(failed.act) - 1);
	cr_expect_eq(strncmp(talk.failed.act, "mounting /????", 14), 0, "%s", talk.failed.act);
}

Test(talk, cut_off_frames)
{
	send_frame(WIRE_READY, NULL, 0);
	cr_assert_eq(write(port, "\13\0\0\0\12\0\0\0abc", 11), 11);
	cr_expect_eq(talk_all(), TALK_GONE);
	expect_file(out, "");
}

Test(talk, machine_that_says_nothing)
{
	talk.boot_ms = 30;
	cr_expect_eq(talk_run(&talk), TALK_LATE);
}

Test(talk, signal_before_there_is_a_command)
{
	cr_assert_eq(raise(SIGWINCH), 0);
	cr_assert_eq(raise(SIGTERM), 0);
	cr_expect_eq(talk_run(&talk), TALK_SIGNALED);
	cr_expect_eq(talk.ended.signal, SIGTERM);
}

Test(talk, second_machine_begins_anew)
{
	send_frame(WIRE_READY, NULL, 0);
	cr_assert_eq(write(port, "\13\0", 2), 2);
	cr_expect_eq(talk_all(), TALK_GONE);
	set_up();
	send_frame(WIRE_READY, NULL, 0);
	send_ended(1, 0);
	cr_expect_eq(talk_all(), TALK_ENDED);
}

Test(talk, end_of_the_console_is_kept)
{
	char line[100];

	for (int i = 0; i < 100; i++) {
		memset(line, 'a' + i % 26, sizeof(line));
		cr_assert_eq(write(console, line, sizeof(line)), sizeof(line));
	}
	talk_drain(&talk); /* the other end is open: it does not wait */
	cr_expect_eq(talk.console_size, TALK_CONSOLE_MAX);
	cr_expect_eq(talk.console[TALK_CONSOLE_MAX - 1], 'a' + 99 % 26);
	cr_expect_eq(machine.console, -1);
}
