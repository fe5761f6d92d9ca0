/* SPDX-License-Identifier: Apache-2.0 */
#include "git_index.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "lib/heap/grow.h"

#define HEAD_BYTES 12
#define STATUS_BYTES 40 /* times, numbers and sizes of an entry, before its object's id */
#define SHA1_BYTES 20
#define SHA256_ID_BYTES 32
#define EXTENDED 0x4000U /* flags of an entry: two more bytes of them follow */

struct reader {
	const uint8_t *at, *end;
	uint32_t version;
	size_t id_bytes;
};

static uint32_t get_number(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return be32toh(number);
}

/* Add a name: the first `kept` bytes of the last one, and these. */
static int add_name(struct git_index *index, size_t kept, const uint8_t *bytes, size_t size)
{
	const size_t last = index->count > 0 ? index->starts[index->count - 1] : 0;
	uint32_t *starts =
		grow_list(index->starts, &index->starts_room, index->count + 1, sizeof(*starts));
	char *names;

	if (!starts)
		return -ENOMEM;
	index->starts = starts;
	if (kept + size == 0 || kept + size >= IPC_PATH_MAX || index->size > UINT32_MAX / 2)
		return -EBADMSG;
	names = grow_list(index->names, &index->room, index->size + kept + size + 1, 1);
	if (!names)
		return -ENOMEM;
	index->names = names;
	memcpy(names + index->size, names + last, kept);
	memcpy(names + index->size + kept, bytes, size);
	names[index->size + kept + size] = '\0';
	/* In order, so that they can be searched; a file in conflict has several entries. */
	if (index->count > 0 && strcmp(names + last, names + index->size) > 0)
		return -EBADMSG;
	index->starts[index->count++] = (uint32_t)index->size;
	index->size += kept + size + 1;
	return 0;
}

/* Version 4: how many bytes of the last name to take off, as git writes such a number. */
static int get_cut(struct reader *reader, size_t *ret)
{
	size_t value = 0;

	for (int i = 0; i < 4 && reader->at < reader->end; i++) {
		const uint8_t byte = *reader->at++;

		value = (value << 7) | (byte & 0x7f);
		if (!(byte & 0x80)) {
			*ret = value;
			return 0;
		}
		value++;
	}
	return -EBADMSG;
}

static int read_entry(struct git_index *index, struct reader *reader)
{
	const uint8_t *begin = reader->at;
	const size_t head = STATUS_BYTES + reader->id_bytes + 2;
	const size_t last =
		index->count > 0 ? strlen(index->names + index->starts[index->count - 1]) : 0;
	size_t cut = last;
	const uint8_t *nul;
	size_t used;
	int error = 0;

	if ((size_t)(reader->end - begin) < head + 2)
		return -EBADMSG;
	reader->at += head + ((begin[head - 2] << 8 & EXTENDED) && reader->version > 2 ? 2 : 0);
	if (reader->version == 4)
		error = get_cut(reader, &cut);
	nul = error || cut > last ? NULL
				  : memchr(reader->at, '\0', (size_t)(reader->end - reader->at));
	if (!nul)
		return -EBADMSG;
	error = add_name(index, last - cut, reader->at, (size_t)(nul - reader->at));
	used = (size_t)(nul + 1 - begin);
	if (reader->version < 4)
		used = (used + 7) / 8 * 8;
	if (used > (size_t)(reader->end - begin))
		return -EBADMSG;
	reader->at = begin + used;
	return error;
}

/* Behind the entries: "link" says that most of them are in another file. */
static int read_extensions(const struct reader *reader)
{
	const uint8_t *at = reader->at;

	while ((size_t)(reader->end - at) >= 8) {
		const uint32_t size = get_number(at + 4);

		if (memcmp(at, "link", 4) == 0 || size > (size_t)(reader->end - at) - 8)
			return -EBADMSG;
		at += 8 + size;
	}
	return at == reader->end ? 0 : -EBADMSG;
}

static int read_with(struct git_index *index, const uint8_t *bytes, size_t size, size_t id_bytes)
{
	struct reader reader = { .at = bytes + HEAD_BYTES, .id_bytes = id_bytes };
	int error = 0;

	memset(index, 0, sizeof(*index));
	if (size < HEAD_BYTES + id_bytes || memcmp(bytes, "DIRC", 4) != 0)
		return -EBADMSG;
	reader.end = bytes + size - id_bytes; /* the file's own hash */
	reader.version = get_number(bytes + 4);
	if (reader.version < 2 || reader.version > 4)
		return -EBADMSG;
	for (uint32_t left = get_number(bytes + 8); left > 0 && !error; left--)
		error = read_entry(index, &reader);
	if (!error)
		error = read_extensions(&reader);
	if (error)
		git_index_free(index);
	return error;
}

int git_index_read(struct git_index *index, const uint8_t *bytes, size_t size)
{
	int error = read_with(index, bytes, size, SHA1_BYTES);

	/* The file does not say which hash it is made with. */
	return error == -EBADMSG ? read_with(index, bytes, size, SHA256_ID_BYTES) : error;
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
