/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/journal.h"
#include "layers/base/gitpath.h"
#include "lib/heap/grow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x6a70736dU /* "mspj" */
#define VERSION 1U

/* As on disk: a head, records with a path behind each, SHA-256 of all that. */
struct head {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;
	uint32_t count;
	uint8_t token[JOURNAL_TOKEN_BYTES];
};

struct record {
	struct journal_side from, to;
	uint32_t path_size;
	uint32_t is_merged;
};

_Static_assert(sizeof(struct journal_side) == 32 + SHA256_BYTES, "no padding");
_Static_assert(sizeof(struct record) == 2 * sizeof(struct journal_side) + 8, "no padding");

int journal_check_path(const char *path)
{
	const char *part = path;

	if (strlen(path) >= IPC_PATH_MAX)
		return -EINVAL;
	for (;;) {
		const size_t length = strcspn(part, "/");

		if (length == 0 || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return -EINVAL;
		if (!part[length])
			return 0;
		part += length + 1;
	}
}

struct journal_entry *journal_add(struct journal *journal, const char *path)
{
	return grow_text(&journal->entries, &journal->room, &journal->count,
			 sizeof(*journal->entries), path);
}

bool journal_has(const struct journal *journal, const char *path)
{
	bool has = false;

	for (size_t i = journal->count; i-- > 0 && !has;)
		has = strcmp(journal->entries[i].path, path) == 0;
	return has;
}

static int order_of(const struct journal_entry *entry)
{
	if (S_ISDIR(entry->from.mode) && S_ISDIR(entry->to.mode))
		return 0;
	return entry->to.mode == 0 ? 1 : gitpath_is_last(entry->path) ? 3 : 2;
}

/* The bytes of a directory's path are the beginning of those of what is in it. */
static int compare_entries(const void *a, const void *b)
{
	const struct journal_entry *one = a;
	const struct journal_entry *other = b;
	const int order = order_of(one);

	if (order != order_of(other))
		return order - order_of(other);
	return order == 1 ? strcmp(other->path, one->path) : strcmp(one->path, other->path);
}

void journal_sort(struct journal *journal)
{
	if (journal->count > 1)
		qsort(journal->entries, journal->count, sizeof(*journal->entries), compare_entries);
}

void journal_free(struct journal *journal)
{
	list_free(journal->entries, journal->count, sizeof(*journal->entries));
	journal->entries = NULL;
	journal->count = journal->room = 0;
}

static bool is_side(const struct journal_side *side)
{
	static const struct journal_side nothing;
	const uint32_t type = side->mode & (uint32_t)S_IFMT;

	if (side->mode == 0)
		return memcmp(side, &nothing, sizeof(nothing)) == 0;
	if ((side->mode & ~((uint32_t)S_IFMT | 0777U)) != 0 || side->mtime_ns > 999999999)
		return false;
	return type == S_IFREG || type == S_IFDIR || type == S_IFLNK || type == S_IFIFO ||
	       type == S_IFSOCK;
}

static int parse_entry(const uint8_t *bytes, size_t size, size_t *at, struct journal *journal)
{
	char path[IPC_PATH_MAX];
	struct record record;
	struct journal_entry *entry;

	if (size - *at < sizeof(record))
		return -EBADMSG;
	memcpy(&record, bytes + *at, sizeof(record));
	*at += sizeof(record);
	if (record.path_size >= sizeof(path) || record.path_size > size - *at ||
	    record.is_merged > 1 || !is_side(&record.from) || !is_side(&record.to))
		return -EBADMSG;
	memcpy(path, bytes + *at, record.path_size);
	path[record.path_size] = '\0';
	*at += record.path_size;
	if (strlen(path) != record.path_size || journal_check_path(path) != 0)
		return -EBADMSG;
	entry = journal_add(journal, path);
	if (!entry)
		return -ENOMEM;
	entry->from = record.from;
	entry->to = record.to;
	entry->is_merged = record.is_merged;
	/* The way back goes through them in this order; another one would leave things behind. */
	if (journal->count > 1 && compare_entries(entry - 1, entry) >= 0)
		return -EBADMSG;
	return 0;
}

int journal_parse(const uint8_t *bytes, size_t size, struct journal *ret)
{
	struct journal journal = { 0 };
	uint8_t hash[SHA256_BYTES];
	struct head head;
	size_t at = sizeof(head);
	int error = 0;

	if (size < sizeof(head) + sizeof(hash) || size > JOURNAL_BYTES_MAX)
		return -EBADMSG;
	size -= sizeof(hash);
	sha256(bytes, size, hash);
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(hash, bytes + size, sizeof(hash)) != 0 || head.magic != MAGIC ||
	    head.version != VERSION || head.kind == 0 || head.kind >= JOURNAL_KIND_COUNT ||
	    head.count > JOURNAL_ENTRIES_MAX)
		return -EBADMSG;
	journal.kind = head.kind;
	memcpy(journal.token, head.token, sizeof(journal.token));
	for (uint32_t i = 0; i < head.count && error == 0; i++)
		error = parse_entry(bytes, size, &at, &journal);
	if (error == 0 && at != size)
		error = -EBADMSG;
	if (error) {
		journal_free(&journal);
		return error;
	}
	*ret = journal;
	return 0;
}

int journal_format(const struct journal *journal, uint8_t **ret, size_t *ret_size)
{
	struct head head = { MAGIC, VERSION, journal->kind, (uint32_t)journal->count, { 0 } };
	size_t size = sizeof(head) + SHA256_BYTES;
	uint8_t *bytes, *end;

	for (size_t i = 0; i < journal->count; i++)
		size += sizeof(struct record) + strlen(journal->entries[i].path);
	if (size > JOURNAL_BYTES_MAX || journal->count > JOURNAL_ENTRIES_MAX)
		return -EFBIG;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	memcpy(head.token, journal->token, sizeof(head.token));
	end = mempcpy(bytes, &head, sizeof(head));
	for (size_t i = 0; i < journal->count; i++) {
		const struct journal_entry *entry = &journal->entries[i];
		const struct record record = { entry->from, entry->to,
					       (uint32_t)strlen(entry->path), entry->is_merged };

		end = mempcpy(end, &record, sizeof(record));
		end = mempcpy(end, entry->path, record.path_size);
	}
	sha256(bytes, (size_t)(end - bytes), end);
	*ret = bytes;
	*ret_size = size;
	return 0;
}
