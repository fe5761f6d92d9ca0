/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log's files with several writers, in a directory of each test's own.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_audit.h"
#include "file.h"
#include "support.h"

static char place[] = "/tmp/msp-test-XXXXXX";
static char text[AUDIT_FILE_BYTES + 1];

static void on_alarm(int number)
{
	(void)number;
}

/* As in main.c: a writer that waits for the lock is interrupted. */
static void make_place(void)
{
	const struct sigaction alarm = { .sa_handler = on_alarm };

	cr_assert_eq(sigaction(SIGALRM, &alarm, NULL), 0);
	cr_assert(mkdtemp(place));
}

static void remove_place(void)
{
	char path[64];
	char name[AUDIT_NAME_MAX];

	for (unsigned int i = 0; i < AUDIT_KEPT + 2; i++) {
		audit_file_name(i, name);
		(void)snprintf(path, sizeof(path), "%s/%s", place, name);
		(void)unlink(path); /* most are not there */
	}
	(void)snprintf(path, sizeof(path), "%s/%s", place, AUDIT_HEAD);
	(void)unlink(path);
	cr_assert_eq(rmdir(place), 0);
}

TestSuite(audit_file, .init = make_place, .fini = remove_place, .timeout = 120);

static void open_log(void)
{
	cr_assert_eq(audit_file_open(open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 1), 0);
}

static int add_fields(const struct audit_field *fields, size_t count)
{
	static struct ipc_audit_record record;
	int error;

	do {
		error = audit_file_lock();
	} while (error == -EAGAIN);
	if (error)
		return error;
	audit_record_make(&record, AUDIT_LIMIT, fields, count);
	error = audit_file_add(&record);
	audit_file_unlock();
	return error;
}

static int add_one(void)
{
	const struct audit_field field = AUDIT_NUMBER(count, 1);

	return add_fields(&field, 1);
}

static int file_of(const char *name, int flags)
{
	int directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int fd = openat(directory, name, flags | O_CLOEXEC, 0600);

	fd_close(&directory);
	cr_assert_geq(fd, 0, "%s", name);
	return fd;
}

/* The content of a file, in `text`. */
static size_t read_file(const char *name)
{
	int fd = file_of(name, O_RDONLY);
	const ssize_t size = read(fd, text, sizeof(text));

	fd_close(&fd);
	cr_assert_geq(size, 0);
	return (size_t)size;
}

/* Follow the chain through a file; how many records. */
static size_t check_file(const char *name, struct audit_link *last)
{
	const size_t size = read_file(name);
	size_t count = 0;

	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		struct audit_link link;

		cr_assert(end, "%s is open at its end", name);
		cr_assert(audit_link_read(text + at, (size_t)(end - text) + 1 - at, &link),
			  "%s, byte %zu", name, at);
		cr_assert(link.is_intact);
		if (last->seq > 0) {
			cr_assert_eq(link.seq, last->seq + 1);
			cr_assert_str_eq(link.previous, last->hash);
		}
		*last = link;
		count++;
		at = (size_t)(end - text) + 1;
	}
	return count;
}

static size_t check_log(void)
{
	struct audit_link last = { .seq = 0 };

	return check_file("audit.jsonl", &last);
}

static int add_many(void *count)
{
	audit_file_open(open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), (uint32_t)getpid());
	for (int i = 0; i < *(int *)count; i++) {
		if (add_one() != 0)
			return 1;
	}
	return 0;
}

Test(audit_file, writers_follow_each_other)
{
	int count = 3;

	open_log();
	cr_assert_eq(add_one(), 0);
	cr_assert_eq(run_forked(add_many, &count), 0);
	cr_assert_eq(add_one(), 0);
	cr_expect_eq(check_log(), 5UL);
}

Test(audit_file, writers_at_once)
{
	int count = 100;

	for (int i = 0; i < 8; i++) {
		const pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (pid == 0)
			_exit(add_many(&count));
	}
	for (int i = 0, status = 0; i < 8; i++) {
		cr_assert_gt(wait(&status), 0);
		cr_expect_eq(status, 0);
	}
	cr_expect_eq(check_log(), 800UL);
}

/* It is killed wherever it is; what it leaves is whole or is closed off. */
Test(audit_file, killed_writers)
{
	int count = 1000000;
	struct audit_link link;
	size_t torn = 0;
	size_t size;

	for (int i = 0; i < 100; i++) {
		const pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (pid == 0)
			_exit(add_many(&count));
		(void)usleep((useconds_t)(500 + 37 * i));
		cr_assert_eq(kill(pid, SIGKILL), 0);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
	}
	open_log();
	cr_assert_eq(add_one(), 0);
	size = read_file("audit.jsonl");
	cr_expect_not(memmem(text, size, "\"chain_broken\"", 14));
	for (char *at = text, *end; at < text + size; at = end + 1) {
		end = memchr(at, '\n', size - (size_t)(at - text));
		cr_assert(end);
		torn += !audit_link_read(at, (size_t)(end - at) + 1, &link);
	}
	cr_expect_leq(torn, 100UL);
	cr_expect_gt(link.seq, torn);
}

static void put_file(const char *name, const char *bytes, size_t size)
{
	int fd = file_of(name, O_WRONLY | O_CREAT | O_TRUNC);

	cr_assert_eq(fd_write_all(fd, bytes, size), 0);
	fd_close(&fd);
}

/* Add a record to this log, whose head knows less of it: a writer was killed. */
static void go_on(const char *head, const char *log, size_t log_size, bool is_torn)
{
	size_t size;

	put_file(AUDIT_HEAD, head, AUDIT_HEAD_BYTES);
	put_file("audit.jsonl", log, log_size);
	open_log();
	cr_assert_eq(add_one(), 0);
	size = read_file("audit.jsonl");
	cr_expect_not(memmem(text, size, "\"chain_broken\"", 14), "%.*s", (int)size, text);
	cr_expect_eq(memmem(text, size, "\"event\":\"torn\"", 14) != NULL, is_torn);
}

Test(audit_file, a_recovery_is_killed_too)
{
	static const char torn[] = "{\"seq\":4,\"time_us\":12\n";
	static char log[8192];
	char heads[4][AUDIT_HEAD_BYTES];
	size_t sizes[4];

	open_log();
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(add_one(), 0);
		sizes[i] = read_file("audit.jsonl");
		memcpy(log, text, sizes[i]);
		cr_assert_eq(read_file(AUDIT_HEAD), (size_t)AUDIT_HEAD_BYTES);
		memcpy(heads[i], text, AUDIT_HEAD_BYTES);
	}
	go_on(heads[2], log, sizes[3], false); /* behind a record */
	go_on(heads[2], log, sizes[3] - 1, false);
	memcpy(log + sizes[2], torn, sizeof(torn));
	go_on(heads[2], log, sizes[2] + sizeof(torn) - 2, true);
	go_on(heads[2], log, sizes[2] + sizeof(torn) - 1, true); /* behind its newline */
	sizes[3] = read_file("audit.jsonl");
	memcpy(log, text, sizes[3]);
	sizes[3] = (size_t)((char *)memrchr(log, '\n', sizes[3] - 1) - log) + 1;
	go_on(heads[2], log, sizes[3], true); /* behind the record about it */
}

Test(audit_file, a_lock_that_is_kept)
{
	int head = file_of(AUDIT_HEAD, O_RDWR | O_CREAT);
	uint64_t before;

	open_log();
	cr_assert_eq(flock(head, LOCK_EX), 0);
	before = clock_now_us();
	cr_expect_eq(audit_file_lock(), -EAGAIN);
	cr_expect_geq(clock_now_us() - before, 15000UL);
	cr_assert_eq(flock(head, LOCK_UN), 0);
	cr_expect_eq(add_one(), 0);
	fd_close(&head);
	cr_expect_eq(check_log(), 1UL);
}

Test(audit_file, missing_records_are_told_once)
{
	open_log();
	audit_file_lose(3);
	cr_assert_eq(add_one(), 0);
	cr_assert_eq(add_one(), 0);
	cr_expect_eq(audit_file_lost(), 0UL);
	read_file("audit.jsonl");
	cr_assert(strstr(text, "\"lost\":3"));
	cr_expect_not(strstr(strstr(text, "\"lost\":3") + 1, "\"lost\""));
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(audit_file, a_part_is_taken_back)
{
	size_t size;

	cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	open_log();
	cr_assert_eq(add_one(), 0);
	size = read_file("audit.jsonl");
	for (rlim_t more = 0; more < size; more += 50) {
		limit_files(size + more);
		cr_expect_eq(add_one(), -EFBIG);
		cr_expect_eq(read_file("audit.jsonl"), size);
	}
	limit_files(RLIM_INFINITY);
	cr_expect_eq(add_one(), 0);
	cr_expect_eq(check_log(), 2UL);
}

Test(audit_file, rotation_keeps_the_chain)
{
	static char longest[IPC_AUDIT_TEXT_MAX + 1];
	struct audit_field fields[IPC_AUDIT_FIELDS_MAX - 2];
	struct audit_link last = { .seq = 0 };
	char name[AUDIT_NAME_MAX];
	uint64_t added = 0;
	size_t count = 0;
	struct stat status;

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < IPC_AUDIT_FIELDS_MAX - 2; i++)
		fields[i] = AUDIT_TEXT(reason, longest);
	open_log();
	/* Until the oldest is gone. */
	for (; added < 30000; added++)
		cr_assert_eq(add_fields(fields, IPC_AUDIT_FIELDS_MAX - 2), 0);
	for (unsigned int i = AUDIT_KEPT + 1; i-- > 0;) {
		audit_file_name(i, name);
		count += check_file(name, &last);
		cr_expect_leq(read_file(name), (size_t)AUDIT_FILE_BYTES);
	}
	cr_expect_eq(last.seq, added);
	cr_expect_lt(count, added);
	(void)snprintf(text, sizeof(text), "%s/audit.%d.jsonl", place, AUDIT_KEPT + 1);
	cr_expect_neq(stat(text, &status), 0);
}

Test(audit_file, another_ones_rotation_is_seen)
{
	int count = 1;
	char from[64];
	char to[64];

	open_log();
	cr_assert_eq(add_one(), 0);
	(void)snprintf(from, sizeof(from), "%s/audit.jsonl", place);
	(void)snprintf(to, sizeof(to), "%s/audit.1.jsonl", place);
	cr_assert_eq(rename(from, to), 0);
	cr_assert_eq(run_forked(add_many, &count), 0);
	cr_assert_eq(add_one(), 0);
	cr_expect_eq(check_log(), 2UL);
}
