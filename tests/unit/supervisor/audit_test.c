/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log's lines, and its files with several writers, in a directory of each test's own.
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

#include "audit.h"
#include "audit_file.h"
#include "common/clock.h"
#include "common/fd.h"
#include "loop.h"
#include "support.h"

#define WAIT_US 5000000

static char place[] = "/tmp/msp-test-XXXXXX";
static char text[AUDIT_FILE_BYTES + 1];

static void make_place(void)
{
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

TestSuite(audit, .timeout = 120);
TestSuite(audit_file, .init = make_place, .fini = remove_place, .timeout = 120);

/* --- lines ------------------------------------------------------------------------------------ */

static struct audit_line line;
static char hash[AUDIT_HASH_MAX];

static void write_line(const struct audit_field *fields, size_t count)
{
	const struct audit_stamp stamp = { 7, 8, 9, AUDIT_STOP };
	const struct audit_head none = audit_head_none();

	audit_line_write(&line, &stamp, fields, count, none.hash, hash);
}

Test(audit, a_line)
{
	const uint8_t bytes[SHA256_BYTES] = { 0x01, 0xfe };
	const struct audit_field fields[] = { AUDIT_NUMBER("n", UINT64_MAX), AUDIT_TEXT("t", "a b"),
					      AUDIT_SHA256("h", bytes) };
	static const char start[] = "{\"seq\":7,\"time_us\":8,\"pid\":9,\"event\":\"stop\","
				    "\"n\":18446744073709551615,\"t\":\"a b\",\"h\":\"01fe0000";
	struct audit_link link;

	write_line(fields, 3);
	cr_expect_eq(strncmp(line.bytes, start, strlen(start)), 0, "%.200s", line.bytes);
	cr_assert(audit_link_read(line.bytes, line.used, &link));
	cr_expect(link.is_intact);
	cr_expect_eq(link.seq, 7UL);
	cr_expect_str_eq(link.hash, hash);
	cr_expect_str_eq(link.previous, audit_head_none().hash);
}

Test(audit, nothing_needs_an_escape)
{
	const struct audit_field field = AUDIT_TEXT("t", "a\"b\\c\nd\x1b\xc3\xa4\x7f");

	write_line(&field, 1);
	cr_expect(strstr(line.bytes, "\"t\":\"a?b?c?d????\""), "%.200s", line.bytes);
}

Test(audit, the_longest_line_fits)
{
	struct audit_field fields[AUDIT_FIELDS_MAX];
	static char longest[AUDIT_FIELD_TEXT_MAX + 100];

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < AUDIT_FIELDS_MAX; i++)
		fields[i] = AUDIT_TEXT("as_long_as_keys_can_be", longest);
	write_line(fields, AUDIT_FIELDS_MAX);
	cr_expect_leq(line.used, sizeof(line.bytes));
}

Test(audit, every_change_of_a_line_is_seen)
{
	const struct audit_field field = AUDIT_TEXT("t", "text");
	struct audit_link link;
	size_t unseen = 0;

	write_line(&field, 1);
	for (size_t i = 0; i < line.used; i++) {
		line.bytes[i] ^= 1;
		unseen += audit_link_read(line.bytes, line.used, &link) && link.is_intact;
		line.bytes[i] ^= 1;
	}
	for (size_t size = 0; size < line.used; size++)
		unseen += audit_link_read(line.bytes, size, &link);
	cr_expect_eq(unseen, 0UL);
}

Test(audit, heads)
{
	struct audit_head head = { .seq = UINT64_MAX, .size = 17 };
	struct audit_head read;
	char bytes[AUDIT_HEAD_BYTES];
	size_t taken = 0;

	memcpy(head.hash, audit_head_none().hash, sizeof(head.hash));
	audit_head_write(&head, bytes);
	cr_assert(audit_head_read(bytes, &read));
	cr_expect_eq(read.seq, head.seq);
	cr_expect_eq(read.size, head.size);
	cr_expect_str_eq(read.hash, head.hash);
	cr_expect_eq(bytes[AUDIT_HEAD_BYTES - 1], '\n');
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const char before = bytes[i];

		bytes[i] = '!';
		taken += audit_head_read(bytes, &read);
		bytes[i] = before;
	}
	cr_expect_leq(taken, 19UL + 17UL, "%zu", taken); /* leading spaces are no part of it */
}

/* --- files ------------------------------------------------------------------------------------ */

static void open_log(void)
{
	cr_assert_eq(audit_file_open(open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 1), 0);
}

static int add_one(void)
{
	const struct audit_field field = AUDIT_NUMBER("n", 1);

	return audit_file_add(AUDIT_LIMIT, &field, 1, WAIT_US);
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

Test(audit_file, a_lock_that_is_kept)
{
	int head = file_of(AUDIT_HEAD, O_RDWR | O_CREAT);
	uint64_t before;

	open_log();
	cr_assert_eq(flock(head, LOCK_EX), 0);
	before = clock_now_us();
	cr_expect_eq(audit_file_add(AUDIT_LIMIT, NULL, 0, 100000), -ETIMEDOUT);
	cr_expect_geq(clock_now_us() - before, 100000UL);
	before = clock_now_us();
	cr_expect_eq(add_one(), -ETIMEDOUT);
	cr_expect_lt(clock_now_us() - before, WAIT_US / 2);
	cr_assert_eq(flock(head, LOCK_UN), 0);
	cr_expect_eq(add_one(), 0);
	fd_close(&head);
	cr_expect_eq(check_log(), 1UL);
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
	static char longest[AUDIT_FIELD_TEXT_MAX + 1];
	struct audit_field fields[AUDIT_FIELDS_MAX - 2];
	struct audit_link last = { .seq = 0 };
	char name[AUDIT_NAME_MAX];
	uint64_t added = 0;
	size_t count = 0;
	struct stat status;

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < AUDIT_FIELDS_MAX - 2; i++)
		fields[i] = AUDIT_TEXT("t", longest);
	open_log();
	/* Until the oldest is gone. */
	for (; added < 30000; added++)
		cr_assert_eq(audit_file_add(AUDIT_LIMIT, fields, AUDIT_FIELDS_MAX - 2, WAIT_US), 0);
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
