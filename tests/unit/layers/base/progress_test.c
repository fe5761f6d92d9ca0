/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/progress.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int ends[2];

static void begin(void)
{
	cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	progress_begin(ends[1]);
}

TestSuite(progress, .init = begin, .timeout = 60);

/* Longer than the interval between two records. */
static void wait_until_due(void)
{
	(void)usleep(300000);
}

static bool read_record(struct change_record *ret)
{
	return read(ends[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

Test(progress, the_first_record_comes_late_and_others_later)
{
	struct change_record record;

	progress_begin(ends[1]);
	progress_note(CHANGE_STAGE_COMPARE, 1, 0);
	cr_expect_not(read_record(&record));
	wait_until_due();
	progress_note(CHANGE_STAGE_PREPARE, 2, 3);
	progress_begin(ends[1]); /* as if no time had gone since */
	progress_note(CHANGE_STAGE_PREPARE, 3, 3);
	cr_assert(read_record(&record));
	cr_expect_eq(record.kind, CHANGE_NONE);
	cr_expect_eq(record.flags, CHANGE_STAGE_PREPARE);
	cr_expect_eq(record.old_size, 2U);
	cr_expect_eq(record.new_size, 3U);
	cr_expect_eq(record.path_size, 0U);
	cr_expect_not(read_record(&record), "one in each interval");
}

Test(progress, a_full_pipe_is_not_waited_for)
{
	char bytes[4096] = { 0 };

	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	cr_assert_eq(fcntl(ends[1], F_SETFL, 0), 0, "a write would wait now");
	wait_until_due();
	progress_note(CHANGE_STAGE_COMPARE, 1, 0);
}

Test(progress, nor_is_a_reader_needed)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(ends[0]);
	wait_until_due();
	progress_note(CHANGE_STAGE_COMPARE, 1, 0);
	progress_begin(-1);
	wait_until_due();
	progress_note(CHANGE_STAGE_COMPARE, 1, 0);
}
