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
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"

#define HEAD_BYTES 12
#define STAT_BYTES 40 /* times and numbers of a file; the mode is among them: */
#define MODE_AT 24
#define FIXED_BYTES (STAT_BYTES + OBJECT_ID_BYTES + 2)

/* Flags of an entry, and, if it is EXTENDED, two more bytes of them. */
#define PASSED_OVER 0x8000U
#define EXTENDED 0x4000U
#define STAGE 0x3000U
#define NAME_SIZE 0x0fffU

struct entry {
	uint32_t mode;
	uint8_t id[OBJECT_ID_BYTES];
	char name[IPC_PATH_MAX];
};

struct edit {
	const uint8_t *at, *end;
	uint32_t version;
	uint32_t left; /* entries that are not read yet */
	bool has_entry;
	bool is_stale; /* a change fits no entry: told unless a split index is the reason */
	struct entry entry;
	uint8_t *bytes; /* the new index */
	size_t size, room;
	uint32_t count;
	char last[IPC_PATH_MAX]; /* the name before in the new index */
};

static uint32_t get_number(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return be32toh(number);
}

static void put_number(uint8_t *bytes, uint32_t number)
{
	number = htobe32(number);
	memcpy(bytes, &number, sizeof(number));
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Version 4: the number of bytes that the name lacks of the one before. */
static bool get_cut(struct edit *edit, size_t *ret)
{
	size_t value = 0;

	for (int i = 0; i < 4 && edit->at < edit->end; i++) {
		const uint8_t byte = *edit->at++;

		value = value << 7 | (byte & 0x7f);
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
		value++;
	}
	return false;
}

/* Read the name behind an entry's head, whose bytes begin at `begin`. */
static int read_name(struct edit *edit, const uint8_t *begin)
{
	char *name = edit->entry.name;
	const size_t last = strlen(name);
	size_t cut = last, size;
	const uint8_t *nul;
	char before[IPC_PATH_MAX];

	memcpy(before, name, last + 1);
	if (edit->version == 4 && (!get_cut(edit, &cut) || cut > last))
		return -EBADMSG;
	nul = memchr(edit->at, '\0', (size_t)(edit->end - edit->at));
	if (!nul)
		return -EBADMSG;
	size = (size_t)(nul - edit->at);
	if (last - cut + size == 0) /* the name is in the other part of a split index */
		return -ENOTSUP;
	if (last - cut + size >= sizeof(before))
		return -EBADMSG;
	memcpy(name + last - cut, edit->at, size + 1);
	size = (size_t)(nul + 1 - begin);
	if (edit->version < 4)
		size = (size + 7) / 8 * 8;
	if (size > (size_t)(edit->end - begin))
		return -EBADMSG;
	edit->at = begin + size;
	return strcmp(before, name) < 0 ? 0 : -EBADMSG;
}

/* Read the next entry, if there is one. */
static int read_entry(struct edit *edit)
{
	const uint8_t *begin = edit->at;
	uint32_t flags;

	edit->has_entry = edit->left > 0;
	if (!edit->has_entry)
		return 0;
	edit->left--;
	if ((size_t)(edit->end - begin) < FIXED_BYTES + 2)
		return -EBADMSG;
	edit->entry.mode = get_number(begin + MODE_AT);
	memcpy(edit->entry.id, begin + STAT_BYTES, OBJECT_ID_BYTES);
	flags = get_number(begin + FIXED_BYTES - 2) >> 16;
	edit->at += FIXED_BYTES;
	if (flags & EXTENDED) {
		edit->at += 2;
		/* It is sparse, or is to be added later. */
		flags |= begin[FIXED_BYTES] || begin[FIXED_BYTES + 1] ? PASSED_OVER : 0;
	}
	if (flags & (PASSED_OVER | STAGE) || (edit->entry.mode & 0170000) == TREE_DIRECTORY)
		return -ENOTSUP;
	return read_name(edit, begin);
}

/* An extension whose name begins with a capital letter can be left out. */
static int check_extensions(const struct edit *edit)
{
	const uint8_t *at = edit->at;

	while ((size_t)(edit->end - at) >= 8) {
		const uint32_t size = get_number(at + 4);

		if (size > (size_t)(edit->end - at) - 8)
			return -EBADMSG;
		if (*at < 'A' || *at > 'Z')
			return -ENOTSUP;
		at += 8 + size;
	}
	return at == edit->end ? 0 : -EBADMSG;
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
	put_number(bytes + MODE_AT, mode);
	memcpy(bytes + STAT_BYTES, id, OBJECT_ID_BYTES);
	bytes[FIXED_BYTES - 2] = (uint8_t)((size < NAME_SIZE ? size : NAME_SIZE) >> 8);
	bytes[FIXED_BYTES - 1] = (uint8_t)(size < NAME_SIZE ? size : NAME_SIZE);
	if (edit->version == 4) {
		while (edit->last[same] && edit->last[same] == name[same])
			same++;
		used += put_cut(bytes + used, strlen(edit->last) - same);
	}
	memcpy(bytes + used, name + same, size - same);
	used += size - same + 1;
	edit->size += edit->version == 4 ? used : (used + 7) / 8 * 8;
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
	put_number(bytes + 4, edit->version);
	put_number(bytes + 8, edit->count);
	index_hash(bytes, edit->size, bytes + edit->size);
	edit->size += INDEX_HASH_BYTES;
	return 0;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Old trees have modes that no index has. */
static uint32_t index_mode(uint32_t mode)
{
	return mode == TREE_FILE_OLD ? TREE_FILE : mode;
}

static bool is_entry(const struct entry *entry, uint32_t mode, const uint8_t id[OBJECT_ID_BYTES])
{
	return entry && entry->mode == index_mode(mode) &&
	       memcmp(entry->id, id, OBJECT_ID_BYTES) == 0;
}

/* Write what a change makes of its entry. NULL: the index has none. */
static int put_change(struct edit *edit, const struct index_change *change,
		      const struct entry *entry)
{
	const struct history_file *file = &change->file;
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
		const struct entry *entry = &edit->entry;
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

	if (size < HEAD_BYTES + INDEX_HASH_BYTES || memcmp(bytes, "DIRC", 4) != 0)
		return -EBADMSG;
	memset(&edit, 0, sizeof(edit));
	edit.at = bytes + HEAD_BYTES;
	edit.end = bytes + size - INDEX_HASH_BYTES;
	edit.version = get_number(bytes + 4);
	edit.left = get_number(bytes + 8);
	edit.size = HEAD_BYTES;
	if (edit.version < 2 || edit.version > 4)
		return -EBADMSG;
	error = merge_changes(&edit, changes, count);
	if (!error)
		error = check_extensions(&edit);
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
