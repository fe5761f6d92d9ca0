/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/tokens.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/format.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct tokens tokens;

static void set(const char *text)
{
	tokens.size = strlen(text);
	cr_assert_leq(tokens.size, sizeof(tokens.text));
	memcpy(tokens.text, text, tokens.size);
}

static enum token_line_kind kind_of(const char *text)
{
	struct token_line line;

	set(text);
	cr_assert(token_line_read(&tokens, 0, &line));
	cr_assert_eq(line.size, strlen(text));
	return line.kind;
}

Test(tokens, names)
{
	static const char longest[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

	cr_expect(token_name_is_good("a", 1));
	cr_expect(token_name_is_good("A-z_0.9", 7));
	cr_assert_eq(sizeof(longest) - 1, 63UL);
	cr_expect(token_name_is_good(longest, 63));
	cr_expect_not(token_name_is_good("", 0));
	cr_expect_not(token_name_is_good("a b", 3));
	cr_expect_not(token_name_is_good("a\n", 2));
	cr_expect_not(token_name_is_good("\xc3\xa4", 2));
	cr_expect_not(token_name_is_good(
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64));
}

Test(tokens, every_other_byte_is_no_letter_of_a_name)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (int c = 0; c < 256; c++) {
		const char name[] = { (char)c };

		cr_expect_eq(token_name_is_good(name, 1), c != 0 && strchr(good, c) != NULL, "%d",
			     c);
	}
}

Test(tokens, lines)
{
	cr_expect_eq(kind_of("alice " DIGEST), TOKEN_LINE_TOKEN);
	cr_expect_eq(kind_of("# alice " DIGEST), TOKEN_LINE_NOTE);
	cr_expect_eq(kind_of("#revoked"), TOKEN_LINE_NOTE);
	cr_expect_eq(kind_of("#revoked..x"), TOKEN_LINE_NOTE);
	cr_expect_eq(kind_of("#revoked.."), TOKEN_LINE_FREE);
	cr_expect_eq(kind_of(" alice " DIGEST), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice  " DIGEST), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice\t" DIGEST), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice " DIGEST " "), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice " DIGEST "\r"), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice " DIGEST "0"), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("alice 123"), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of(" " DIGEST), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of(DIGEST), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("a"), TOKEN_LINE_WRONG);
	cr_expect_eq(kind_of("a 0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"),
		     TOKEN_LINE_WRONG, "the digits are lower-case");
}

Test(tokens, a_file)
{
	struct token_line line;
	size_t count = 0;

	set("# who may come in\n\nalice " DIGEST "\nwrong\nbob " DIGEST);
	for (size_t at = 0; token_line_read(&tokens, at, &line); at = token_line_next(&line))
		count++;
	cr_expect_eq(count, 5UL, "the last line needs no newline");
	cr_expect_eq(tokens_count(&tokens), 2UL);
	cr_assert(tokens_find(&tokens, "bob", &line));
	cr_expect_eq(line.name_size, 3UL);
	cr_expect_eq(memcmp(tokens.text + line.at, "bob " DIGEST, line.size), 0);
	cr_expect_not(tokens_find(&tokens, "bo", &line));
	cr_expect_not(tokens_find(&tokens, "bobb", &line));
	cr_expect_not(tokens_find(&tokens, "wrong", &line));
	cr_expect_not(tokens_find(&tokens, "", &line));
	set("");
	cr_expect_not(token_line_read(&tokens, 0, &line));
	set("\n");
	cr_assert(token_line_read(&tokens, 0, &line));
	cr_expect_not(token_line_read(&tokens, token_line_next(&line), &line));
}

Test(tokens, a_nul_is_a_byte_like_another)
{
	static const char text[] = "a\0b " DIGEST "\nbob " DIGEST "\n";

	tokens.size = sizeof(text) - 1;
	memcpy(tokens.text, text, tokens.size);
	cr_expect_eq(tokens_count(&tokens), 1UL);
}

/* Whatever part of a line a reader sees overwritten, it sees no token that was not there. */
Test(tokens, a_line_that_is_being_revoked)
{
	static const char *const lines[] = { "a " DIGEST, "revoked " DIGEST,
					     "a-longer.name_of_somebody " DIGEST };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char blank[TOKEN_LINE_MAX];
		char mixed[TOKEN_LINE_MAX + 1];
		struct token_line line;
		const size_t size = strlen(lines[i]);

		set(lines[i]);
		cr_assert(token_line_read(&tokens, 0, &line));
		token_line_blank(&line, blank);
		for (size_t done = 1; done <= size; done++) {
			format_text(mixed, sizeof(mixed), "%s", lines[i]);
			memcpy(mixed, blank, done);
			cr_expect_neq(kind_of(mixed), TOKEN_LINE_TOKEN, "%s", mixed);
			format_text(mixed, sizeof(mixed), "%s", lines[i]);
			memcpy(mixed + size - done, blank + size - done, done);
			cr_expect_neq(kind_of(mixed), TOKEN_LINE_TOKEN, "%s", mixed);
		}
		cr_expect_eq(kind_of(mixed), TOKEN_LINE_FREE, "%s", mixed);
	}
}

Test(tokens, new_ones)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char seen[43][64] = { { 0 } };
	char last[TOKEN_MAX] = "";

	for (int i = 0; i < 2000; i++) {
		char token[TOKEN_MAX];

		cr_assert_eq(token_generate(token), 0);
		cr_assert_eq(strlen(token), 47UL);
		cr_assert_eq(strspn(token + 4, digits), 43UL, "%s", token);
		cr_assert_eq(strncmp(token, "msp_", 4), 0);
		cr_assert_str_neq(token, last);
		for (size_t at = 0; at < 43; at++)
			seen[at][strchr(digits, token[4 + at]) - digits] = 1;
		memcpy(last, token, sizeof(last));
	}
	/* The last digit holds four bits of the 256 and two zeros. One of 64 digits is not seen in
	 * 2000 tries once in 10^11 runs. */
	for (size_t at = 0; at < 43; at++) {
		for (size_t digit = 0; digit < 64; digit++)
			cr_expect_eq(seen[at][digit], at < 42 || digit % 4 == 0, "%zu %zu", at,
				     digit);
	}
}

Test(tokens, digests)
{
	char digest[TOKEN_DIGEST_MAX];

	token_digest("abc", digest);
	cr_expect_str_eq(digest,
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
