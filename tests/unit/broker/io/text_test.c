/* SPDX-License-Identifier: Apache-2.0 */
#include "io/text.h"

#include <criterion/criterion.h>
#include <string.h>

#include "frontend/utf8.h"

static void expect(const char *bytes, size_t size, const char *shown)
{
	struct buffer text = { 0 };

	text_append(&text, bytes, size, TEXT_CONTENTS);
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
	cr_assert_eq(text_fit_first("abcdef", 6, 4, TEXT_CONTENTS), 4);
	cr_assert_eq(text_fit_first("ab\xc3\xa9", 4, 3, TEXT_CONTENTS), 2);
	cr_assert_eq(text_fit_first("\xff\xff", 2, 7, TEXT_CONTENTS), 1);
	cr_assert_eq(text_fit_last("abcdef", 6, 4, TEXT_CONTENTS), 4);
	cr_assert_eq(text_fit_last("\xc3\xa9z", 3, 2, TEXT_CONTENTS), 1);
	cr_assert_eq(text_fit_last("abc", 3, 100, TEXT_CONTENTS), 3);
	cr_assert_eq(text_fit_first("", 0, 10, TEXT_CONTENTS), 0);
	cr_assert_eq(text_fit_last("abc", 3, 0, TEXT_CONTENTS), 0);
}

static void expect_judged(const char *bytes, const char *expected)
{
	struct buffer text = { 0 };

	text_append(&text, bytes, strlen(bytes), TEXT_JUDGED);
	cr_assert_eq(text.size, strlen(expected), "%.*s", (int)text.size, text.bytes);
	cr_expect_arr_eq(text.bytes, expected, text.size);
	cr_expect_eq(text_fit_first(bytes, strlen(bytes), text.size, TEXT_JUDGED), strlen(bytes));
	cr_expect_lt(text_fit_first(bytes, strlen(bytes), text.size - 1, TEXT_JUDGED),
		     strlen(bytes));
	cr_expect_eq(text_fit_last(bytes, strlen(bytes), text.size, TEXT_JUDGED), strlen(bytes));
	buffer_done(&text);
}

#define TAG "\xf3\xa0\x81\x81"

Test(text, shows_hidden_characters_where_it_is_judged)
{
	expect_judged("a\xe2\x80\xae"
		      "b",
		      "a\\u202eb");
	expect_judged("\xe2\x81\xa6", "\\u2066");
	expect_judged("x\xe2\x80\x8bx\xef\xbb\xbf", "x\\u200bx\\ufeff");
	expect_judged(TAG TAG, "\\U000e0041\\U000e0041");
	expect_judged("\xc2\x9b", "\\u009b");
	expect_judged("\xd7\xa9\xd9\x85 e\xcc\x81 \xe4\xb8\xad",
		      "\xd7\xa9\xd9\x85 e\xcc\x81 \xe4\xb8\xad");
}

Test(text, keeps_hidden_characters_in_contents)
{
	expect("a\xe2\x80\xae\xe2\x80\x8b" TAG, 11, "a\xe2\x80\xae\xe2\x80\x8b" TAG);
}

Test(text, quotes_hidden_characters)
{
	cr_assert_str_eq(text_quoted("a\xe2\x80\xae"
				     "b",
				     5, 100),
			 "a\\u202eb");
}

Test(text, quotes_on_one_line)
{
	cr_assert_str_eq(text_quoted("a\nb\tc\x1b and more", 15, 9), "a b c\\x1b...");
}

Test(text, keeps_what_is_quoted_for_three_more_quotes)
{
	const char *first = text_quoted("first", 5, 100);

	for (int i = 0; i < 3; i++)
		(void)text_quoted("another", 7, 100);
	cr_assert_str_eq(first, "first");
	cr_assert_str_eq(text_quoted("", 0, 100), "");
}

/* A line end that only the bytes tell from another. */
Test(text, shows_a_carriage_return_where_it_is_judged)
{
	expect_judged("-a\n+a\r\n", "-a\n+a\\r\n");
	expect_judged("a\rb\r", "a\\rb\\r");
}
