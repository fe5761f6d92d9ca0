/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines: one write, one line, nothing in it that a terminal would obey.
 */
#include "common/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static char text[4096];

static int log_value(void *value)
{
	log_set_name("msp-test");
	log_line("value '%s'", (const char *)value);
	return 0;
}

static int log_and_end(void *value)
{
	log_set_name("msp-test");
	log_fatal(78, "%s", (const char *)value);
}

static int log_and_fail(void *value)
{
	log_set_name("msp-test");
	return log_fail(64, "it is %s", (const char *)value);
}

/* Run `child` with its stderr in `text`; returns its wait status. */
static int capture(int (*child)(void *), void *value)
{
	const int saved = dup(STDERR_FILENO);
	int ends[2], status;
	ssize_t size;

	cr_assert_eq(pipe(ends), 0);
	(void)dup2(ends[1], STDERR_FILENO);
	status = run_forked(child, value);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	(void)close(ends[1]);
	size = read(ends[0], text, sizeof(text) - 1);
	cr_assert_geq(size, 0);
	text[size] = '\0';
	(void)close(ends[0]);
	return status;
}

Test(log, a_line_has_the_name_in_front)
{
	char value[] = "plain";

	(void)capture(log_value, value);
	cr_assert_str_eq(text, "msp-test: value 'plain'\n");
}

Test(log, a_failure_has_a_line_and_a_code)
{
	char value[] = "wrong";
	const int status = capture(log_and_fail, value);

	cr_assert_str_eq(text, "msp-test: it is wrong\n");
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 64);
}

Test(log, control_characters_are_replaced)
{
	char value[] = "a\nb\033[2Jc\rd\te\177f";

	(void)capture(log_value, value);
	cr_assert_str_eq(text, "msp-test: value 'a?b?[2Jc?d?e?f'\n");
}

Test(log, bytes_beyond_ascii_stay)
{
	char value[] = "gr\xc3\xbc\xc3\x9f";

	(void)capture(log_value, value);
	cr_assert_str_eq(text, "msp-test: value 'gr\xc3\xbc\xc3\x9f'\n");
}

Test(log, a_long_text_is_cut_to_one_line)
{
	static char value[3000];

	memset(value, 'x', sizeof(value) - 1);
	(void)capture(log_value, value);
	cr_assert_leq(strlen(text), 1024);
	cr_assert_gt(strlen(text), 1000);
	cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "ends with its only newline");
}

Test(log, percent_signs_of_a_value_are_text)
{
	char value[] = "%s%n%d";

	(void)capture(log_value, value);
	cr_assert_str_eq(text, "msp-test: value '%s%n%d'\n");
}

Test(log, fatal_ends_with_its_code)
{
	char value[] = "no\ngood";
	const int status = capture(log_and_end, value);

	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 78);
	cr_assert_str_eq(text, "msp-test: no?good\n");
}

Test(log, an_errno_has_words_and_a_name)
{
	cr_expect_str_eq(errno_text(ENOENT), "No such file or directory (ENOENT)");
	cr_expect_str_eq(errno_text(EMFILE), "Too many open files (EMFILE)");
	cr_expect_str_eq(errno_text(ETOOMANYREFS), "Too many descriptors of this user are in "
						   "flight between sockets (ETOOMANYREFS)");
	cr_expect_str_eq(errno_text(0), "error 0");
	cr_expect_str_eq(errno_text(524), "error 524");
	cr_expect_str_eq(errno_text(-1), "error -1");
}

Test(log, every_errno_of_the_c_library_has_a_row)
{
	for (int number = 1; number < 200; number++) {
		const char *name = strerrorname_np(number);

		if (name)
			cr_expect(strstr(errno_text(number), name), "%d: %s", number,
				  errno_text(number));
	}
}
