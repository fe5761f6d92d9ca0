/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "layers/reader/refs.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

Test(refs, names_of_branches_and_tags)
{
	static const char *const good[] = { "refs/heads/main",   "refs/heads/a/b.c/d-1",
					    "refs/tags/v1.0",    "refs/heads/\xc3\xa4",
					    "refs/heads/a/HEAD", "refs/heads/a/-b" };
	static const char *const bad[] = { "main",
					   "refs/heads/",
					   "refs/heads//a",
					   "refs/heads/HEAD",
					   "refs/heads/-a",
					   "refs/tags/--exec",
					   "refs/remotes/o/x",
					   "refs/heads/.a",
					   "refs/heads/a/.b",
					   "refs/heads/a..b",
					   "refs/heads/a.lock",
					   "refs/heads/a.lock/b",
					   "refs/heads/a.",
					   "refs/heads/a b",
					   "refs/heads/a~",
					   "refs/heads/a^",
					   "refs/heads/a:b",
					   "refs/heads/a?",
					   "refs/heads/a*",
					   "refs/heads/a[",
					   "refs/heads/a\\b",
					   "refs/heads/a@{b",
					   "refs/heads/a\nb",
					   "refs/heads/a\x7f",
					   "refs/heads/../../x" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert(refs_is_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(refs_is_name(bad[i]), "%s", bad[i]);
}

static int parse(const char *text)
{
	uint8_t id[OBJECT_ID_BYTES];

	return refs_parse(text, strlen(text), id);
}

Test(refs, a_loose_ref)
{
	uint8_t id[OBJECT_ID_BYTES];

	cr_assert_eq(refs_parse(ID "\n", 41, id), 0);
	cr_assert_eq(id[0], 0x01);
	cr_assert_eq(id[19], 0x67);
	cr_assert_eq(parse(ID), 0);
	cr_assert_eq(parse("ref: refs/heads/main\n"), -ENOTSUP);
	cr_assert_eq(parse("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"),
		     -ENOTSUP, "SHA-256");
	cr_assert_eq(parse(""), -EBADMSG);
	cr_assert_eq(parse("0123\n"), -EBADMSG);
	cr_assert_eq(parse("0123456789ABCDEF0123456789abcdef01234567\n"), -EBADMSG);
	cr_assert_eq(parse(ID "0\n"), -EBADMSG);
}

Test(refs, packed_refs)
{
	char text[] = "# pack-refs with: peeled fully-peeled sorted \n" ID " refs/heads/main\n" ID
		      " refs/remotes/origin/main\n" ID " refs/tags/v1\n^" ID "\n" ID
		      " refs/heads/../x\nrubbish\n" ID " refs/heads/cut-off";
	char *at = text;
	const char *name;
	uint8_t id[OBJECT_ID_BYTES];

	cr_assert(refs_next(&at, text + sizeof(text) - 1, &name, id));
	cr_assert_str_eq(name, "refs/heads/main");
	cr_assert_eq(id[1], 0x23);
	cr_assert(refs_next(&at, text + sizeof(text) - 1, &name, id));
	cr_assert_str_eq(name, "refs/tags/v1");
	cr_assert_not(refs_next(&at, text + sizeof(text) - 1, &name, id));
}
