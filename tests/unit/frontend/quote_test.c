/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/quote.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/limits.h"

static const char *quoted(enum quote_use use, const char *before, const char *path,
			  const char *behind)
{
	static struct buffer text;

	text.size = 0;
	quote_path_with(&text, use, before, path, strlen(path), behind);
	return text.bytes;
}

#define EXPECT(use, path, expected) cr_expect_str_eq(quoted(use, "", path, ""), expected)

/* As git 2.39 prints them. */
Test(quote, paths_as_git_does)
{
	EXPECT(QUOTE_ASCII, "plain name.c", "plain name.c");
	EXPECT(QUOTE_ASCII, "new\nline", "\"new\\nline\"");
	EXPECT(QUOTE_ASCII, "quote\"", "\"quote\\\"\"");
	EXPECT(QUOTE_ASCII, "back\\slash", "\"back\\\\slash\"");
	EXPECT(QUOTE_ASCII, "\xc3\xa4", "\"\\303\\244\"");
	EXPECT(QUOTE_ASCII, "\x01\x1b[31m\x7f\xff", "\"\\001\\033[31m\\177\\377\"");
	EXPECT(QUOTE_ASCII, "\a\b\v\f\r", "\"\\a\\b\\v\\f\\r\"");
}

Test(quote, a_text_beside_is_within)
{
	cr_expect_str_eq(quoted(QUOTE_ASCII, "a/", "x", ""), "a/x");
	cr_expect_str_eq(quoted(QUOTE_ASCII, "a/", "tab\there", ""), "\"a/tab\\there\"");
	cr_expect_str_eq(quoted(QUOTE_UTF8, "", "t\t", "/"), "\"t\\t/\"");
}

Test(quote, characters_stay_if_they_are_seen)
{
	EXPECT(QUOTE_UTF8, "\xc3\xa4 b.c", "\xc3\xa4 b.c");
	EXPECT(QUOTE_UTF8, "\xc3\xa4\n", "\"\xc3\xa4\\n\"");
	EXPECT(QUOTE_UTF8,
	       "a\xe2\x80\xae"
	       "b",
	       "\"a\\342\\200\\256b\"");
	EXPECT(QUOTE_UTF8, "\xc2\x9b\xff", "\"\\302\\233\\377\"");
}

Test(quote, a_listed_path_is_one_name)
{
	EXPECT(QUOTE_LISTED, "plain.c", "plain.c");
	EXPECT(QUOTE_LISTED, "a, b", "\"a, b\"");
	EXPECT(QUOTE_LISTED, "really?", "\"really?\"");
}

Test(quote, the_longest_path_is_whole)
{
	static struct buffer text;
	char path[IPC_PATH_MAX];

	memset(path, 0xff, sizeof(path));
	quote_path(&text, QUOTE_ASCII, path, sizeof(path));
	cr_expect_eq(text.size, 4U * IPC_PATH_MAX + 2);
	cr_expect_eq(text.bytes[text.size - 1], '"');
}
