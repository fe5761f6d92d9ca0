/* SPDX-License-Identifier: Apache-2.0
 *
 * gitformat-index(5), versions 2 to 4. An edit is a merge of two sorted lists.
 */
#include "index_edit.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "index_hash.h"
#include "layers/ignored/git_index.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"

#define FIXED_BYTES (INDEX_STAT_BYTES + OBJECT_ID_BYTES + 2)
#define NAME_SIZE 0x0fffU /* the size of a name, in an entry's flags */

struct edit {
	struct git_index_reader old;
	bool has_entry;
	bool is_stale;  /* a change fits no entry: told unless a split index is the reason */
	uint8_t *bytes; /* the new index */
	size_t size, room;
	uint32_t count;
	char last[IPC_PATH_MAX]; /* the name before in the new index */
};

static void put_number(uint8_t *bytes, uint32_t number)
{
	number = htobe32(number);
	memcpy(bytes, &number, sizeof(number));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Write how many bytes of the last name to take off, as git writes such a number. */
static size_t put_cut(uint8_t *bytes, size_t cut)
{
	uint8_t digits[8];
	size_t first = sizeof(digits) - 1;

	digits[first] = cut & 0x7f;
	while (cut >>= 7)
		digits[--first] = 0x80 | (--cut & 0x7f);
	memcpy(bytes, digits + first, sizeof(digits) - first);
	return sizeof(digits) - first;
}

static int put_entry(struct edit *edit, uint32_t mode, const uint8_t id[OBJECT_ID_BYTES],
		     const char *name)
{
	const size_t size = strlen(name);
	size_t used = FIXED_BYTES, same = 0;
	uint8_t *bytes =
		grow_list(edit->bytes, &edit->room, edit->size + FIXED_BYTES + size + 16, 1);

	if (!bytes)
		return -ENOMEM;
	edit->bytes = bytes;
	bytes += edit->size;
	memset(bytes, 0, FIXED_BYTES + size + 16);
	put_number(bytes + INDEX_MODE_AT, mode);
	memcpy(bytes + INDEX_STAT_BYTES, id, OBJECT_ID_BYTES);
	bytes[FIXED_BYTES - 2] = (uint8_t)((size < NAME_SIZE ? size : NAME_SIZE) >> 8);
	bytes[FIXED_BYTES - 1] = (uint8_t)(size < NAME_SIZE ? size : NAME_SIZE);
	if (edit->old.version == 4) {
		while (edit->last[same] && edit->last[same] == name[same])
			same++;
		used += put_cut(bytes + used, strlen(edit->last) - same);
	}
	memcpy(bytes + used, name + same, size - same);
	used += size - same + 1;
	edit->size += edit->old.version == 4 ? used : (used + 7) / 8 * 8;
	memcpy(edit->last, name, size + 1);
	edit->count++;
	return 0;
}

/* Write the head, and behind all entries the hash. */
static int put_ends(struct edit *edit)
{
	uint8_t *bytes = grow_list(edit->bytes, &edit->room, edit->size + 128, 1);

	if (!bytes)
		return -ENOMEM;
	edit->bytes = bytes;
	put_number(bytes, 0x44495243U); /* "DIRC" */
	put_number(bytes + 4, edit->old.version);
	put_number(bytes + 8, edit->count);
	index_hash(bytes, edit->size, bytes + edit->size);
	edit->size += INDEX_HASH_BYTES;
	return 0;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Read the next entry, if there is one. */
static int read_entry(struct edit *edit)
{
	const int status = git_index_next(&edit->old);

	edit->has_entry = status == 1;
	if (!edit->has_entry)
		return status;
	return (edit->old.flags & (INDEX_PASSED_OVER | INDEX_STAGE)) ||
			       (edit->old.mode & 0170000) == TREE_DIRECTORY
		       ? -ENOTSUP
		       : 0;
}

/* Old trees have modes that no index has. */
static uint32_t index_mode(uint32_t mode)
{
	return mode == TREE_FILE_OLD ? TREE_FILE : mode;
}

static bool is_entry(const struct git_index_reader *entry, uint32_t mode,
		     const uint8_t id[OBJECT_ID_BYTES])
{
	return entry && entry->mode == index_mode(mode) &&
	       memcmp(entry->id, id, OBJECT_ID_BYTES) == 0;
}

/* Write what a change makes of its entry. NULL: the index has none. */
static int put_change(struct edit *edit, const struct index_change *change,
		      const struct git_index_reader *entry)
{
	const struct reader_file *file = &change->file;
	const bool is_new =
		file->new_mode == 0 ? !entry : is_entry(entry, file->new_mode, file->new_id);
	const bool is_old =
		file->old_mode == 0 ? !entry : is_entry(entry, file->old_mode, file->old_id);

	edit->is_stale |= !is_new && !is_old;
	return file->new_mode == 0
		       ? 0
		       : put_entry(edit, index_mode(file->new_mode), file->new_id, change->path);
}

/* Merge the entries and the changes. */
static int merge_changes(struct edit *edit, const struct index_change *changes, size_t count)
{
	const struct index_change *end = changes + count;
	int error = read_entry(edit);

	while (!error && (edit->has_entry || changes < end)) {
		const struct git_index_reader *entry = &edit->old;
		const int order = !edit->has_entry ? 1
				  : changes == end ? -1
						   : strcmp(entry->name, changes->path);

		if (order < 0)
			error = put_entry(edit, entry->mode, entry->id, entry->name);
		else
			error = put_change(edit, changes++, order == 0 ? entry : NULL);
		if (!error && order <= 0)
			error = read_entry(edit);
	}
	return error;
}

int index_edit(const uint8_t *bytes, size_t size, const struct index_change *changes, size_t count,
	       uint8_t **ret, size_t *ret_size)
{
	static struct edit edit;
	int error;

	memset(&edit, 0, sizeof(edit));
	edit.size = INDEX_HEAD_BYTES;
	error = git_index_begin(&edit.old, bytes, size, INDEX_HASH_BYTES);
	if (error)
		return error;
	error = merge_changes(&edit, changes, count);
	if (!error)
		error = edit.is_stale ? -ESTALE : put_ends(&edit);
	if (error) {
		free(edit.bytes);
		return error;
	}
	*ret = edit.bytes;
	*ret_size = edit.size;
	return 0;
}
