/* SPDX-License-Identifier: Apache-2.0 */
#include "show/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct json json;
static int file = -1;
static char *written;

static void begin(void)
{
	file = memfd_create("json", MFD_CLOEXEC);
	cr_assert_geq(file, 0);
	json_init(&json, file);
}

static const char *finish(void)
{
	off_t size;

	cr_assert_eq(json_finish(&json), 0);
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
	json_object(&json, NULL);
	json_string(&json, "a", "x");
	json_array(&json, "b");
	json_number(&json, NULL, 1);
	json_bool(&json, NULL, false);
	json_null(&json, NULL);
	json_object(&json, NULL);
	json_object_end(&json);
	json_array_end(&json);
	json_array(&json, "empty");
	json_array_end(&json);
	json_object_end(&json);
	cr_expect_str_eq(finish(), "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    false,\n    null,\n"
				   "    {}\n  ],\n  \"empty\": []\n}\n");
}

Test(json, hidden_characters_are_escapes)
{
	json_string(&json, NULL, "a\xe2\x80\xae\xc2\x9b\xf3\xa0\x81\x81\xd7\xa9");
	cr_expect_str_eq(finish(), "\"a\\u202e\\u009b\\udb40\\udc41\xd7\xa9\"\n");
}

Test(json, escapes)
{
	json_string(&json, NULL, "\"\\/\b\n\t\x01\x1b[31m\x7f");
	cr_expect_str_eq(finish(), "\"\\\"\\\\/\\u0008\\n\\t\\u0001\\u001b[31m\\u007f\"\n");
}

Test(json, keeps_utf8_and_replaces_what_is_none)
{
	json_string(&json, NULL, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xff|\xc3|\xed\xa0\x80");
	cr_expect_str_eq(finish(),
			 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xef\xbf\xbd|\xef\xbf\xbd|"
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

Test(json, a_nul_byte)
{
	json_string_sized(&json, NULL, "a\0b", 3);
	cr_expect_str_eq(finish(), "\"a\\u0000b\"\n");
}

static const char *base64(const char *first, size_t first_size, const char *second)
{
	const uint8_t *const parts[] = { (const uint8_t *)first, (const uint8_t *)second };
	const size_t sizes[] = { first_size, strlen(second) };

	json_base64(&json, NULL, parts, sizes);
	return finish();
}

Test(json, base64_of_nothing)
{
	cr_expect_str_eq(base64("", 0, ""), "\"\"\n");
}
Test(json, base64_one)
{
	cr_expect_str_eq(base64("f", 1, ""), "\"Zg==\"\n");
}
Test(json, base64_two)
{
	cr_expect_str_eq(base64("f", 1, "o"), "\"Zm8=\"\n");
}
Test(json, base64_across_parts)
{
	cr_expect_str_eq(base64("fo", 2, "obar"), "\"Zm9vYmFy\"\n");
}
Test(json, base64_bytes)
{
	cr_expect_str_eq(base64("\0\xff\xfe", 3, ""), "\"AP/+\"\n");
}

Test(json, numbers)
{
	json_number(&json, NULL, UINT64_MAX);
	cr_expect_str_eq(finish(), "18446744073709551615\n");
}

Test(json, more_than_one_buffer)
{
	char *text = malloc(100001);
	const char *result;

	memset(text, 'x', 100000);
	text[100000] = '\0';
	json_string(&json, NULL, text);
	result = finish();
	cr_expect_eq(strlen(result), 100003U);
	cr_expect_eq(result[100001], '"');
	free(text);
}

Test(json, a_failing_write_is_told)
{
	const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_geq(full, 0);
	json_init(&json, full);
	json_null(&json, NULL);
	cr_expect_eq(json_finish(&json), -ENOSPC);
	(void)close(full);
}
