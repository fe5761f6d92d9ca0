/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_audit.h"
#include "common/log.h"
#include "line.h"

#define FILE_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* How long the kernel queues this process for the lock before new records are looked at. */
#define LOCK_STEP_US 20000

/* How the end of the log was found. */
enum found {
	FOUND_WHOLE,
	FOUND_NEXT, /* the head is one record behind */
	FOUND_OPEN, /* only the last newline is missing */
	FOUND_TORN,
	FOUND_EDITED,  /* the last record is not the one that was written */
	FOUND_SHORT,   /* it ends before it did */
	FOUND_LONG,    /* behind its end is what is no record */
	FOUND_NO_HEAD, /* it is not said where it ended */
};

static const char *const found_names[] = {
	[FOUND_EDITED] = "edited",
	[FOUND_SHORT] = "short",
	[FOUND_LONG] = "long",
	[FOUND_NO_HEAD] = "no_head",
};

static struct {
	int directory;
	int head;
	int log;
	ino_t inode; /* the log's */
	uint32_t pid;
	bool is_checked;       /* its last record was looked at */
	bool is_end_known;     /* under the lock: where the next record goes, */
	struct audit_head end; /* which is here */
	uint64_t lost;         /* for the next record */
} file = { .directory = -1, .head = -1, .log = -1 };

static struct audit_line line;
static char buffer[AUDIT_LINE_MAX];

static bool is_there(const char *name)
{
	struct stat status;

	return fstatat(file.directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_file(const char *name)
{
	struct stat status;
	int fd = openat(file.directory, name, FILE_FLAGS, S_IRUSR | S_IWUSR);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	fd_close(&fd);
	return -EINVAL;
}

int audit_file_open(int directory, uint32_t pid)
{
	file.directory = directory;
	file.pid = pid;
	file.head = open_file(AUDIT_HEAD);
	return file.head < 0 ? file.head : 0;
}

static int try_lock(int flags)
{
	if (flock(file.head, LOCK_EX | flags) == 0)
		return 0;
	return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

/* The timer goes on until it is stopped: a signal may come before flock() waits. */
int audit_file_lock(void)
{
	const struct itimerval step = { { 0, LOCK_STEP_US }, { 0, LOCK_STEP_US } };
	const struct itimerval none = { { 0, 0 }, { 0, 0 } };
	int error = try_lock(LOCK_NB);

	if (error != -EAGAIN || setitimer(ITIMER_REAL, &step, NULL) != 0)
		return error;
	error = try_lock(0);
	(void)setitimer(ITIMER_REAL, &none, NULL); /* cannot fail after the call before */
	return error;
}

void audit_file_unlock(void)
{
	file.is_end_known = false;
	(void)flock(file.head, LOCK_UN); /* cannot fail: the lock is held */
}

/* The file that is called so now may be another one than before: somebody rotated. */
static int reopen_log(uint64_t *ret_size)
{
	struct stat status;
	char name[AUDIT_NAME_MAX];

	audit_file_name(0, name);
	if (fstatat(file.directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			return -errno;
		status = (struct stat){ .st_ino = 0 };
	}
	if (file.log < 0 || status.st_ino != file.inode) {
		fd_close(&file.log);
		file.log = open_file(name);
		if (file.log < 0)
			return file.log;
		if (fstat(file.log, &status) != 0)
			return -errno;
		file.inode = status.st_ino;
	}
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

/* All `size` bytes at `at` into the buffer. */
static bool read_at(int fd, uint64_t at, size_t size)
{
	return size <= sizeof(buffer) && pread(fd, buffer, size, (off_t)at) == (ssize_t)size;
}

/* The last line of `fd`, which ends at `size`. */
static bool read_last(int fd, uint64_t size, struct audit_link *ret)
{
	const size_t part = size < sizeof(buffer) ? (size_t)size : sizeof(buffer);
	size_t begin = part;

	if (part == 0 || !read_at(fd, size - part, part))
		return false;
	while (begin > 1 && buffer[begin - 2] != '\n')
		begin--;
	return audit_link_read(buffer + begin - 1, part - begin + 1, ret);
}

/* Was it being rotated when its writer was killed? Then the end is in the file before. */
static bool is_rotated(const struct audit_head *head)
{
	struct audit_link last;
	struct stat status;
	char name[AUDIT_NAME_MAX];
	bool is_end;
	int fd;

	audit_file_name(1, name);
	fd = openat(file.directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	is_end = fd >= 0 && fstat(fd, &status) == 0 && (uint64_t)status.st_size == head->size &&
		 read_last(fd, head->size, &last) && strcmp(last.hash, head->hash) == 0;
	fd_close(&fd);
	return is_end;
}

/* Is a whole line the record that follows the head's? Then the head becomes its. */
static bool take_next(struct audit_head *head, const char *bytes, size_t line_size)
{
	struct audit_link next;

	if (!audit_link_read(bytes, line_size, &next) || !next.is_intact ||
	    next.seq != head->seq + 1 || strcmp(next.previous, head->hash) != 0 ||
	    memchr(bytes, '\n', line_size) != bytes + line_size - 1)
		return false;
	head->seq = next.seq;
	memcpy(head->hash, next.hash, sizeof(head->hash));
	return true;
}

/* Examine the bytes between `from`, the end that the head knows, and the end of the file: the next
 * record, or a torn one, which may have its newline and the record about it already. */
static enum found examine_rest(struct audit_head *head, uint64_t from, uint64_t size)
{
	const size_t rest = (size_t)(size - from);
	const char *end;
	size_t line_size;
	bool is_next;

	head->size = from;
	if (rest == 0)
		return FOUND_WHOLE;
	if (size - from >= sizeof(buffer) || !read_at(file.log, from, rest))
		return FOUND_LONG;
	end = memchr(buffer, '\n', rest);
	line_size = end ? (size_t)(end - buffer) + 1 : rest;
	if (end && line_size < rest && audit_is_torn(buffer, line_size - 1, head->seq + 1))
		is_next = take_next(head, end + 1, rest - line_size);
	else
		is_next = take_next(head, buffer, rest);
	if (is_next) {
		head->size = size;
		return FOUND_NEXT;
	}
	if (line_size < rest || !audit_is_torn(buffer, end ? line_size - 1 : rest, head->seq + 1))
		return FOUND_LONG;
	if (end)
		return FOUND_TORN;
	buffer[rest] = '\n';
	return take_next(head, buffer, rest + 1) ? FOUND_OPEN : FOUND_TORN;
}

/* Without a head there is nothing yet, or at most a first record whose writer was killed. */
static enum found examine_first(struct audit_head *head, uint64_t size)
{
	char name[AUDIT_NAME_MAX];
	enum found found;

	*head = audit_head_none();
	audit_file_name(1, name);
	found = examine_rest(head, 0, size);
	return is_there(name) || found == FOUND_LONG ? FOUND_NO_HEAD : found;
}

/* Read the head, and compare the log with it. */
static enum found examine_log(struct audit_head *head, uint64_t size)
{
	const ssize_t got = pread(file.head, buffer, AUDIT_HEAD_BYTES, 0);
	struct audit_link last;

	if (got == 0)
		return examine_first(head, size);
	if (got != AUDIT_HEAD_BYTES || !audit_head_read(buffer, head)) {
		*head = audit_head_none();
		return FOUND_NO_HEAD;
	}
	if (size < head->size)
		return is_rotated(head) ? examine_rest(head, 0, size) : FOUND_SHORT;
	if (size > head->size)
		return examine_rest(head, head->size, size);
	if (file.is_checked || (read_last(file.log, size, &last) && last.is_intact &&
				strcmp(last.hash, head->hash) == 0))
		return FOUND_WHOLE;
	return FOUND_EDITED;
}

static int write_at(int fd, uint64_t at, const char *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t put = pwrite(fd, bytes, size, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		at += (uint64_t)put;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

static int save_head(const struct audit_head *head)
{
	char text[AUDIT_HEAD_BYTES];

	audit_head_write(head, text);
	return write_at(file.head, 0, text, sizeof(text));
}

/* A record at the end that `head` says; moves it. After an error the log ends where it did. */
static int put_line(struct audit_head *head, const struct ipc_audit_record *record)
{
	struct audit_head next = { .seq = head->seq + 1 };
	struct audit_stamp stamp = {
		.seq = next.seq, .time_us = clock_real_us(), .pid = file.pid, .lost = file.lost
	};
	int error;

	audit_line_write(&line, &stamp, record, head->hash, next.hash);
	next.size = head->size + line.used;
	error = write_at(file.log, head->size, line.bytes, line.used);
	if (!error)
		error = save_head(&next);
	if (error) {
		(void)ftruncate(file.log, (off_t)head->size); /* else it is found torn */
		return error;
	}
	*head = next;
	file.lost = 0;
	return 0;
}

/* Put a record about the log itself. */
static int put_own(struct audit_head *head, enum audit_event event,
		   const struct audit_field *fields, size_t count)
{
	static struct ipc_audit_record record;

	audit_record_make(&record, event, fields, count);
	return put_line(head, &record);
}

static int end_line(struct audit_head *head, uint64_t size)
{
	const int error = write_at(file.log, size, "\n", 1);

	head->size = size + 1;
	return error;
}

static int close_off(struct audit_head *head, uint64_t size)
{
	size_t torn = (size_t)(size - head->size); /* examine_rest() left it in the buffer */
	const bool is_ended = buffer[torn - 1] == '\n';
	uint8_t hash[SHA256_BYTES];
	int error = 0;

	torn -= is_ended;
	sha256(buffer, torn, hash);
	head->size = size;
	if (!is_ended)
		error = end_line(head, size);
	return error ? error
		     : put_own(head, AUDIT_TORN,
			       (struct audit_field[]){ AUDIT_NUMBER(bytes, torn),
						       AUDIT_SHA256(sha256, hash) },
			       2);
}

/* Go on from what is there. */
static int tell_broken(struct audit_head *head, enum found found, uint64_t size)
{
	const struct audit_head expected = *head;
	const bool is_open = size > 0 && read_at(file.log, size - 1, 1) && buffer[0] != '\n';
	struct audit_link last = { .seq = 0 };
	const bool is_found = !is_open && read_last(file.log, size, &last);
	int error = 0;

	log_line("the audit log is not as it was left (%s): it should end with record %llu, and "
		 "ends with %llu; 'msp audit verify' says more",
		 found_names[found], (unsigned long long)expected.seq,
		 (unsigned long long)last.seq);
	*head = audit_head_none();
	if (is_found)
		memcpy(head->hash, last.hash, sizeof(head->hash));
	head->seq = expected.seq > last.seq ? expected.seq : last.seq;
	head->size = size;
	if (is_open)
		error = end_line(head, size);
	return error ? error
		     : put_own(head, AUDIT_CHAIN_BROKEN,
			       (struct audit_field[]){ AUDIT_TEXT(reason, found_names[found]),
						       AUDIT_NUMBER(expected_seq, expected.seq),
						       AUDIT_TEXT(expected_hash, expected.hash),
						       AUDIT_NUMBER(found_seq, last.seq) },
			       4);
}

/* Numbers are given anew from the highest one that is not taken: a supervisor that was killed
 * half-way left a gap, which this closes. The oldest file goes when there is none. */
static int rotate_log(struct audit_head *head)
{
	char from[AUDIT_NAME_MAX];
	char to[AUDIT_NAME_MAX];
	unsigned int number = 1;
	uint64_t size;
	int error;

	do
		audit_file_name(number, to);
	while (is_there(to) && ++number < AUDIT_KEPT);
	for (; number > 0; number--) {
		audit_file_name(number - 1, from);
		audit_file_name(number, to);
		if (renameat(file.directory, from, file.directory, to) != 0)
			return -errno;
	}
	error = reopen_log(&size);
	if (!error)
		head->size = 0;
	return error;
}

/* Find the end of the log, and mend it. */
static int find_end(struct audit_head *head)
{
	uint64_t size = 0;
	int error = reopen_log(&size);
	enum found found;

	if (error)
		return error;
	found = examine_log(head, size);
	if (found == FOUND_OPEN)
		error = end_line(head, size);
	else if (found == FOUND_TORN)
		error = close_off(head, size);
	else if (found != FOUND_WHOLE && found != FOUND_NEXT)
		error = tell_broken(head, found, size);
	/* Before the next record: else two kills in a row leave the head two records behind. */
	if (!error && (found == FOUND_NEXT || found == FOUND_OPEN))
		error = save_head(head);
	return error;
}

int audit_file_add(const struct ipc_audit_record *record)
{
	int error = file.is_end_known ? 0 : find_end(&file.end);

	if (!error && file.end.size > AUDIT_FILE_BYTES - AUDIT_LINE_MAX)
		error = rotate_log(&file.end);
	if (!error)
		error = put_line(&file.end, record);
	file.is_end_known = !error;
	file.is_checked = file.is_checked || !error;
	return error;
}

void audit_file_lose(uint64_t count)
{
	file.lost += count;
}

uint64_t audit_file_lost(void)
{
	return file.lost;
}
