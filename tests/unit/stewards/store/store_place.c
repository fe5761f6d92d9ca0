/* SPDX-License-Identifier: Apache-2.0 */
#include "store_place.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "stewards/store/inner.h"

#define FILES "0123456789"

char place_path[] = "/tmp/msp-test-XXXXXX";

void place_make(void)
{
	int fd;

	cr_assert(mkdtemp(place_path));
	fd = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(store_open(fd), 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	(void)status;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void place_remove(void)
{
	cr_assert_eq(nftw(place_path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int place_create(const char *name, struct store_meta *meta)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd;

	memset(meta, 0, sizeof(*meta));
	(void)snprintf(meta->name, sizeof(meta->name), "%s", name);
	(void)snprintf(meta->profile, sizeof(meta->profile), "default");
	meta->ttl_s = 3600;
	fd = store_create(meta, &census);
	cr_assert_geq(fd, 0, "%s", strerror(-fd));
	return fd;
}

int place_take(const char *name, struct store_meta *meta)
{
	char id[IPC_ID_MAX];
	int fd;

	cr_assert(store_find("", name, id), "%s", name);
	fd = store_take(id, meta);
	cr_assert_geq(fd, 0, "%s: %s", name, strerror(-fd));
	return fd;
}

int place_destroy(const struct store_meta *meta)
{
	char id[IPC_ID_MAX];

	store_id_text(meta->id, id);
	return store_destroy(id);
}

static void make_file(int place, const char *file)
{
	int fd = openat(place, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	fd_close(&fd);
}

/* As an init does it. */
int place_open(const struct store_meta *meta, uint32_t layer, const char *name, bool is_made)
{
	int directory = store_layer(meta, layer);
	int place;

	if (is_made)
		(void)mkdirat(directory, name, 0755); /* it may be there */
	place = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd_close(&directory);
	return place;
}

void place_write(const struct store_meta *meta, const char *file)
{
	int place = place_open(meta, meta->upper, PLACE, true);

	cr_assert_geq(place, 0);
	make_file(place, file);
	fd_close(&place);
}

bool place_shows(const struct store_meta *meta, uint32_t layer, const char *file)
{
	bool is_there = false;

	for (; layer != STORE_NO_LAYER && !is_there; layer = meta->layers[layer].parent) {
		int place = place_open(meta, layer, PLACE, false);

		is_there = place >= 0 && faccessat(place, file, F_OK, 0) == 0;
		fd_close(&place);
	}
	return is_there;
}

static int count_one(void *context, const char *name)
{
	int *count = context;

	(*count)++;
	return 0;
}

int place_count(const char *directory)
{
	int count = 0;

	cr_assert_eq(store_each_name(store_places.state, directory, count_one, &count), 0);
	return count;
}

bool place_has(const char *directory, const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s/%s", place_path, directory, name);
	return access(path, F_OK) == 0;
}

void place_merge(const struct store_meta *meta, const struct store_merge *merge, int target)
{
	const uint32_t top = store_layer_find(meta, merge->ids[0]);
	int place;

	cr_assert_eq(mkdirat(target, PLACE, 0755), 0);
	place = openat(target, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(place, 0);
	for (const char *file = FILES; *file; file++) {
		const char name[2] = { *file, '\0' };

		if (place_shows(meta, top, name))
			make_file(place, name);
	}
	fd_close(&place);
}

struct sight {
	char name[IPC_NAME_MAX];
	char text[256];
};

struct sights {
	struct sight all[16];
	size_t count;
};

static int see(void *context, const char id[IPC_ID_MAX])
{
	static struct store_meta meta;
	struct sights *sights = context;
	struct sight *sight = &sights->all[sights->count];
	int fd = store_take(id, &meta);
	int used;

	if (fd == -ENOENT) /* it is being made */
		return 0;
	cr_assert_geq(fd, 0, "%s: %s", id, strerror(-fd));
	cr_assert_lt(++sights->count, 16);
	memcpy(sight->name, meta.name, sizeof(sight->name));
	used = snprintf(sight->text, sizeof(sight->text), "%.20s has %u: ", meta.name,
			meta.checkpoint_count);
	for (const char *file = FILES; *file; file++) {
		const char name[2] = { *file, '\0' };

		if (place_shows(&meta, meta.upper, name))
			sight->text[used++] = *file;
	}
	for (uint32_t i = 0; i < meta.checkpoint_count; i++) {
		sight->text[used++] = ' ';
		for (const char *file = FILES; *file; file++) {
			const char name[2] = { *file, '\0' };

			if (place_shows(&meta, meta.checkpoints[i].layer, name))
				sight->text[used++] = *file;
		}
	}
	sight->text[used++] = '\n';
	sight->text[used] = '\0';
	fd_close(&fd);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sight *)a)->name, ((const struct sight *)b)->name);
}

void place_view(char ret[VIEW_MAX])
{
	struct sights sights = { .count = 0 };
	size_t used = 0;

	cr_assert_eq(store_each(see, &sights), 0);
	qsort(sights.all, sights.count, sizeof(sights.all[0]), by_name);
	ret[0] = '\0';
	for (size_t i = 0; i < sights.count; i++)
		used += (size_t)snprintf(ret + used, VIEW_MAX - used, "%s", sights.all[i].text);
}

void place_age(const char *path, int seconds)
{
	struct timespec times[2];
	char whole[256];

	cr_assert_eq(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	(void)snprintf(whole, sizeof(whole), "%s/%s", place_path, path);
	cr_assert_eq(utimensat(AT_FDCWD, whole, times, 0), 0, "%s", whole);
}

static int age_one(void *context, const char id[IPC_ID_MAX])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "sandboxes/%s", id);
	place_age(path, 120);
	return 0;
}

void place_sweep(void)
{
	cr_assert_eq(store_each(age_one, NULL), 0);
	cr_assert_eq(store_sweep(NULL, NULL), 0, "nobody's time is over");
	cr_assert_eq(store_lock(), 0);
	cr_assert_eq(store_collect(), 0);
	store_unlock();
}

struct search {
	uint8_t id[STORE_ID_BYTES];
	bool is_named;
};

static int search_one(void *context, const char id[IPC_ID_MAX])
{
	static struct store_meta meta;
	struct search *search = context;
	uint64_t used_s;
	bool is_taken;

	if (store_look(id, &meta, &used_s, &is_taken) == 0)
		search->is_named =
			search->is_named || store_layer_find(&meta, search->id) != STORE_NO_LAYER;
	return 0;
}

static int count_unnamed(void *context, const char *name)
{
	struct search search = { .is_named = false };
	int *count = context;

	cr_assert(store_id_bytes(name, search.id));
	cr_assert_eq(store_each(search_one, &search), 0);
	*count += !search.is_named;
	return 0;
}

int place_count_unnamed(void)
{
	int count = 0;

	cr_assert_eq(store_each_name(store_places.state, "layers", count_unnamed, &count), 0);
	return count;
}
