/* SPDX-License-Identifier: Apache-2.0 */
#include "git_index.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap/grow.h"

#define SHA1_BYTES 20
#define SHA256_ID_BYTES 32

static uint32_t get_number(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return be32toh(number);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Version 4: the number of bytes that the name lacks of the one before, as git writes such a
 * number.
 */
static bool get_cut(struct git_index_reader *reader, size_t *ret)
{
	size_t value = 0;

	for (int i = 0; i < 4 && reader->at < reader->end; i++) {
		const uint8_t byte = *reader->at++;

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
static int read_name(struct git_index_reader *reader, const uint8_t *begin)
{
	char *name = reader->name, before[IPC_PATH_MAX];
	const size_t last = strlen(name);
	size_t cut = last, size;
	const uint8_t *nul;
	int order;

	memcpy(before, name, last + 1);
	if (reader->version == 4 && (!get_cut(reader, &cut) || cut > last))
		return -EBADMSG;
	nul = memchr(reader->at, '\0', (size_t)(reader->end - reader->at));
	if (!nul)
		return -EBADMSG;
	size = (size_t)(nul - reader->at);
	if (last - cut + size == 0) /* the name is in the other part of a split index */
		return -ENOTSUP;
	if (last - cut + size >= sizeof(before))
		return -EBADMSG;
	memcpy(name + last - cut, reader->at, size + 1);
	size = (size_t)(nul + 1 - begin);
	if (reader->version < 4)
		size = (size + 7) / 8 * 8;
	if (size > (size_t)(reader->end - begin))
		return -EBADMSG;
	reader->at = begin + size;
	order = strcmp(before, name); /* a file in conflict has several entries */
	return order < 0 || (order == 0 && (reader->flags & INDEX_STAGE)) ? 1 : -EBADMSG;
}

/* Check the rest: an extension whose name begins with a capital letter can be left out. */
static int check_extensions(const struct git_index_reader *reader)
{
	const uint8_t *at = reader->at;

	while ((size_t)(reader->end - at) >= 8) {
		const uint32_t size = get_number(at + 4);

		if (size > (size_t)(reader->end - at) - 8)
			return -EBADMSG;
		if (*at < 'A' || *at > 'Z')
			return -ENOTSUP;
		at += 8 + size;
	}
	return at == reader->end ? 0 : -EBADMSG;
}

int git_index_begin(struct git_index_reader *reader, const uint8_t *bytes, size_t size,
		    size_t id_bytes)
{
	if (size < INDEX_HEAD_BYTES + id_bytes || memcmp(bytes, "DIRC", 4) != 0)
		return -EBADMSG;
	*reader = (struct git_index_reader){ .at = bytes + INDEX_HEAD_BYTES,
					     .end = bytes + size - id_bytes, /* its own hash */
					     .version = get_number(bytes + 4),
					     .left = get_number(bytes + 8),
					     .id_bytes = id_bytes };
	return reader->version >= 2 && reader->version <= 4 ? 0 : -EBADMSG;
}

int git_index_next(struct git_index_reader *reader)
{
	const uint8_t *begin = reader->at;
	const size_t head = INDEX_STAT_BYTES + reader->id_bytes + 2;

	if (reader->left == 0)
		return check_extensions(reader);
	reader->left--;
	if ((size_t)(reader->end - begin) < head + 2)
		return -EBADMSG;
	reader->mode = get_number(begin + INDEX_MODE_AT);
	reader->id = begin + INDEX_STAT_BYTES;
	reader->flags = get_number(begin + head - 2) >> 16;
	reader->at += head;
	if (reader->flags & INDEX_EXTENDED) {
		reader->at += 2;
		reader->flags |= begin[head] || begin[head + 1] ? INDEX_PASSED_OVER : 0;
	}
	return read_name(reader, begin);
}

/* --- names ------------------------------------------------------------------------------------ */

static int add_name(struct git_index *index, const char *name)
{
	uint32_t *start =
		grow_item(&index->starts, &index->starts_room, &index->count, sizeof(*start));

	if (!start)
		return -ENOMEM;
	*start = (uint32_t)index->size;
	if (!grow_bytes(&index->names, &index->room, &index->size, name, strlen(name) + 1))
		return -ENOMEM;
	return index->size <= UINT32_MAX / 2 ? 0 : -EBADMSG;
}

static int read_with(struct git_index *index, const uint8_t *bytes, size_t size, size_t id_bytes)
{
	static struct git_index_reader reader;
	int status = git_index_begin(&reader, bytes, size, id_bytes);

	memset(index, 0, sizeof(*index));
	while (status >= 0 && (status = git_index_next(&reader)) == 1)
		status = add_name(index, reader.name);
	if (status < 0)
		git_index_free(index);
	return status;
}

int git_index_read(struct git_index *index, const uint8_t *bytes, size_t size)
{
	int error = read_with(index, bytes, size, SHA1_BYTES);

	/* The file does not say which hash it is made with. */
	if (error == -EBADMSG || error == -ENOTSUP)
		error = read_with(index, bytes, size, SHA256_ID_BYTES);
	return error == -ENOTSUP ? -EBADMSG : error;
}

/* Return whether a name begins with the path and has `end` behind it. */
static bool has_with(const struct git_index *index, const char *path, char end)
{
	const size_t size = strlen(path);
	size_t low = 0;

	for (size_t high = index->count; low < high;) {
		const size_t middle = low + (high - low) / 2;
		const char *name = index->names + index->starts[middle];
		int order = strncmp(name, path, size);

		if (order == 0)
			order = (unsigned char)name[size] - (unsigned char)end;
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool git_index_has(const struct git_index *index, const char *path)
{
	return has_with(index, path, '\0') || has_with(index, path, '/');
}

void git_index_free(struct git_index *index)
{
	free(index->names);
	free(index->starts);
	memset(index, 0, sizeof(*index));
}
