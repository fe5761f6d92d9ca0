/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of msp-audit in a child process, and this test as its supervisor: what is answered, what
 * is kept, and what is counted as missing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit_peer.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_audit.h"
#include "queue.h"

static char place[] = "/tmp/msp-test-XXXXXX";
static struct channel channel = { -1, IPC_SUPERVISOR, IPC_AUDIT, IPC_SERVE };
static struct audit_peer peer;

static void open_writer(void)
{
	cr_assert(mkdtemp(place));
	peer = audit_peer_start(place);
	channel.fd = peer.channel;
	audit_peer_hello(&peer, place);
}

static void close_writer(void)
{
	fd_close(&channel.fd);
	audit_peer_end(&peer);
	audit_peer_clear(place);
}

TestSuite(writer, .init = open_writer, .fini = close_writer);

static int send_record(uint64_t number, uint32_t wait_ms)
{
	const struct audit_field field = AUDIT_NUMBER(request, number);
	static struct ipc_audit_record record;

	audit_record_make(&record, AUDIT_LIMIT, &field, 1);
	record.number = number;
	record.wait_ms = wait_ms;
	return channel_send(&channel, IPC_TYPE_audit_record, &record, NULL, MSG_DONTWAIT);
}

/* Return the error of the next answer, which has to be to `number`. */
static int answer_to(uint64_t number)
{
	static struct channel_message message;
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(&channel, &message, 0, &wrong), 1);
	cr_assert_eq(message.type, (uint32_t)IPC_TYPE_audit_written);
	cr_assert_eq(ipc_body(&message, audit_written)->number, number);
	return (int)ipc_body(&message, audit_written)->error;
}

static bool has_answer(int wait_ms)
{
	struct pollfd entry = { .fd = channel.fd, .events = POLLIN };

	return poll(&entry, 1, wait_ms) == 1;
}

static size_t count_lines(void)
{
	return audit_peer_count(place, "\n");
}

static int take_lock(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", place, AUDIT_HEAD);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	return fd;
}

Test(writer, a_record_with_a_number_is_answered)
{
	cr_assert_eq(send_record(7, 1000), 0);
	cr_expect_eq(answer_to(7), 0);
	cr_expect_eq(count_lines(), 1UL);
}

Test(writer, a_record_without_one_is_not)
{
	cr_assert_eq(send_record(0, 0), 0);
	cr_assert_eq(send_record(1, 1000), 0);
	cr_expect_eq(answer_to(1), 0);
	cr_expect_not(has_answer(50));
	cr_expect_eq(count_lines(), 2UL);
}

Test(writer, everything_is_written_after_the_supervisor_has_ended)
{
	for (int i = 0; i < 100; i++)
		cr_assert_eq(send_record(0, 0), 0);
	fd_close(&channel.fd);
	cr_expect_eq(audit_peer_end(&peer), 0);
	cr_expect_eq(count_lines(), 100UL);
}

Test(writer, a_required_record_waits_for_the_lock_as_long_as_it_says)
{
	int lock = take_lock();
	uint64_t before = clock_now_us();

	cr_assert_eq(send_record(1, 300), 0);
	cr_expect_eq(answer_to(1), ETIMEDOUT);
	cr_expect_geq(clock_now_us() - before, 300000UL);
	/* Another one hears it sooner, until the lock was had. */
	before = clock_now_us();
	cr_assert_eq(send_record(2, 60000), 0);
	cr_expect_eq(answer_to(2), ETIMEDOUT);
	cr_expect_lt(clock_now_us() - before, 30000000UL);
	fd_close(&lock);
	cr_assert_eq(send_record(3, 60000), 0);
	cr_expect_eq(answer_to(3), 0);
	cr_expect_eq(count_lines(), 1UL); /* what was refused is not there */
}

Test(writer, what_has_happened_is_kept_while_the_lock_is)
{
	int lock = take_lock();

	for (int i = 0; i < 50; i++)
		cr_assert_eq(send_record(0, 0), 0);
	(void)usleep(100000);
	cr_expect_eq(count_lines(), 0UL);
	fd_close(&lock);
	cr_assert_eq(send_record(1, 10000), 0);
	cr_expect_eq(answer_to(1), 0);
	cr_expect_eq(count_lines(), 51UL);
	cr_expect_eq(audit_peer_count(place, "\"lost\""), 0UL);
}

Test(writer, the_end_waits_for_the_lock)
{
	int lock = take_lock();

	cr_assert_eq(send_record(0, 0), 0);
	fd_close(&channel.fd);
	(void)usleep(200000);
	cr_expect_eq(waitpid(peer.pid, NULL, WNOHANG), 0);
	fd_close(&lock);
	cr_expect_eq(audit_peer_end(&peer), 0);
	cr_expect_eq(count_lines(), 1UL);
}

/* Four times what the queue takes; what found no room is counted by the supervisor. */
Test(writer, a_full_queue_stops_the_supervisor_and_loses_nothing_that_was_taken)
{
	int lock = take_lock();
	uint64_t sent = 0;
	size_t pauses = 0;
	struct audit_field fields[IPC_AUDIT_FIELDS_MAX];
	static struct ipc_audit_record record;
	static char longest[IPC_AUDIT_TEXT_MAX + 1];

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < IPC_AUDIT_FIELDS_MAX; i++)
		fields[i] = AUDIT_TEXT(reason, longest);
	audit_record_make(&record, AUDIT_LIMIT, fields, IPC_AUDIT_FIELDS_MAX);
	/* A second without room: the queue is full, or the machine is busy. */
	while (pauses < (sent > QUEUE_BYTES / (2 * sizeof(record)) ? 20 : 400)) {
		const int error =
			channel_send(&channel, IPC_TYPE_audit_record, &record, NULL, MSG_DONTWAIT);

		cr_assert(error == 0 || error == -EAGAIN);
		sent += error == 0;
		pauses = error ? pauses + 1 : 0;
		if (error)
			(void)usleep(50000);
	}
	cr_expect_gt(sent, QUEUE_BYTES / (2 * sizeof(record)));
	fd_close(&lock);
	fd_close(&channel.fd);
	cr_expect_eq(audit_peer_end(&peer), 0);
	cr_expect_eq(audit_peer_count(place, "\n"), sent);
}

Test(writer, a_wrong_record_ends_it)
{
	static struct ipc_audit_record record = { .event = AUDIT_EVENT_COUNT };

	cr_assert_eq(channel_send(&channel, IPC_TYPE_audit_record, &record, NULL, 0), 0);
	cr_expect_neq(audit_peer_end(&peer), 0);
	cr_expect_eq(count_lines(), 0UL);
}

/* --- a disk that is full ---------------------------------------------------------------------- */

static void limit_files(rlim_t size)
{
	const struct rlimit limit = { size, RLIM_INFINITY };

	cr_assert_eq(prlimit(peer.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

Test(writer, a_full_disk_refuses_what_is_required_and_keeps_what_has_happened)
{
	cr_assert_eq(send_record(1, 1000), 0);
	cr_assert_eq(answer_to(1), 0);
	limit_files(200);
	cr_assert_eq(send_record(2, 1000), 0);
	cr_expect_eq(answer_to(2), EFBIG);
	cr_assert_eq(send_record(0, 0), 0);
	cr_assert_eq(send_record(3, 1000), 0);
	cr_expect_eq(answer_to(3), EFBIG);
	cr_expect_eq(count_lines(), 1UL);
	limit_files(RLIM_INFINITY);
	cr_assert_eq(send_record(4, 1000), 0);
	cr_expect_eq(answer_to(4), 0);
	cr_expect_eq(count_lines(), 3UL);
	cr_expect_eq(audit_peer_count(place, "\"lost\""), 0UL);
}

Test(writer, a_disk_that_has_room_again_is_found_without_a_new_record)
{
	cr_assert_eq(send_record(1, 1000), 0);
	cr_assert_eq(answer_to(1), 0);
	limit_files(200);
	cr_assert_eq(send_record(0, 0), 0);
	(void)usleep(100000);
	cr_expect_eq(count_lines(), 1UL);
	limit_files(RLIM_INFINITY);
	for (int i = 0; i < 200 && count_lines() < 2; i++)
		(void)usleep(20000);
	cr_expect_eq(count_lines(), 2UL);
}

Test(writer, a_disk_that_stays_full_does_not_keep_it)
{
	cr_assert_eq(send_record(1, 1000), 0);
	cr_assert_eq(answer_to(1), 0);
	limit_files(200);
	cr_assert_eq(send_record(0, 0), 0);
	fd_close(&channel.fd);
	cr_expect_eq(audit_peer_end(&peer), 0);
	cr_expect_eq(count_lines(), 1UL);
}

/* --- many writers ----------------------------------------------------------------------------- */

Test(writer, two_hundred_at_once_lose_nothing)
{
	static struct audit_peer peers[200];
	size_t refused = 0;

	for (size_t i = 0; i < 200; i++) {
		peers[i] = audit_peer_start(place);
		audit_peer_hello(&peers[i], place);
	}
	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < 200; i++) {
			channel.fd = peers[i].channel;
			cr_assert_eq(send_record(0, 0), 0);
			cr_assert_eq(send_record(1, 60000), 0);
		}
		for (size_t i = 0; i < 200; i++) {
			channel.fd = peers[i].channel;
			refused += answer_to(1) != 0;
		}
	}
	channel.fd = peer.channel;
	for (size_t i = 0; i < 200; i++) {
		fd_close(&peers[i].channel);
		cr_expect_eq(audit_peer_end(&peers[i]), 0);
	}
	cr_expect_eq(refused, 0UL);
	cr_expect_eq(count_lines(), 2000UL);
}
