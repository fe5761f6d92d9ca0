/* SPDX-License-Identifier: Apache-2.0
 *
 * The token file: what a row is, whose token a text is, and that every change is seen.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/tokens.h"

static struct tokens tokens;
static char path[] = "/tmp/msp-tokens-XXXXXX";
static int file;

static void open_file(void)
{
	cr_assert_geq(sodium_init(), 0);
	file = mkstemp(path);
	cr_assert_geq(file, 0);
	cr_assert_eq(tokens_open(&tokens, file), 0);
}

static void close_file(void)
{
	tokens_close(&tokens);
	(void)close(file);
	(void)unlink(path);
}

TestSuite(http_tokens, .init = open_file, .fini = close_file);

/* A row for `text` under this name, in static storage. */
static const char *row(const char *name, const char *text)
{
	static char line[256];
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * crypto_hash_sha256_BYTES + 1];

	(void)crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	(void)sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	(void)snprintf(line, sizeof(line), "%s %s\n", name, hex);
	return line;
}

static void append(const char *text)
{
	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
}

static void start_over(void)
{
	cr_assert_eq(ftruncate(file, 0), 0);
	cr_assert_eq(lseek(file, 0, SEEK_SET), 0);
}

static uint32_t find(const char *text)
{
	uint32_t principal;

	tokens_refresh(&tokens);
	return tokens_find(&tokens, text, &principal) ? principal : 0;
}

Test(http_tokens, rows_name_principals)
{
	append("# a comment\n\n");
	append(row("alice", "one"));
	append(row("bob", "two"));
	append(row("alice", "three"));
	cr_assert_eq(find("one"), 1);
	cr_assert_eq(find("two"), 2);
	cr_assert_eq(find("three"), 1, "the name decides");
	cr_assert_eq(find("four"), 0);
	cr_assert_eq(find(""), 0);
	cr_assert(tokens.are_needed);
	cr_assert_str_eq(tokens_name(&tokens, 1), "alice");
	cr_assert_str_eq(tokens_name(&tokens, 2), "bob");
	cr_assert_null(tokens_name(&tokens, 0));
	cr_assert_null(tokens_name(&tokens, 3));
}

Test(http_tokens, an_empty_file_admits_nobody)
{
	cr_assert_eq(find(""), 0);
	cr_assert_not(tokens_admit(&tokens, 0));
	cr_assert_not(tokens_admit(&tokens, 1));
}

Test(http_tokens, names_keep_their_number)
{
	append(row("alice", "one"));
	append(row("bob", "two"));
	cr_assert_eq(find("two"), 2);
	start_over();
	append(row("bob", "two"));
	cr_assert_eq(find("one"), 0);
	cr_assert_eq(find("two"), 2);
	cr_assert_not(tokens_admit(&tokens, 1));
	cr_assert(tokens_admit(&tokens, 2));
	append(row("alice", "new"));
	cr_assert_eq(find("new"), 1);
	cr_assert(tokens_admit(&tokens, 1));
}

Test(http_tokens, half_a_line_is_none)
{
	const char *line = row("alice", "one");

	for (size_t size = 1; size < strlen(line); size++) {
		start_over();
		cr_assert_eq(write(file, line, size), (ssize_t)size);
		cr_assert_eq(find("one"), 0, "%zu bytes", size);
	}
	append("\n");
	cr_assert_eq(find("one"), 1);
}

Test(http_tokens, a_change_that_leaves_time_and_size_is_seen)
{
	for (int i = 0; i < 200; i++) {
		start_over();
		append(row("alice", i % 2 ? "one" : "two"));
		cr_assert_eq(find("one") != 0, i % 2 == 1);
		cr_assert_eq(find("two") != 0, i % 2 == 0);
	}
}

Test(http_tokens, no_more_rows_than_there_may_be)
{
	char name[16];

	for (unsigned int i = 0; i < TOKENS_MAX + 1; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		append(row(name, name));
	}
	cr_assert_eq(find("n0"), 1);
	cr_assert_eq(find("n255"), TOKENS_MAX);
	cr_assert_eq(find("n256"), 0);
}

Test(http_tokens, a_removed_file_admits_nobody)
{
	append(row("alice", "one"));
	cr_assert_eq(find("one"), 1);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(find("one"), 0);
	cr_assert_not(tokens_admit(&tokens, 1));
}

Test(http_tokens, other_descriptors)
{
	static struct tokens others;
	int fds[2];
	const int null = open("/dev/null", O_RDONLY);

	cr_assert_eq(tokens_open(&others, null), 0);
	cr_assert_not(others.are_needed);
	cr_assert(tokens_admit(&others, 0));
	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(tokens_open(&others, fds[0]), -EINVAL);
	cr_assert_eq(tokens_open(&others, open("/dev/zero", O_RDONLY)), -EINVAL);
	cr_assert_eq(tokens_open(&others, open("/tmp", O_RDONLY | O_DIRECTORY)), -EINVAL);
	cr_assert_eq(tokens_open(&others, -1), -EINVAL);
}

/* Nobody becomes a third who has nothing to do with it. */
Test(http_tokens, a_token_of_two_names_is_the_first_ones)
{
	uint32_t first = 0, found = 0;

	append(row("alice", "shared"));
	tokens_refresh(&tokens);
	cr_assert(tokens_find(&tokens, "shared", &first));
	append(row("bob", "shared"));
	append(row("carol", "hers"));
	tokens_refresh(&tokens);
	cr_assert_eq(tokens.count, 3);
	cr_assert(tokens_find(&tokens, "shared", &found));
	cr_assert_eq(found, first);
}
