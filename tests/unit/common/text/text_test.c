/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts in a fixed buffer: what fits is there and terminated, what does not ends the process.
 */
#include "common/text/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(text, parts_follow_each_other)
{
	struct text text = { .used = 0 };

	text_add(&text, "size=");
	text_add_number(&text, 4096);
	text_add(&text, "");
	text_add(&text, "k");
	cr_assert_str_eq(text.bytes, "size=4096k");
	cr_assert_eq(text.used, 10);
}

Test(text, numbers_are_decimal)
{
	const uint64_t numbers[] = { 0,
				     1,
				     9,
				     10,
				     99,
				     100,
				     UINT32_MAX,
				     INT64_MAX,
				     1000000000000,
				     UINT64_MAX,
				     UINT64_MAX - 1 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct text text = { .used = 0 };
		char expected[32];

		(void)snprintf(expected, sizeof(expected), "%" PRIu64, numbers[i]);
		text_add_number(&text, numbers[i]);
		cr_assert_str_eq(text.bytes, expected);
	}
}

Test(text, the_buffer_can_be_filled)
{
	struct text text = { .used = 0 };
	char most[sizeof(text.bytes)];

	memset(most, 'x', sizeof(most));
	most[sizeof(most) - 1] = '\0';
	text_add(&text, most);
	cr_assert_str_eq(text.bytes, most);
	text_add(&text, "");
}

Test(text, one_byte_too_many_ends_the_process, .signal = SIGABRT)
{
	struct text text = { .used = 0 };
	char most[sizeof(text.bytes)];

	memset(most, 'x', sizeof(most));
	most[sizeof(most) - 1] = '\0';
	text_add(&text, most);
	text_add_number(&text, 1);
}

/* What is read behind `key` in a file that holds this. */
static uint64_t number_in(const char *content, const char *key)
{
	char path[] = "/tmp/msp-text-test-XXXXXX";
	const int fd = mkstemp(path);
	uint64_t number;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	(void)close(fd); /* written */
	number = text_read_number(AT_FDCWD, path, key);
	cr_assert_eq(unlink(path), 0);
	return number;
}

Test(text, numbers_are_read_behind_their_key)
{
	cr_expect_eq(number_in("12 34\n", ""), 12);
	cr_expect_eq(number_in("oom 1\noom_kill 3\n", "oom_kill "), 3);
	cr_expect_eq(number_in("Rss:  9 kB\nPss:       348 kB\n", "\nPss:"), 348);
	cr_expect_eq(number_in("18446744073709551615", ""), UINT64_MAX);
	cr_expect_eq(number_in("max\n", ""), 0);
	cr_expect_eq(number_in("oom 1\n", "oom_kill "), 0);
	cr_expect_eq(number_in("", ""), 0);
	cr_expect_eq(text_read_number(AT_FDCWD, "/nonexistent", ""), 0);
}

Test(text, values_are_written_whole)
{
	char path[] = "/tmp/msp-text-test-XXXXXX";
	char content[16] = { 0 };
	const int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_expect_eq(text_write_file(AT_FDCWD, path, "max 100"), 0);
	cr_expect_eq(read(fd, content, sizeof(content)), 7);
	cr_expect_str_eq(content, "max 100");
	(void)close(fd); /* read */
	cr_assert_eq(unlink(path), 0);
	cr_expect_eq(text_write_file(AT_FDCWD, path, "1"), -ENOENT);
}
