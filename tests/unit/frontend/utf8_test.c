/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/utf8.h"

#include <criterion/criterion.h>
#include <string.h>

static bool is_hidden(uint32_t code_point)
{
	char bytes[4];
	const size_t length = utf8_write(code_point, bytes);

	cr_assert_eq(utf8_read(bytes, length), code_point);
	return utf8_is_hidden(bytes, length);
}

Test(utf8, hidden_characters)
{
	static const uint32_t hidden[] = {
		0x80,   0x9f,   0xad,   0x34f,  0x61c,  0x180e, 0x200b,  0x200c,  0x200d,
		0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060,  0x2066,  0x2069,
		0x206f, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xe01ef,
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		cr_expect(is_hidden(hidden[i]), "U+%04X", hidden[i]);
}

/* The neighbours of each range, combining marks, scripts from right to left, Chinese, emoji. */
Test(utf8, characters_that_are_seen)
{
	static const uint32_t seen[] = {
		'a',    '\n',   0xa0,   0xac,   0xae,   0x301,  0x34e,   0x350,   0x5d0,
		0x61b,  0x61d,  0x627,  0x200a, 0x2010, 0x2027, 0x202f,  0x205f,  0x2070,
		0x3163, 0x4e2d, 0xfdff, 0xfe10, 0xfefe, 0xff00, 0x1f600, 0xdffff, 0xe1000,
	};

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		cr_expect_not(is_hidden(seen[i]), "U+%04X", seen[i]);
}

Test(utf8, every_code_point_is_read_back)
{
	for (uint32_t code_point = 0; code_point < 0x110000; code_point++)
		(void)is_hidden(code_point);
}

static void expect_line(const char *given, const char *expected)
{
	char text[64];

	(void)strcpy(text, given); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
	utf8_make_line(text);
	cr_expect_str_eq(text, expected);
}

Test(utf8, a_line)
{
	expect_line("", "");
	expect_line("/home/\xc3\xa9\xe4\xb8\xad", "/home/\xc3\xa9\xe4\xb8\xad");
	expect_line("a\nb\x1b[2J\x7f\xff", "a?b?[2J??");
	expect_line("a\xe2\x80\xae"
		    "b\xc2\x9b"
		    "c\xf3\xa0\x81\x81",
		    "a?b?c?");
	expect_line("cut\xe2\x80", "cut??");
}
