/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/items.h"
#include "lib/heap/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/gitpath.h"

/* How many of the same size and content are looked at for one of the same name. */
#define CANDIDATES_MAX 256

struct item *items_add(struct items *items, const char *path)
{
	const size_t size = strlen(path) + 1;
	struct item *item = calloc(1, sizeof(*item) + size);
	struct item **place =
		item ? grow_item(&items->all, &items->room, &items->count, sizeof(struct item *))
		     : NULL;

	if (!place) {
		free(item);
		return NULL;
	}
	memcpy(item->path, path, size);
	item->layer = item->old_layer = -1;
	*place = item;
	return item;
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp((*(struct item *const *)left)->path, (*(struct item *const *)right)->path);
}

void items_sort(struct items *items)
{
	if (items->count > 0)
		qsort(items->all, items->count, sizeof(struct item *), compare_paths);
}

void items_free(struct items *items)
{
	list_free(items->all, items->count, sizeof(struct item *));
	memset(items, 0, sizeof(*items));
}

void items_show(const struct item *item, struct difference *ret)
{
	ret->kind = item->kind;
	ret->flags = item->flags;
	ret->layer = item->layer;
	ret->old_layer = item->from ? item->from->old_layer : item->old_layer;
	ret->base = item->base;
	ret->unmerged = item->unmerged;
	ret->now = item->now;
	ret->old = item->from ? item->from->old : item->old;
	(void)snprintf(ret->path, sizeof(ret->path), "%s", item->path);
	(void)snprintf(ret->old_path, sizeof(ret->old_path), "%s",
		       item->from ? item->from->path : "");
}

/* A file of a repository and one outside are never one file: neither is the other's to apply. */
static bool may_move(const struct item *item, uint32_t kind, const struct stat *side)
{
	return item->kind == kind && S_ISREG(side->st_mode) &&
	       !(item->flags & CHANGE_IS_UNREADABLE) && gitpath_repository(item->path) == 0;
}

static int compare_sizes(const void *left, const void *right)
{
	const struct item *a = *(struct item *const *)left, *b = *(struct item *const *)right;

	if (a->old.st_size != b->old.st_size)
		return a->old.st_size < b->old.st_size ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* A file that cannot be read has no hash, and so is like no other. */
static bool hash_item(struct item *item, const struct job_directories *directories)
{
	struct difference difference;
	int file;

	if (item->is_hashing_tried)
		return item->is_hashed;
	item->is_hashing_tried = true;
	items_show(item, &difference);
	file = tree_open(directories, &difference, item->kind == CHANGE_DELETED);
	item->is_hashed = file >= 0 && beneath_hash(file, item->hash) == 0;
	fd_close(&file);
	return item->is_hashed;
}

static bool is_same_name(const char *left, const char *right)
{
	const char *a = strrchr(left, '/'), *b = strrchr(right, '/');

	return strcmp(a ? a + 1 : left, b ? b + 1 : right) == 0;
}

/* The first of those with the size of `item`. */
static size_t find_size(struct item *const *gone, size_t count, off_t size)
{
	size_t low = 0;

	for (size_t high = count; low < high;) {
		const size_t middle = low + (high - low) / 2;

		if (gone[middle]->old.st_size < size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The one that became `item`: the same content, if possible the same name. */
static struct item *find_origin(struct item *item, struct item *const *gone, size_t count,
				const struct job_directories *directories)
{
	struct item *best = NULL;
	size_t tried = 0;

	for (size_t i = find_size(gone, count, item->now.st_size);
	     i < count && gone[i]->old.st_size == item->now.st_size && tried < CANDIDATES_MAX;
	     i++) {
		struct item *candidate = gone[i];

		if (candidate->kind != CHANGE_DELETED)
			continue;
		tried++;
		if (!hash_item(item, directories) || !hash_item(candidate, directories) ||
		    memcmp(item->hash, candidate->hash, SHA256_BYTES) != 0)
			continue;
		if (is_same_name(item->path, candidate->path))
			return candidate;
		best = best ? best : candidate;
	}
	return best;
}

int items_pair(struct items *items, const struct job_directories *directories)
{
	struct item **gone = calloc(items->count + 1, sizeof(struct item *));
	size_t count = 0;

	if (!gone)
		return -ENOMEM;
	for (size_t i = 0; i < items->count; i++) {
		if (may_move(items->all[i], CHANGE_DELETED, &items->all[i]->old))
			gone[count++] = items->all[i];
	}
	qsort(gone, count, sizeof(struct item *), compare_sizes);
	for (size_t i = 0; i < items->count && count > 0; i++) {
		struct item *item = items->all[i];
		struct item *origin = may_move(item, CHANGE_ADDED, &item->now)
					      ? find_origin(item, gone, count, directories)
					      : NULL;

		if (!origin)
			continue;
		item->kind = CHANGE_RENAMED;
		item->from = origin;
		origin->kind = CHANGE_NONE;
		/* A file that moves is no new one. */
		if (item->now.st_mode ==
		    files_applied_mode(directories->umask, 0, origin->old.st_mode))
			item->now.st_mode = origin->old.st_mode;
	}
	free(gone);
	return 0;
}

int items_open(const struct job_directories *directories, const struct item *item)
{
	static struct difference difference;
	char target[IPC_PATH_MAX];
	int size;

	items_show(item, &difference);
	if (S_ISLNK(item->now.st_mode)) {
		size = tree_link(directories, &difference, false, target);
		return size < 0 ? size : files_from_bytes(target, (size_t)size);
	}
	return S_ISREG(item->now.st_mode) && !(item->flags & CHANGE_IS_MERGED)
		       ? tree_open(directories, &difference, false)
		       : -EBADMSG;
}
