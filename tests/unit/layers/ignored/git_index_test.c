/* SPDX-License-Identifier: Apache-2.0
 *
 * Indexes as git writes them, and bytes that are none.
 */
#include "layers/ignored/git_index.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

static const char *const names[] = { "a-b", "a/b", "a/c/d", "ab", "z", NULL };
static uint8_t bytes[4096];
static struct git_index index_;

static void expect_names(void)
{
	static const char *const there[] = { "a-b", "a", "a/b", "a/c", "a/c/d", "ab", "z" };
	static const char *const not_there[] = { "a/", "a/bc", "b", "a/c/d/e", "zz", "", "A" };

	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		cr_expect(git_index_has(&index_, there[i]), "%s", there[i]);
	for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
		cr_expect_not(git_index_has(&index_, not_there[i]), "%s", not_there[i]);
	git_index_free(&index_);
}

Test(git_index, each_version_with_each_hash)
{
	for (uint32_t version = 2; version <= 4; version++) {
		for (size_t id = 20; id <= 32; id += 12) {
			const size_t size = scene_index(bytes, version, id, names);

			cr_assert_eq(git_index_read(&index_, bytes, size), 0, "version %u, %zu",
				     version, id);
			expect_names();
		}
	}
}

Test(git_index, an_empty_one)
{
	static const char *const none[] = { NULL };

	cr_assert_eq(git_index_read(&index_, bytes, scene_index(bytes, 2, 20, none)), 0);
	cr_expect_not(git_index_has(&index_, "a"));
	git_index_free(&index_);
}

Test(git_index, a_part_of_one_is_none)
{
	for (uint32_t version = 2; version <= 4; version++) {
		const size_t size = scene_index(bytes, version, 20, names);

		for (size_t part = 0; part < size; part++) {
			uint8_t *copy = malloc(part + 1); /* so that a byte too far is seen */

			memcpy(copy, bytes, part);
			cr_expect_eq(git_index_read(&index_, copy, part), -EBADMSG, "%zu", part);
			cr_expect_null(index_.names);
			free(copy);
		}
	}
}

/* An extension between the entries and the hash: 4 letters, a size, and so many bytes. */
static size_t add_extension(size_t size, const char *letters, uint8_t length)
{
	size_t at = size - 20;

	memcpy(bytes + at, letters, 4);
	memset(bytes + at + 4, 0, 3);
	bytes[at + 7] = length;
	memset(bytes + at + 8, 'x', length + 20U);
	return size + 8U + length;
}

Test(git_index, extensions)
{
	const size_t size = scene_index(bytes, 2, 20, names);

	cr_assert_eq(git_index_read(&index_, bytes, add_extension(size, "TREE", 5)), 0);
	expect_names();
	cr_expect_eq(git_index_read(&index_, bytes, add_extension(size, "TREE", 5) - 1), -EBADMSG,
		     "longer than the file");
	cr_expect_eq(git_index_read(&index_, bytes, add_extension(size, "link", 5)), -EBADMSG,
		     "most names are in another file");
	cr_expect_eq(git_index_read(&index_, bytes, add_extension(size, "sdir", 0)), -EBADMSG,
		     "names of whole directories are left out");
}

Test(git_index, no_order_is_no_index)
{
	static const char *const wrong[] = { "b", "a", NULL };
	static const char *const twice[] = { "a", "a", "b", NULL };
	const size_t size = scene_index(bytes, 2, 20, twice);

	cr_expect_eq(git_index_read(&index_, bytes, scene_index(bytes, 2, 20, wrong)), -EBADMSG);
	cr_expect_eq(git_index_read(&index_, bytes, scene_index(bytes, 2, 20, twice)), -EBADMSG);
	bytes[72] |= 0x10;
	bytes[136] |= 0x20; /* the stages of the first two entries */
	cr_assert_eq(git_index_read(&index_, bytes, size), 0, "in conflict");
	cr_expect(git_index_has(&index_, "a") && git_index_has(&index_, "b"));
	git_index_free(&index_);
}

Test(git_index, other_versions)
{
	const size_t size = scene_index(bytes, 2, 20, names);

	bytes[7] = 1;
	cr_expect_eq(git_index_read(&index_, bytes, size), -EBADMSG);
	bytes[7] = 5;
	cr_expect_eq(git_index_read(&index_, bytes, size), -EBADMSG);
	bytes[7] = 2;
	bytes[0] = 'X';
	cr_expect_eq(git_index_read(&index_, bytes, size), -EBADMSG);
}
