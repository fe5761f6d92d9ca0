/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/change_stream.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct change_stream stream;
static int pipe_end;

/* What was told last, and how often. */
static struct change_record last;
static char path[IPC_PATH_MAX];
static char old_path[IPC_PATH_MAX];
static size_t patch_sum;
static uint64_t count;

static void found(void *context, const struct change *change)
{
	cr_expect_eq(context, &count);
	count++;
	last = change->is;
	memcpy(path, change->path, change->is.path_size);
	path[change->is.path_size] = '\0';
	memcpy(old_path, change->old_path, change->is.old_path_size);
	old_path[change->is.old_path_size] = '\0';
	patch_sum = 0;
	for (uint32_t i = 0; i < change->is.patch_size; i++)
		patch_sum += change->patch[i];
}

static int step(void)
{
	return change_stream_read(&stream, found, &count);
}

static void begin(void)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	change_stream_init(&stream, ends[0]);
	pipe_end = ends[1];
	count = 0;
}

static void finish(void)
{
	(void)close(pipe_end);
	change_stream_done(&stream);
	cr_expect_eq(stream.fd, -1);
}

TestSuite(change_stream, .init = begin, .fini = finish, .timeout = 60);

static void put(const void *bytes, size_t size)
{
	cr_assert_eq(write(pipe_end, bytes, size), (ssize_t)size);
}

static void put_record(uint32_t kind, const char *name, const char *old)
{
	const struct change_record record = { .kind = kind,
					      .path_size = (uint32_t)strlen(name),
					      .old_path_size = (uint32_t)strlen(old) };

	put(&record, sizeof(record));
	put(name, strlen(name));
	put(old, strlen(old));
}

Test(change_stream, nothing_at_all)
{
	cr_expect_eq(step(), 1, "it waits for nothing");
	(void)close(pipe_end);
	cr_expect_eq(step(), 0);
	cr_expect_eq(count, 0U);
	cr_expect_eq(stream.fd, -1);
}

Test(change_stream, several_in_one_read)
{
	put_record(CHANGE_ADDED, "a", "");
	put_record(CHANGE_RENAMED, "new\nname", "old");
	cr_expect_eq(step(), 1);
	cr_expect_eq(count, 2U);
	cr_expect_str_eq(path, "new\nname");
	cr_expect_str_eq(old_path, "old");
	(void)close(pipe_end);
	cr_expect_eq(step(), 0);
}

Test(change_stream, one_byte_at_a_time)
{
	const struct change_record record = { .kind = CHANGE_DELETED, .path_size = 3 };
	uint8_t bytes[sizeof(record) + 3];

	memcpy(bytes, &record, sizeof(record));
	memcpy(bytes + sizeof(record), "abc", 3);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		cr_expect_eq(count, 0U);
		put(bytes + i, 1);
		cr_expect_eq(step(), 1);
	}
	cr_expect_eq(count, 1U);
	cr_expect_str_eq(path, "abc");
}

/* The longest that there is: every text at its limit. */
static size_t make_longest(uint8_t **ret)
{
	const struct change_record record = { .kind = CHANGE_RENAMED,
					      .path_size = IPC_PATH_MAX - 1,
					      .old_path_size = IPC_PATH_MAX - 1,
					      .link_size = IPC_PATH_MAX - 1,
					      .patch_size = CHANGE_TEXT_MAX };
	uint8_t *bytes = malloc(CHANGE_STREAM_MAX);

	cr_assert(bytes);
	memset(bytes, 'x', CHANGE_STREAM_MAX);
	memcpy(bytes, &record, sizeof(record));
	*ret = bytes;
	return CHANGE_STREAM_MAX;
}

Test(change_stream, the_longest_ones_in_bounded_memory)
{
	uint8_t *bytes;
	const size_t size = make_longest(&bytes);

	put_record(CHANGE_ADDED, "before", "");
	(void)fcntl(pipe_end, F_SETFL, O_NONBLOCK);
	for (int times = 0; times < 3; times++) {
		for (size_t done = 0; done < size;) {
			const ssize_t put_now = write(pipe_end, bytes + done, size - done);

			cr_assert(put_now > 0 || errno == EAGAIN);
			done += put_now > 0 ? (size_t)put_now : 0;
			cr_assert_eq(step(), 1);
			cr_assert_leq(stream.room, CHANGE_STREAM_MAX);
		}
	}
	while (count < 4)
		cr_assert_eq(step(), 1);
	cr_expect_eq(patch_sum, (size_t)CHANGE_TEXT_MAX * 'x');
	free(bytes);
	(void)close(pipe_end);
	cr_expect_eq(step(), 0);
}

Test(change_stream, an_end_within_a_record)
{
	const struct change_record record = { .kind = CHANGE_ADDED, .path_size = 3 };

	put(&record, sizeof(record));
	put("ab", 2);
	cr_expect_eq(step(), 1);
	(void)close(pipe_end);
	cr_expect_eq(step(), -EBADMSG);
	cr_expect_eq(count, 0U);
}

Test(change_stream, what_is_no_record)
{
	const struct change_record record = { .kind = CHANGE_KIND_COUNT, .path_size = 1 };

	put_record(CHANGE_ADDED, "first", "");
	put(&record, sizeof(record));
	put("x", 1);
	cr_expect_eq(step(), -EBADMSG);
	cr_expect_eq(count, 1U, "what came before it is told");
	cr_expect_eq(stream.fd, -1);
}

Test(change_stream, the_writer_hears_of_our_end)
{
	(void)signal(SIGPIPE, SIG_IGN);
	change_stream_done(&stream);
	cr_expect_eq(write(pipe_end, "x", 1), -1);
	cr_expect_eq(errno, EPIPE);
}

static void put_progress(uint32_t stage, uint64_t done, uint64_t total)
{
	const struct change_record record = { .flags = stage, .old_size = done, .new_size = total };

	put(&record, sizeof(record));
}

Test(change_stream, progress_is_no_change)
{
	cr_expect_eq(stream.progress.stage, CHANGE_STAGE_NONE);
	put_record(CHANGE_ADDED, "a", "");
	put_progress(CHANGE_STAGE_COMPARE, 7, 0);
	put_progress(CHANGE_STAGE_REPLACE, 3, 5);
	put_record(CHANGE_ADDED, "b", "");
	cr_expect_eq(step(), 1);
	cr_expect_eq(count, 2U);
	cr_expect_str_eq(path, "b");
	cr_expect_eq(stream.progress.stage, CHANGE_STAGE_REPLACE);
	cr_expect_eq(stream.progress.done, 3U);
	cr_expect_eq(stream.progress.total, 5U);
}

Test(change_stream, what_is_no_progress)
{
	static const struct change_record wrong[] = {
		{ .flags = CHANGE_STAGE_NONE },
		{ .flags = CHANGE_STAGE_COUNT },
		{ .flags = CHANGE_STAGE_REPLACE, .old_size = 6, .new_size = 5 },
		{ .flags = CHANGE_STAGE_COMPARE, .path_size = 1 },
		{ .flags = CHANGE_STAGE_COMPARE, .new_mode = 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put(&wrong[i], sizeof(wrong[i]));
		put("x", 1);
		cr_expect_eq(step(), -EBADMSG, "record %zu", i);
		finish();
		begin();
	}
}
