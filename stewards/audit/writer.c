/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ipc/ipc_audit.h"
#include "common/log.h"
#include "file.h"
#include "queue.h"

/* Records in one hold of the lock: others wait for it. */
#define BATCH 64

/* Longest wait of a required record once another one has waited in vain, until the lock was had. */
#define STUCK_MS 100

/* Pause between attempts to write to a full disk. */
#define RETRY_MS 200

/* How long records are kept for a lock after their supervisor has ended, and how long with the
 * caller's stderr. */
#define LAST_US 60000000
#define ALONE_US 200000

static struct {
	const struct channel *channel;
	const char *path;
	int open_error;
	int error;         /* the last attempt's to write */
	bool is_told;      /* that records cannot be written */
	bool is_stuck;     /* a required record has met its deadline */
	bool is_alone;     /* without stderr */
	uint32_t cpu;      /* that it runs on */
	uint64_t ended_us; /* when the supervisor had gone; 0: it is there */
} writer = { .cpu = UINT32_MAX };

static void tell_failure(int error)
{
	if (!writer.is_told)
		log_line("the audit log in %s cannot be written: %s", writer.path,
			 error == -ETIMEDOUT ? "another process keeps its lock"
					     : errno_text(-error));
	writer.is_told = true;
}

static void tell_success(uint64_t missing)
{
	if (writer.is_told)
		log_line("the audit log is written again; records missing from it: %llu",
			 (unsigned long long)missing);
	writer.is_told = false;
}

/* A supervisor that cannot be told has ended, which the next receive says. */
static void send_answer(uint64_t number, int error)
{
	const struct ipc_audit_written written = { number, (uint32_t)-error };

	(void)channel_send(writer.channel, IPC_TYPE_audit_written, &written, NULL, MSG_DONTWAIT);
}

/* Refuse required records: all of them, or those whose deadline is over. */
static void refuse_required(int error, uint64_t now_us)
{
	for (struct queued *entry = queue_first(); entry; entry = queue_next(entry)) {
		if (entry->record.number == 0 || entry->is_dropped || entry->deadline_us > now_us)
			continue;
		entry->is_dropped = true;
		send_answer(entry->record.number, error);
		if (error == -ETIMEDOUT) {
			writer.is_stuck = true;
			tell_failure(error);
		}
	}
	while (queue_first() && queue_first()->is_dropped)
		queue_remove();
}

/* Run on the supervisor's processor: it sleeps until the answer, and waking another processor takes
 * longer than the record. Where that is not allowed, nothing is lost but time. */
static void follow_supervisor(uint32_t cpu)
{
	cpu_set_t set;

	if (cpu == writer.cpu || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	writer.cpu = cpu;
}

static int take_record(const struct channel_message *message)
{
	const struct ipc_audit_record *record = ipc_body(message, audit_record);
	uint32_t wait_ms = record->wait_ms;

	if (message->type != IPC_TYPE_audit_record || !audit_record_is_right(record))
		return -EPROTO;
	audit_file_lose(record->lost);
	follow_supervisor(record->cpu);
	if (writer.is_stuck && wait_ms > STUCK_MS)
		wait_ms = STUCK_MS;
	queue_put(record, clock_now_us() + (uint64_t)wait_ms * 1000);
	return 0;
}

/* Take the records that have come: they are written under one lock. Wait for a record where nothing
 * else is to do. Without room they stay in the socket, and the supervisor counts those that do not
 * fit there. */
static int receive_records(void)
{
	static struct channel_message message;
	struct pollfd entry = { .fd = writer.channel->fd, .events = POLLIN };
	enum ipc_error wrong = IPC_OK;
	int flags = queue_first() ? MSG_DONTWAIT : 0;
	int status = -EAGAIN;

	if (writer.ended_us > 0)
		return 0;
	if (queue_first() && writer.error)
		(void)poll(&entry, 1, RETRY_MS); /* the disk is full; a signal is no harm */
	while (queue_has_room()) {
		status = channel_receive(writer.channel, &message, flags, &wrong);
		if (status == 1 && take_record(&message) != 0)
			return -EPROTO;
		if (status != 1)
			break;
		flags = MSG_DONTWAIT;
	}
	if (status == 0 || status == -ECONNRESET)
		writer.ended_us = clock_now_us();
	return status == 1 || status == -EAGAIN || status == -EINTR || writer.ended_us > 0 ? 0
											   : status;
}

/* Under the lock. Stops at a record that has to be kept. */
static int write_batch(void)
{
	struct queued *entry;

	for (int i = 0; i < BATCH && (entry = queue_first()); i++) {
		const uint64_t missing = audit_file_lost();
		const int error = entry->is_dropped ? 0 : audit_file_add(&entry->record);

		if (error && entry->record.number == 0)
			return error;
		if (!error && !entry->is_dropped)
			tell_success(missing);
		if (entry->record.number != 0 && !entry->is_dropped)
			send_answer(entry->record.number, error);
		queue_remove();
	}
	return 0;
}

static void write_records(void)
{
	int error = writer.open_error;

	writer.error = 0;
	if (!queue_first())
		return;
	if (!error)
		error = audit_file_lock();
	if (error == -EAGAIN) {
		refuse_required(-ETIMEDOUT, clock_now_us());
		return;
	}
	if (!error) {
		writer.is_stuck = false;
		error = write_batch();
		audit_file_unlock();
	}
	if (!error)
		return;
	writer.error = error;
	refuse_required(error, UINT64_MAX);
	tell_failure(error);
}

/* Return whether what waits cannot be written any more. */
static bool is_hopeless(void)
{
	return writer.ended_us > 0 && (writer.error || clock_now_us() - writer.ended_us > LAST_US);
}

/* Leave stderr to the process that started msp, which may read it to the end, and go on without. */
static void go_on_alone(void)
{
	if (writer.is_alone || writer.ended_us == 0 || !queue_first())
		return;
	log_line("records are still to be written to the audit log in %s: another process keeps "
		 "its lock",
		 writer.path);
	(void)dup2(STDIN_FILENO, STDERR_FILENO); /* /dev/null; both are open */
	writer.is_alone = true;
}

static uint64_t count_waiting(void)
{
	uint64_t count = audit_file_lost();

	for (struct queued *entry = queue_first(); entry; entry = queue_next(entry))
		count += !entry->is_dropped;
	return count;
}

int writer_run(const struct channel *channel, const char *path, int open_error)
{
	int error = 0;

	writer.channel = channel;
	writer.path = path;
	writer.open_error = open_error;
	while (!error && !is_hopeless() && (writer.ended_us == 0 || queue_first())) {
		error = receive_records();
		if (!error)
			write_records();
		if (clock_now_us() - writer.ended_us > ALONE_US)
			go_on_alone();
	}
	if (!error && count_waiting() > 0)
		log_line("records missing from the audit log in %s: %llu", path,
			 (unsigned long long)count_waiting());
	return error;
}
