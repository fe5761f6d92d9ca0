/* SPDX-License-Identifier: Apache-2.0
 *
 * The paths of entries of a layer: one spelling, the marks of whiteouts, and every path that is
 * refused.
 */
#include "image/entry.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct entry_path path;
static enum entry_kind kind;

Test(entry, one_spelling)
{
	static const struct {
		const char *text, *directory, *name;
		enum entry_kind kind;
	} cases[] = {
		{ "a", "", "a", ENTRY_FILE },
		{ "./a", "", "a", ENTRY_FILE },
		{ "a/", "", "a", ENTRY_FILE },
		{ "a/b", "a", "b", ENTRY_FILE },
		{ ".//a/./b//c/.", "a/b", "c", ENTRY_FILE },
		{ "...", "", "...", ENTRY_FILE },
		{ "..a/b..", "..a", "b..", ENTRY_FILE },
		{ ".wh", "", ".wh", ENTRY_FILE },
		{ "a.wh.b", "", "a.wh.b", ENTRY_FILE },
		{ "", "", "", ENTRY_ROOT },
		{ ".", "", "", ENTRY_ROOT },
		{ "././/", "", "", ENTRY_ROOT },
		{ ".wh.a", "", "a", ENTRY_WHITEOUT },
		{ "d/e/.wh.a", "d/e", "a", ENTRY_WHITEOUT },
		{ ".wh...a", "", "..a", ENTRY_WHITEOUT },
		{ ".wh..wh..opq", "", ".wh..wh..opq", ENTRY_OPAQUE },
		{ "d/.wh..wh..opq", "d", ".wh..wh..opq", ENTRY_OPAQUE },
		{ "d/.wh..wh..opqx", "d", ".wh..wh..opqx", ENTRY_IGNORED },
		{ ".wh..wh.plnk", "", ".wh..wh.plnk", ENTRY_IGNORED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *rule = entry_read(cases[i].text, &path, &kind);

		cr_expect_null(rule, "'%s': %s", cases[i].text, rule);
		cr_expect_str_eq(path.directory, cases[i].directory, "'%s'", cases[i].text);
		cr_expect_str_eq(path.name, cases[i].name, "'%s'", cases[i].text);
		cr_expect_eq(kind, cases[i].kind, "'%s'", cases[i].text);
	}
}

Test(entry, refused)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "/", "absolute" },          { "/a", "absolute" },
		{ "//a", "absolute" },        { "..", "'..'" },
		{ "../a", "'..'" },           { "a/..", "'..'" },
		{ "a/../b", "'..'" },         { "./../a", "'..'" },
		{ "a/.wh.b/c", "directory" }, { ".wh..wh.plnk/1", "directory" },
		{ ".wh.", "hide a name" },    { ".wh..", "hide a name" },
		{ ".wh...", "hide a name" },  { "a/.wh.", "hide a name" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *rule = entry_read(cases[i].text, &path, &kind);

		cr_assert_not_null(rule, "'%s'", cases[i].text);
		cr_expect_not_null(strstr(rule, cases[i].says), "'%s': %s", cases[i].text, rule);
	}
}

/* Paths of each length around the bounds, of names of each length. */
Test(entry, lengths)
{
	static char text[3 * PATH_MAX];

	for (size_t size = 250; size < 260; size++) {
		memset(text, 'n', size);
		text[size] = '\0';
		cr_expect_eq(entry_read(text, &path, &kind) == NULL, size <= NAME_MAX, "%zu", size);
	}
	for (size_t size = PATH_MAX - 5; size < PATH_MAX + 5; size++) {
		for (size_t i = 0; i < size; i++)
			text[i] = i % 200 == 199 ? '/' : 'p';
		text[size - 1] = 'e';
		text[size] = '\0';
		cr_expect_eq(entry_read(text, &path, &kind) == NULL, size < PATH_MAX, "%zu", size);
	}
	/* Of which nothing is left. */
	for (size_t i = 0; i < sizeof(text) - 2; i += 2)
		memcpy(text + i, "./", 3);
	cr_expect_null(entry_read(text, &path, &kind));
	cr_expect_eq(kind, ENTRY_ROOT);
}
