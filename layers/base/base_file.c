/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/base_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "lib/heap/grow.h"

#define FIRST_SLOTS 1024
#define ALIGNMENT 8

static uint32_t check_of(const struct base_record *record, const char *path)
{
	struct base_record copy = *record;
	uint8_t hash[SHA256_BYTES];
	struct sha256 state;
	uint32_t ret;

	copy.check = 0;
	sha256_begin(&state);
	sha256_add(&state, &copy, sizeof(copy));
	sha256_add(&state, path, record->path_size);
	sha256_end(&state, hash);
	memcpy(&ret, hash, sizeof(ret));
	return ret;
}

static size_t whole_size(uint32_t path_size)
{
	return (sizeof(struct base_record) + path_size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

long base_parse(const uint8_t *bytes, size_t size, struct base_record *ret, const char **ret_path)
{
	struct base_record record;
	const char *path = (const char *)bytes + sizeof(record);

	if (size < sizeof(record))
		return -EBADMSG;
	memcpy(&record, bytes, sizeof(record));
	if (record.path_size == 0 || record.path_size >= IPC_PATH_MAX ||
	    record.size != whole_size(record.path_size) || record.size > size || record.kind == 0 ||
	    record.kind >= BASE_KIND_COUNT ||
	    (record.flags & ~(BASE_IS_NEW | BASE_IS_MERGED)) != 0 ||
	    memchr(path, 0, record.path_size) || record.check != check_of(&record, path) ||
	    !files_is_zero(bytes + sizeof(record) + record.path_size,
			   record.size - sizeof(record) - record.path_size))
		return -EBADMSG;
	*ret = record;
	*ret_path = path;
	return (long)record.size;
}

bool base_is_head(const struct base_head *head, size_t size)
{
	return head->magic == BASE_MAGIC && head->record_size == sizeof(struct base_record) &&
	       head->used <= size;
}

/* FNV-1a: the paths are a workload's, but what it can make slow is its own note, which has a time.
 */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_more(uint64_t hash, char byte)
{
	return (hash ^ (uint8_t)byte) * UINT64_C(0x100000001b3);
}

/* The slot of a path with this hash, or the free one where it belongs. */
static size_t slot_at(const struct base_table *table, uint64_t hash, const char *path, size_t size)
{
	size_t slot = hash & (table->slot_count - 1);

	for (; table->slots[slot].bytes; slot = (slot + 1) & (table->slot_count - 1)) {
		const uint8_t *bytes = table->slots[slot].bytes;
		struct base_record record;

		memcpy(&record, bytes, sizeof(record));
		if (record.path_size == size && memcmp(bytes + sizeof(record), path, size) == 0)
			break;
	}
	return slot;
}

static size_t slot_of(const struct base_table *table, const char *path, size_t size)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < size; i++)
		hash = hash_more(hash, path[i]);
	return slot_at(table, hash, path, size);
}

static int grow_table(struct base_table *table)
{
	const struct base_table before = *table;
	const size_t count = before.slot_count ? 2 * before.slot_count : FIRST_SLOTS;
	struct base_slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	table->slots = slots;
	table->slot_count = count;
	for (size_t i = 0; i < before.slot_count; i++) {
		const uint8_t *bytes = before.slots[i].bytes;
		struct base_record record;

		if (!bytes)
			continue;
		memcpy(&record, bytes, sizeof(record));
		slots[slot_of(table, (const char *)bytes + sizeof(record), record.path_size)] =
			before.slots[i];
	}
	free(before.slots);
	return 0;
}

static int put_row(struct base_table *table, const uint8_t *bytes, const struct base_record *record)
{
	size_t slot;

	if (2 * (table->used + 1) > table->slot_count) {
		const int error = grow_table(table);

		if (error)
			return error;
	}
	slot = slot_of(table, (const char *)bytes + sizeof(*record), record->path_size);
	if (table->slots[slot].bytes && !(record->flags & BASE_IS_NEW))
		return 0;
	table->used += table->slots[slot].bytes ? 0 : 1;
	table->slots[slot] = (struct base_slot){ bytes, table->slots[slot].bytes };
	return 0;
}

static int put_all(struct base_table *table, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		struct base_record record;
		const char *path;
		const long used = base_parse(bytes, size, &record, &path);
		const int error = used < 0 ? (int)used : put_row(table, bytes, &record);

		if (error)
			return error;
		bytes += used;
		size -= (size_t)used;
	}
	return 0;
}

/* The head of an open base; an empty file has none yet, and one whose first write ended before the
 * head has zeros. */
static int read_head(int file, struct base_head *ret)
{
	struct stat status;
	int error;

	memset(ret, 0, sizeof(*ret));
	if (fstat(file, &status) != 0)
		return -errno;
	if (status.st_size == 0)
		return 0;
	error = (size_t)status.st_size < sizeof(*ret) ? -EBADMSG
						      : files_read(file, ret, sizeof(*ret), 0);
	if (!error && !files_is_zero((const uint8_t *)ret, sizeof(*ret)) &&
	    !base_is_head(ret, (size_t)status.st_size - sizeof(*ret)))
		error = -EBADMSG;
	return error ? error : ret->used > BASE_BYTES_MAX ? -EFBIG : 0;
}

static int read_file(struct base_table *table, int file)
{
	struct base_head head;
	uint8_t *bytes;
	int error = read_head(file, &head);

	if (error || head.used == 0)
		return error;
	bytes = malloc(head.used);
	if (!bytes)
		return -ENOMEM;
	table->files[table->file_count++] = bytes;
	error = files_read(file, bytes, head.used, (off_t)sizeof(head));
	return error ? error : put_all(table, bytes, head.used);
}

int base_table_read(struct base_table *table, const struct job_directories *directories)
{
	int error = 0;

	memset(table, 0, sizeof(*table));
	table->files = calloc(directories->layer_count + 1, sizeof(*table->files));
	if (!table->files || grow_table(table) != 0)
		return -ENOMEM;
	for (uint32_t i = directories->layer_count; i > 0 && !error; i--) {
		struct stat status;
		int file = beneath_file(directories->layers[i - 1], BASE_NAME, &status);

		if (file == -ENOENT)
			continue;
		error = file < 0 ? file : read_file(table, file);
		fd_close(&file);
	}
	return error;
}

void base_table_free(struct base_table *table)
{
	list_free(table->files, table->file_count, sizeof(*table->files));
	list_free(table->added_blocks, table->added_block_count, sizeof(*table->added_blocks));
	free(table->slots);
	free(table->added);
	memset(table, 0, sizeof(*table));
}

bool base_table_find(const struct base_table *table, const char *path, size_t path_size,
		     struct base_record *ret)
{
	const uint8_t *nearest = NULL, *bytes = NULL;
	uint64_t hash = HASH_START;

	for (size_t i = 0; i <= path_size; i++) {
		if (i == path_size || path[i] == '/') {
			bytes = table->slots[slot_at(table, hash, path, i)].bytes;
			nearest = bytes ? bytes : nearest;
		}
		if (i < path_size)
			hash = hash_more(hash, path[i]);
	}
	if (!nearest)
		return false;
	memcpy(ret, nearest, sizeof(*ret));
	return bytes || ret->kind == BASE_ABSENT;
}

bool base_table_history(const struct base_table *table, const char *path, struct base_record *ret,
			struct base_record *ret_before)
{
	const struct base_slot *slot = &table->slots[slot_of(table, path, strlen(path))];

	memset(ret_before, 0, sizeof(*ret_before));
	if (slot->bytes)
		memcpy(ret, slot->bytes, sizeof(*ret));
	if (slot->before)
		memcpy(ret_before, slot->before, sizeof(*ret_before));
	return slot->bytes != NULL;
}

int base_table_add(struct base_table *table, struct base_record *record, const char *path)
{
	uint8_t *bytes, **kept;
	int error;

	record->path_size = (uint32_t)strlen(path);
	record->size = (uint32_t)whole_size(record->path_size);
	record->check = check_of(record, path);
	kept = grow_item(&table->added_blocks, &table->added_block_room, &table->added_block_count,
			 sizeof(*kept));
	bytes = kept ? calloc(1, record->size) : NULL;
	if (!bytes)
		return -ENOMEM;
	*kept = bytes;
	memcpy(bytes, record, sizeof(*record));
	memcpy(bytes + sizeof(*record), path, record->path_size);
	error = put_row(table, bytes, record);
	if (!error &&
	    !grow_bytes(&table->added, &table->added_room, &table->added_size, bytes, record->size))
		error = -ENOMEM;
	return error;
}

/* The head comes last: until it says so, there is nothing new. */
static int write_file(int file, const struct base_table *table)
{
	struct base_head head;
	int error = read_head(file, &head);

	if (!error && head.used + table->added_size > BASE_BYTES_MAX)
		error = -EFBIG;
	if (!error)
		error = files_write(file, table->added, table->added_size,
				    (off_t)(sizeof(head) + head.used));
	if (!error && fdatasync(file) != 0)
		error = -errno;
	if (error)
		return error;
	head.magic = BASE_MAGIC;
	head.record_size = sizeof(struct base_record);
	head.used += table->added_size;
	error = files_write(file, &head, sizeof(head), 0);
	return error ? error : fdatasync(file) == 0 ? 0 : -errno;
}

int base_table_write(struct base_table *table, int layer)
{
	int file, error;

	if (table->added_size == 0)
		return 0;
	file = openat(layer, BASE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0600);
	if (file < 0)
		return -errno;
	error = write_file(file, table);
	fd_close(&file);
	if (!error)
		table->added_size = 0;
	return error;
}
