/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json_write.h"

#include <criterion/criterion.h>
#include <string.h>

#include "frontend/utf8.h"
#include "lib/json/read.h"

static struct buffer out;

static void expect(const char *expected)
{
	cr_assert_eq(out.size, strlen(expected), "%.*s", (int)out.size, out.bytes);
	cr_assert_eq(memcmp(out.bytes, expected, out.size), 0, "%.*s", (int)out.size, out.bytes);
	buffer_done(&out);
}

Test(json_write, nests_and_separates)
{
	struct json_writer writer = { .out = &out };

	json_open_object(&writer, NULL);
	json_put_number(&writer, "a", 18446744073709551615ULL);
	json_put_signed(&writer, "b", -32600);
	json_open_array(&writer, "c");
	json_put_bool(&writer, NULL, true);
	json_put_bool(&writer, NULL, false);
	json_open_object(&writer, NULL);
	json_close_object(&writer);
	json_close_array(&writer);
	json_put_raw(&writer, "d", "1.0", 3);
	json_put_text(&writer, "e", "f");
	json_close_object(&writer);
	expect("{\"a\":18446744073709551615,\"b\":-32600,\"c\":[true,false,{}],\"d\":1.0,\"e\":"
	       "\"f\"}");
}

static void put(const char *bytes, size_t size)
{
	struct json_writer writer = { .out = &out };

	json_put_string(&writer, NULL, bytes, size);
}

Test(json_write, escapes_strings)
{
	put("a\"\\/\b\f\n\r\t\x01\x1f\x7f\0z", 14);
	expect("\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000z\"");
	put("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9);
	expect("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

Test(json_write, shows_what_is_no_utf8)
{
	put("a\xff\xed\xa0\x80\xc3", 6);
	expect("\"a\\\\xff\\\\xed\\\\xa0\\\\x80\\\\xc3\"");
}

/* Whatever the bytes, what is written is read back. */
Test(json_write, any_bytes_make_valid_json)
{
	char bytes[512];
	unsigned int state = 1;

	for (int round = 0; round < 2000; round++) {
		struct json_document document;
		const size_t size = (size_t)round % sizeof(bytes);

		for (size_t i = 0; i < size; i++) {
			state = state * 1103515245 + 12345;
			bytes[i] = (char)(state >> 16);
		}
		put(bytes, size);
		cr_assert(utf8_is_valid(out.bytes, out.size));
		cr_assert_null(memchr(out.bytes, '\n', out.size));
		cr_assert_eq(json_read(&document, out.bytes, out.size), JSON_OK);
		json_done(&document);
		buffer_done(&out);
	}
}

/* --- a value on each line --------------------------------------------------------------------- */

static struct json_writer lines = { .out = &out, .form = JSON_LINES };

Test(json_write, nests_in_lines)
{
	json_open_object(&lines, NULL);
	json_put_text(&lines, "a", "x");
	json_open_array(&lines, "b");
	json_put_number(&lines, NULL, 1);
	json_put_bool(&lines, NULL, false);
	json_put_null(&lines, NULL);
	json_open_object(&lines, NULL);
	json_close_object(&lines);
	json_close_array(&lines);
	json_open_array(&lines, "empty");
	json_close_array(&lines);
	json_put_key(&lines, "key", 3);
	json_put_signed(&lines, NULL, -1);
	json_close_object(&lines);
	expect("{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    false,\n    null,\n"
	       "    {}\n  ],\n  \"empty\": [],\n  \"key\": -1\n}");
}

Test(json_write, hidden_characters_are_escapes_in_lines)
{
	static const char text[] = "a\xe2\x80\xae\xc2\x9b\xf3\xa0\x81\x81\xd7\xa9";

	json_put_text(&lines, NULL, text);
	expect("\"a\\u202e\\u009b\\udb40\\udc41\xd7\xa9\"");
	put(text, strlen(text));
	expect("\"a\xe2\x80\xae\xc2\x9b\xf3\xa0\x81\x81\xd7\xa9\"");
}

Test(json_write, bytes_outside_utf8_are_replaced_in_lines)
{
	json_put_text(&lines, NULL,
		      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xff|\xc3|\xed\xa0\x80\x1b");
	expect("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xef\xbf\xbd|\xef\xbf\xbd|"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\u001b\"");
}

Test(json_write, base64)
{
	json_put_base64(&lines, NULL, "\0\xff\xfe", 3);
	expect("\"AP/+\"");
}
