/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "layers/reader/tree_names.h"

#define ID "01234567890123456789"

/* Read the first entry of a tree of these bytes. */
static int read_entry(const char *bytes, size_t size, struct tree_entry *ret)
{
	const uint8_t *at = (const uint8_t *)bytes;

	return tree_entry_read(&at, at + size, ret);
}

#define READ(bytes, ret) read_entry(bytes, sizeof(bytes) - 1, ret)

Test(tree_names, an_entry)
{
	struct tree_entry entry;

	cr_assert_eq(READ("100755 run.sh\0" ID "40000 a\0" ID, &entry), 1);
	cr_assert_eq(entry.mode, TREE_PROGRAM);
	cr_assert_eq(entry.name_size, 6);
	cr_assert_eq(memcmp(entry.name, "run.sh", 6), 0);
	cr_assert_eq(memcmp(entry.id, ID, OBJECT_ID_BYTES), 0);
	cr_assert_eq(READ("", &entry), 0);
}

Test(tree_names, entries_that_git_refuses)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
#define ROW(bytes) { bytes, sizeof(bytes) - 1 }
		ROW("100644 a\0" ID "x"),
		ROW("100644 .\0" ID),
		ROW("100644 ..\0" ID),
		ROW("100644 .git\0" ID),
		ROW("100644 .GiT\0" ID),
		ROW("100644 git~1\0" ID),
		ROW("100644 .git \0" ID),
		ROW("100644 .git...\0" ID),
		ROW("40000 .git::$X\0" ID),
		ROW("100644 a/b\0" ID),
		ROW("100644 .g\xe2\x80\x8cit\0" ID),
		ROW("40000 .gi\xef\xbb\xbft\0" ID),
		ROW("100644 gi7eba~1\0" ID),
		ROW("100644 GITMOD~4\0" ID),
		ROW("100644 .gitmodules.\0" ID),
		ROW("100644 .GitModules\0" ID),
		ROW("120000 .gitmodules\0" ID),
		ROW("40000 .gitattributes\0" ID),
		ROW("100644 a\0"
		    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		ROW("100644 a\\b\0" ID),
		ROW("100644 \0" ID),
		ROW("104755 a\0" ID),
		ROW("0100644 a\0" ID),
		ROW("20000 a\0" ID),
		ROW("100644 a\0"
		    "short"),
		ROW("100644 a"),
		ROW("100644"),
		ROW("1000000644 a\0" ID),
		ROW("100648 a\0" ID),
		ROW(" a\0" ID),
#undef ROW
	};
	struct tree_entry entry;

	cr_assert_eq(READ("100644 a\0" ID, &entry), 1, "the control");
	for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(read_entry(rows[i].bytes, rows[i].size, &entry), -EBADMSG, "%zu", i);
}

Test(tree_names, a_directory_is_sorted_as_with_a_slash)
{
	const struct tree_entry file = { TREE_FILE, "a\0", 1, NULL, TREE_PLAIN };
	const struct tree_entry folder = { TREE_DIRECTORY, "a\0", 1, NULL, TREE_PLAIN };
	const struct tree_entry between = { TREE_FILE, "a.b", 3, NULL, TREE_PLAIN };

	cr_assert_lt(tree_entry_compare(&file, &between), 0);
	cr_assert_gt(tree_entry_compare(&folder, &between), 0);
	cr_assert_lt(tree_entry_compare(&file, &folder), 0);
	cr_assert_eq(tree_entry_compare(&folder, &folder), 0);
}
