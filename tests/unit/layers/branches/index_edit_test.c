/* SPDX-License-Identifier: Apache-2.0
 *
 * The edit of an index, on bytes made by hand; tests/attack/branches.py has git make and read them.
 */
#include "layers/branches/index_edit.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers/branches/index_hash.h"
#include "layers/ignored/git_index.h"
#include "layers/reader/tree_names.h"
#include "scene.h"

#define ROOM 4096

static const char *const names[] = { "a-b", "a/b", "a/c/d", "ab", "z", NULL };
static uint8_t bytes[ROOM], *edited;
static size_t size, edited_size;
static char ab[] = "ab", b[] = "b", none[] = "none";

static int edit(const struct index_change *changes, size_t count)
{
	free(edited);
	edited = NULL;
	return index_edit(bytes, size, changes, count, &edited, &edited_size);
}

/* The next edit is one of the last one's result. */
static void go_on(void)
{
	cr_assert_leq(edited_size, sizeof(bytes));
	memcpy(bytes, edited, edited_size);
	size = edited_size;
}

static void expect_names(const char *const *there, size_t count)
{
	struct git_index index;

	cr_assert_eq(git_index_read(&index, edited, edited_size), 0);
	cr_expect_eq(index.count, count);
	for (size_t i = 0; i < count && i < index.count; i++)
		cr_expect_str_eq(index.names + index.starts[i], there[i]);
	git_index_free(&index);
}

static struct index_change change_of(char *path, uint32_t old_mode, uint8_t old, uint32_t new_mode,
				     uint8_t new)
{
	struct index_change change = { path, { .old_mode = old_mode, .new_mode = new_mode } };

	memset(change.file.old_id, old, sizeof(change.file.old_id));
	memset(change.file.new_id, new, sizeof(change.file.new_id));
	return change;
}

/* FIPS 180-4's own examples, and lengths around the end of a block. */
Test(index_edit, the_hash_is_sha_1)
{
	static const struct {
		const char *text;
		size_t times;
		uint8_t first, last;
	} rows[] = {
		{ "abc", 1, 0xa9, 0x9d },
		{ "", 1, 0xda, 0x09 },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, 0x84, 0xf1 },
		{ "a", 55, 0xc1, 0x5a },
		{ "a", 64, 0x00, 0x4d },
		{ "a", 1000, 0x29, 0xba },
	};
	uint8_t hash[INDEX_HASH_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = 0;

		for (size_t n = 0; n < rows[i].times; n++, used += strlen(rows[i].text))
			memcpy(bytes + used, rows[i].text, strlen(rows[i].text));
		index_hash(bytes, used, hash);
		cr_expect_eq(hash[0], rows[i].first, "%zu: %02x", i, hash[0]);
		cr_expect_eq(hash[19], rows[i].last, "%zu: %02x", i, hash[19]);
	}
}

Test(index_edit, files_come_change_and_go_in_each_version)
{
	for (uint32_t version = 2; version <= 4; version++) {
		static const char *const first[] = { "a-b", "a/b", "a/c/d", "ab", "b", "z" };
		static const char *const second[] = { "a-b", "a/b", "a/c/d", "b", "z" };
		struct index_change come = change_of(b, 0, 0, TREE_FILE, 7);
		struct index_change more[] = { change_of(ab, 0x11111111, 0x11, 0, 0),
					       change_of(b, TREE_FILE, 7, TREE_PROGRAM, 8) };

		size = scene_index(bytes, version, 20, names);
		cr_assert_eq(edit(&come, 1), 0, "version %u", version);
		expect_names(first, 6);
		go_on();
		/* An entry that is new already is no obstacle. */
		cr_assert_eq(edit(&come, 1), 0);
		cr_assert_eq(edited_size, size);
		cr_assert_arr_eq(edited, bytes, size);
		cr_assert_eq(edit(more, 2), 0);
		expect_names(second, 5);
	}
}

Test(index_edit, other_entries_of_the_files_are_an_obstacle)
{
	struct index_change change = change_of(b, 0, 0, TREE_FILE, 7);

	size = scene_index(bytes, 2, 20, names);
	cr_assert_eq(edit(&change, 1), 0);
	go_on();
	change = change_of(b, TREE_FILE, 6, TREE_FILE, 5);
	cr_expect_eq(edit(&change, 1), -ESTALE);
	change = change_of(b, TREE_PROGRAM, 7, TREE_FILE, 5);
	cr_expect_eq(edit(&change, 1), -ESTALE);
	change = change_of(b, 0, 0, TREE_FILE, 5);
	cr_expect_eq(edit(&change, 1), -ESTALE);
	change = change_of(none, TREE_FILE, 7, TREE_FILE, 5);
	cr_expect_eq(edit(&change, 1), -ESTALE);
	change = change_of(none, TREE_FILE, 7, 0, 0);
	cr_expect_eq(edit(&change, 1), 0);
}

/* Flags of the first entry, and the name of an extension. */
Test(index_edit, what_it_does_not_understand_it_refuses)
{
	/* As they lie in the file: passed over, in conflict, sparse, to be added later. */
	static const uint8_t flags[][3] = {
		{ 0x80, 0, 0 }, { 0x20, 0, 0 }, { 0x10, 0, 0 }, { 0x40, 0, 0x40 }, { 0x40, 0, 0x20 }
	};
	const struct index_change lacking = change_of(b, TREE_FILE, 1, TREE_FILE, 2);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		size = scene_index(bytes, 3, 20, names);
		bytes[12 + 60] |= flags[i][0];
		bytes[12 + 62] |= flags[i][2];
		cr_expect_eq(edit(NULL, 0), -ENOTSUP, "%zu", i);
	}
	size = scene_index(bytes, 2, 20, names);
	bytes[12 + 26] = 0x40; /* the mode of a directory */
	bytes[12 + 27] = 0;
	cr_expect_eq(edit(NULL, 0), -ENOTSUP);
	size = scene_index(bytes, 2, 20, names);
	memcpy(bytes + size - 20, "link\0\0\0", 8);
	size += 8;
	cr_expect_eq(edit(NULL, 0), -ENOTSUP);
	/* Its other part has the entry, and not this one. */
	cr_expect_eq(edit(&lacking, 1), -ENOTSUP);
	memcpy(bytes + size - 28, "TREE", 4);
	cr_expect_eq(edit(NULL, 0), 0);
	bytes[7] = 5;
	cr_expect_eq(edit(NULL, 0), -EBADMSG);
}

Test(index_edit, an_index_that_is_cut_is_refused)
{
	for (uint32_t version = 2; version <= 4; version++) {
		const size_t whole = scene_index(bytes, version, 20, names);

		for (size = 0; size < whole; size++)
			cr_expect_neq(edit(NULL, 0), 0, "version %u, %zu", version, size);
	}
}
