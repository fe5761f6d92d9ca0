/* SPDX-License-Identifier: Apache-2.0 */
#include "show/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct json_writer *json;
static int file = -1;
static char *written;

static void begin(void)
{
	file = memfd_create("json", MFD_CLOEXEC);
	cr_assert_geq(file, 0);
	json = json_begin(file);
}

static const char *finish(void)
{
	off_t size;

	cr_assert_eq(json_finish(), 0);
	size = lseek(file, 0, SEEK_END);
	written = calloc(1, (size_t)size + 1);
	cr_assert_eq(pread(file, written, (size_t)size, 0), size);
	return written;
}

static void end(void)
{
	free(written);
	(void)close(file);
}

TestSuite(json, .init = begin, .fini = end);

Test(json, nesting)
{
	json_open_object(json, NULL);
	json_put_text(json, "a", "x");
	json_open_array(json, "b");
	json_put_number(json, NULL, 1);
	json_put_bool(json, NULL, false);
	json_put_null(json, NULL);
	json_open_object(json, NULL);
	json_close_object(json);
	json_close_array(json);
	json_open_array(json, "empty");
	json_close_array(json);
	json_close_object(json);
	cr_expect_str_eq(finish(), "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    false,\n    null,\n"
				   "    {}\n  ],\n  \"empty\": []\n}\n");
}

Test(json, leaves_in_pieces)
{
	char text[1001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_open_array(json, NULL);
	for (int i = 0; i < 100; i++)
		json_put_text(json, NULL, text);
	cr_expect_gt(lseek(file, 0, SEEK_CUR), 80000);
	json_close_array(json);
	cr_expect_eq(strlen(finish()),
		     100 * (1000U + sizeof("\n  \"\",") - 1) - 1 + sizeof("[\n]\n") - 1);
}

Test(json, a_failing_write_is_told)
{
	const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_geq(full, 0);
	json_put_null(json_begin(full), NULL);
	cr_expect_eq(json_finish(), -ENOSPC);
	(void)close(full);
}
