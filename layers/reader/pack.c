/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "inflate.h"
#include "layers/base/beneath.h"
#include "lib/heap/grow.h"
#include "objects.h"

/* gitformat-pack(5) */
#define INDEX_MAGIC 0xff744f63U
#define INDEX_VERSION 2U
#define INDEX_HEAD 8U
#define FANOUT_BYTES (256U * 4)
#define TRAILER_BYTES (2U * OBJECT_ID_BYTES)
#define OFFSET_IS_LARGE 0x80000000U
#define DELTA_BY_OFFSET 6U
#define DELTA_BY_ID 7U

/* git's own bound is 4,095 (pack.depth). */
#define CHAIN_MAX 4096U

static int read_at(int file, void *ret, size_t size, uint64_t at)
{
	const ssize_t got = at > INT64_MAX ? -EBADMSG : beneath_read(file, ret, size, (off_t)at);

	return got < 0 ? (int)got : (size_t)got == size ? 0 : -EBADMSG;
}

static int read_number(int file, uint64_t at, uint32_t *ret)
{
	uint32_t number = 0;
	const int error = read_at(file, &number, sizeof(number), at);

	*ret = be32toh(number);
	return error;
}

/* --- the index -------------------------------------------------------------------------------- */

static int check_index(struct pack *pack)
{
	uint32_t magic, version;
	struct stat status;
	int error = read_number(pack->index, 0, &magic);

	if (!error)
		error = read_number(pack->index, 4, &version);
	if (!error)
		error = read_number(pack->index, INDEX_HEAD + FANOUT_BYTES - 4, &pack->count);
	if (error)
		return error;
	if (fstat(pack->index, &status) != 0)
		return -errno;
	pack->index_size = (uint64_t)status.st_size;
	return magic == INDEX_MAGIC && version == INDEX_VERSION &&
			       pack->index_size >=
				       INDEX_HEAD + FANOUT_BYTES + TRAILER_BYTES +
					       (uint64_t)pack->count * (OBJECT_ID_BYTES + 8)
		       ? 0
		       : -EBADMSG;
}

/* Open NAME.idx and NAME.pack. -EBADMSG: they are no pack. */
static int open_pack(int directory, const char *index_name, struct pack *ret)
{
	char name[NAME_MAX + 1];
	const size_t stem = strlen(index_name) - strlen(".idx");
	struct stat status;
	int error;

	/* is_index() has checked that it fits. */
	(void)snprintf(name, sizeof(name), "%.*s.pack", (int)stem, index_name);
	ret->index = beneath_file(directory, index_name, &status);
	ret->file = beneath_file(directory, name, &status);
	error = ret->index < 0 ? ret->index : ret->file < 0 ? ret->file : check_index(ret);
	if (error) {
		fd_close(&ret->index);
		fd_close(&ret->file);
	}
	return error;
}

static bool is_index(const char *name)
{
	const size_t size = strlen(name);

	return size > 4 && size < NAME_MAX && strcmp(name + size - 4, ".idx") == 0;
}

static int add_pack(struct packs *packs, int directory, const char *name)
{
	struct pack *pack;
	int error;

	if (packs->count == PACKS_MAX)
		return -E2BIG;
	pack = grow_item(&packs->all, &packs->room, &packs->count, sizeof(*pack));
	if (!pack)
		return -ENOMEM;
	error = open_pack(directory, name, pack);
	packs->count -= error != 0;
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM ? error : 0;
}

int packs_open(struct packs *packs, int directory)
{
	struct beneath_names names = { 0 };
	int error = beneath_names_read(&names, directory);

	for (size_t i = 0; i < names.count && !error; i++)
		error = is_index(names.names[i]) ? add_pack(packs, directory, names.names[i]) : 0;
	beneath_names_free(&names);
	return error;
}

void packs_close(struct packs *packs)
{
	for (size_t i = 0; i < packs->count; i++) {
		fd_close(&packs->all[i].index);
		fd_close(&packs->all[i].file);
	}
	free(packs->all);
	memset(packs, 0, sizeof(*packs));
}

/* Return the index of the id, or -ENOENT. */
static int64_t find_number(const struct pack *pack, const uint8_t id[OBJECT_ID_BYTES])
{
	uint32_t low = 0, high;
	int error = read_number(pack->index, INDEX_HEAD + 4 * (uint64_t)id[0], &high);

	if (!error && id[0] > 0)
		error = read_number(pack->index, INDEX_HEAD + 4 * (uint64_t)(id[0] - 1), &low);
	if (error)
		return error;
	if (high > pack->count)
		return -EBADMSG;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		uint8_t there[OBJECT_ID_BYTES];
		int order;

		error = read_at(pack->index, there, sizeof(there),
				INDEX_HEAD + FANOUT_BYTES + (uint64_t)middle * OBJECT_ID_BYTES);
		if (error)
			return error;
		order = memcmp(id, there, sizeof(there));
		if (order == 0)
			return middle;
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}

static int find_offset(const struct pack *pack, uint32_t number, uint64_t *ret)
{
	const uint64_t offsets =
		INDEX_HEAD + FANOUT_BYTES + (uint64_t)pack->count * (OBJECT_ID_BYTES + 4);
	uint32_t small;
	uint64_t large = 0;
	int error = read_number(pack->index, offsets + 4 * (uint64_t)number, &small);

	*ret = small;
	if (error || !(small & OFFSET_IS_LARGE))
		return error;
	error = read_at(pack->index, &large, sizeof(large),
			offsets + 4 * (uint64_t)pack->count +
				8 * (uint64_t)(small & ~OFFSET_IS_LARGE));
	*ret = be64toh(large);
	return error;
}

static int find_in_pack(const struct pack *pack, const uint8_t id[OBJECT_ID_BYTES], uint64_t *ret)
{
	const int64_t number = find_number(pack, id);
	const int error = number < 0 ? (int)number : find_offset(pack, (uint32_t)number, ret);

	return error == 0 ? 1 : error == -ENOENT || error == -EBADMSG ? 0 : error;
}

int packs_find(const struct packs *packs, const uint8_t id[OBJECT_ID_BYTES],
	       const struct pack **ret_pack, uint64_t *ret_offset)
{
	for (size_t i = 0; i < packs->count; i++) {
		const int found = find_in_pack(&packs->all[i], id, ret_offset);

		*ret_pack = &packs->all[i];
		if (found)
			return found;
	}
	return 0;
}

/* --- entries ---------------------------------------------------------------------------------- */

struct entry {
	uint32_t type;
	uint64_t size; /* decompressed */
	uint64_t data; /* the offset of the compressed bytes */
	uint64_t base; /* a delta's: the offset of its base */
};

/* Parse an entry's head, which is a few bytes; the rest of `bytes` is zero. */
static int parse_head(const struct pack *pack, const uint8_t *bytes, size_t most, uint64_t offset,
		      struct entry *ret)
{
	size_t at = 0;
	uint64_t distance;

	ret->type = (bytes[0] >> 4) & 7;
	ret->size = bytes[0] & 15;
	for (unsigned int shift = 4; bytes[at++] & 0x80; shift += 7) {
		if (shift > 32 || at >= most)
			return -EBADMSG;
		ret->size |= (uint64_t)(bytes[at] & 0x7f) << shift;
	}
	if (ret->type == DELTA_BY_OFFSET) {
		distance = bytes[at] & 0x7f;
		while (bytes[at++] & 0x80) {
			if (distance >= (uint64_t)1 << 55 || at >= most)
				return -EBADMSG;
			distance = ((distance + 1) << 7) | (bytes[at] & 0x7f);
		}
		if (distance == 0 || distance > offset)
			return -EBADMSG;
		ret->base = offset - distance;
	} else if (ret->type == DELTA_BY_ID) {
		if (at + OBJECT_ID_BYTES > most || find_in_pack(pack, bytes + at, &ret->base) != 1)
			return -EBADMSG;
		at += OBJECT_ID_BYTES;
	} else if (ret->type == 0 || ret->type >= OBJECT_TYPE_COUNT) {
		return -EBADMSG;
	}
	ret->data = offset + at;
	return ret->size <= OBJECT_BYTES_MAX ? 0 : -EFBIG;
}

static int read_head(const struct pack *pack, uint64_t offset, struct entry *ret)
{
	uint8_t bytes[48] = { 0 }; /* at most 10 for the size, and 20 for an id */
	const ssize_t size =
		offset > INT64_MAX ? -EBADMSG
				   : beneath_read(pack->file, bytes, sizeof(bytes), (off_t)offset);

	if (size <= 0)
		return size < 0 ? (int)size : -EBADMSG;
	return parse_head(pack, bytes, sizeof(bytes), offset, ret);
}

static int read_data(const struct pack *pack, const struct entry *entry, uint8_t **ret)
{
	static struct inflate inflate;
	uint8_t *bytes = malloc(entry->size + 1);
	ssize_t size;
	int error = bytes ? inflate_begin(&inflate, pack->file, (off_t)entry->data) : -ENOMEM;

	if (error) {
		free(bytes);
		return error;
	}
	size = inflate_read(&inflate, bytes, entry->size);
	error = size < 0                        ? (int)size
		: (uint64_t)size != entry->size ? -EBADMSG
						: inflate_check_end(&inflate);
	inflate_end(&inflate);
	bytes[entry->size] = '\0';
	if (error)
		free(bytes);
	else
		*ret = bytes;
	return error;
}

/* --- deltas ----------------------------------------------------------------------------------- */

struct delta {
	const uint8_t *at, *end;
};

/* Read a size at the head of a delta. */
static int delta_size_of(struct delta *delta, size_t *ret)
{
	uint64_t size = 0;

	for (unsigned int shift = 0; shift < 63; shift += 7) {
		if (delta->at == delta->end)
			return -EBADMSG;
		size |= (uint64_t)(*delta->at & 0x7f) << shift;
		if (!(*delta->at++ & 0x80)) {
			*ret = size;
			return size <= OBJECT_BYTES_MAX ? 0 : -EFBIG;
		}
	}
	return -EBADMSG;
}

/* Read a copy's offset (at most 4 bytes) and size (at most 3 bytes); absent bytes are zero. */
static int parse_copy(struct delta *delta, uint8_t code, size_t *ret_offset, size_t *ret_size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 7; i++) {
		if (!(code & (1U << i)))
			continue;
		if (delta->at == delta->end)
			return -EBADMSG;
		value |= (uint64_t)*delta->at++ << (8 * i);
	}
	*ret_offset = value & 0xffffffff;
	*ret_size = value >> 32 ? value >> 32 : 0x10000;
	return 0;
}

int pack_apply_delta(const uint8_t *base, size_t base_size, const uint8_t *bytes, size_t bytes_size,
		     uint8_t **ret, size_t *ret_size)
{
	struct delta delta = { bytes, bytes + bytes_size };
	size_t expected = 0, size = 0, used = 0;
	uint8_t *made;
	int error = delta_size_of(&delta, &expected);

	if (!error)
		error = delta_size_of(&delta, &size);
	if (error || expected != base_size)
		return error ? error : -EBADMSG;
	made = malloc(size + 1);
	if (!made)
		return -ENOMEM;
	while (delta.at < delta.end && !error) {
		const uint8_t code = *delta.at++;
		size_t offset = 0, length = code;
		const uint8_t *from = delta.at;

		if (code & 0x80) {
			error = parse_copy(&delta, code, &offset, &length);
			if (error || offset > base_size || length > base_size - offset)
				break;
			from = base + offset;
		} else if (code == 0 || length > (size_t)(delta.end - delta.at)) {
			break;
		} else {
			delta.at += length;
		}
		if (length > size - used)
			break;
		memcpy(made + used, from, length);
		used += length;
		error = used == size && delta.at < delta.end ? -EBADMSG : 0;
	}
	if (used != size || delta.at != delta.end) {
		free(made);
		return error ? error : -EBADMSG;
	}
	made[size] = '\0';
	*ret = made;
	*ret_size = size;
	return 0;
}

/* List the deltas of an object, the last one first, down to an entry that is no delta. */
static int find_chain(const struct pack *pack, uint64_t offset, struct entry *chain, size_t *ret)
{
	for (size_t count = 0; count < CHAIN_MAX; count++) {
		const int error = read_head(pack, offset, &chain[count]);

		*ret = count;
		if (error)
			return error;
		if (chain[count].type < OBJECT_TYPE_COUNT)
			return 0;
		offset = chain[count].base;
	}
	return -EBADMSG;
}

static int apply_next(const struct pack *pack, const struct entry *entry, struct object *object)
{
	uint8_t *delta, *made;
	size_t size;
	int error = read_data(pack, entry, &delta);

	if (error)
		return error;
	error = pack_apply_delta(object->bytes, object->size, delta, entry->size, &made, &size);
	free(delta);
	if (error)
		return error;
	free(object->bytes);
	object->bytes = made;
	object->size = size;
	return 0;
}

int pack_read(const struct pack *pack, uint64_t offset, struct object *ret)
{
	static struct entry chain[CHAIN_MAX];
	size_t deltas;
	int error = find_chain(pack, offset, chain, &deltas);

	if (error)
		return error;
	ret->type = chain[deltas].type;
	ret->size = chain[deltas].size;
	error = read_data(pack, &chain[deltas], &ret->bytes);
	if (error)
		return error;
	while (deltas > 0 && !error)
		error = apply_next(pack, &chain[--deltas], ret);
	if (error)
		object_free(ret);
	return error;
}
