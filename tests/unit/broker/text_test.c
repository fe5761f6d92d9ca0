/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <criterion/criterion.h>
#include <string.h>

#include "utf8.h"

static void expect(const char *bytes, size_t size, const char *shown)
{
	struct buffer text = { 0 };

	text_append(&text, bytes, size);
	cr_assert_eq(text.size, strlen(shown), "%.*s", (int)text.size, text.bytes);
	cr_assert_eq(memcmp(text.bytes, shown, text.size), 0, "%.*s", (int)text.size, text.bytes);
	cr_assert(utf8_is_valid(text.bytes, text.size));
	buffer_done(&text);
}

Test(text, keeps_what_is_text)
{
	expect("plain\n\ttext \\ \"", 15, "plain\n\ttext \\ \"");
	expect("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	expect("a\r\nb\r\n", 6, "a\nb\n");
	expect("\xc2\xa0", 2, "\xc2\xa0");
}

Test(text, escapes_what_a_terminal_obeys)
{
	expect("\x1b[31m\a\b\x7f", 8, "\\x1b[31m\\x07\\x08\\x7f");
	expect("10%\r20%", 7, "10%\\r20%");
	expect("\0", 1, "\\x00");
	expect("\xc2\x9b"
	       "1m",
	       4, "\\u009b1m");
}

Test(text, escapes_what_is_no_utf8)
{
	expect("\xff\xfe", 2, "\\xff\\xfe");
	expect("a\xc3", 2, "a\\xc3");
	expect("\xc0\xaf", 2, "\\xc0\\xaf");
	expect("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	expect("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	expect("\xe2\x82(", 3, "\\xe2\\x82(");
}

Test(text, fits_without_cutting_characters)
{
	cr_assert_eq(text_fit_first("abcdef", 6, 4), 4);
	cr_assert_eq(text_fit_first("ab\xc3\xa9", 4, 3), 2);
	cr_assert_eq(text_fit_first("\xff\xff", 2, 7), 1);
	cr_assert_eq(text_fit_last("abcdef", 6, 4), 4);
	cr_assert_eq(text_fit_last("\xc3\xa9z", 3, 2), 1);
	cr_assert_eq(text_fit_last("abc", 3, 100), 3);
	cr_assert_eq(text_fit_first("", 0, 10), 0);
	cr_assert_eq(text_fit_last("abc", 3, 0), 0);
}

Test(text, quotes_on_one_line)
{
	struct buffer text = { 0 };

	text_quote(&text, "a\nb\tc\x1b and more", 15, 9);
	cr_assert_eq(text.size, 12);
	cr_assert_eq(memcmp(text.bytes, "a b c\\x1b...", 12), 0);
	buffer_done(&text);
}
