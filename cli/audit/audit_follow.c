/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that is followed keeps its inode when it is rotated: it is read to its end, and then the
 * one that is newer than it by a number, whatever both are called by then.
 */
#include "audit/audit_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "show/print.h"

/* Soon enough for somebody who looks on; costs nothing. */
#define STEP_MS 100

struct follow {
	int directory;
	int fd;
	unsigned int number; /* the file's, for messages */
	ino_t inode;
	const struct audit_taker *taker;
	bool is_over; /* it wants no more */
	struct audit_reader reader;
};

static struct follow follow;

/* Print the whole lines. A line whose newline is not there yet is read again later. */
static int print_new(void)
{
	struct audit_reader *reader = &follow.reader;
	const char *line;
	size_t size;
	uint64_t bad = 0;
	int more = 0;
	int error;

	while (!follow.is_over) {
		more = audit_reader_next(reader, &line, &size);
		if (more != 1)
			break;
		if (line[size - 1] != '\n' && size <= AUDIT_LINE_MAX) {
			reader->begin -= size;
			reader->line--;
			reader->is_inside = false;
			break;
		}
		follow.is_over =
			!audit_give(follow.taker, line, size, follow.number, reader->line, &bad);
	}
	error = print_flush();
	return more < 0 ? more : error;
}

/* A file newer than the followed one: its place in `log`, or -1. */
static int find_next(const struct audit_log *log)
{
	for (unsigned int i = 0; i < log->count; i++) {
		if (log->files[i].inode == follow.inode)
			return i + 1 < log->count ? (int)i + 1 : -1;
	}
	return log->count > 0 ? 0 : -1; /* it is gone: begin with the oldest that is there */
}

static void take_file(struct audit_file *file, uint64_t from)
{
	fd_close(&follow.fd);
	follow.fd = file->fd;
	follow.number = file->number;
	follow.inode = file->inode;
	file->fd = -1;
	(void)lseek(follow.fd, (off_t)from, SEEK_SET); /* a regular file */
	audit_reader_init(&follow.reader, follow.fd, UINT64_MAX);
}

/* Go to the next file when the followed one is no longer written to. True when there is one. */
static bool go_on(void)
{
	struct audit_log log;
	struct stat status;
	char name[AUDIT_NAME_MAX];
	int next;

	audit_file_name(0, name);
	if (follow.fd >= 0 && fstatat(follow.directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_ino == follow.inode)
		return false;
	if (audit_log_open(follow.directory, &log) != 0)
		return false;
	next = find_next(&log);
	if (next >= 0) {
		(void)print_new(); /* lines from before the rotation; an error comes again */
		take_file(&log.files[next], 0);
	}
	audit_log_close(&log);
	return next >= 0;
}

int audit_follow(const struct audit_log *log, const struct audit_taker *taker)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	int error = 0;

	follow.directory = log->directory;
	follow.fd = -1;
	follow.taker = taker;
	follow.is_over = false;
	if (log->count > 0) {
		struct audit_file last = log->files[log->count - 1];
		uint64_t lines;

		last.fd = dup(last.fd);
		if (last.fd < 0 || lseek(last.fd, 0, SEEK_SET) != 0)
			return -errno;
		lines = audit_reader_lines(&follow.reader, last.fd, last.size);
		take_file(&last, last.size);
		follow.reader.line = lines;
	}
	while (!error && !follow.is_over && !print_is_unread(STEP_MS)) {
		if (follow.fd >= 0)
			error = print_new();
		if (!error && !follow.is_over && !go_on())
			(void)nanosleep(&step, NULL); /* a shorter pause is as good */
	}
	fd_close(&follow.fd);
	return error || follow.is_over ? error : -EPIPE;
}
