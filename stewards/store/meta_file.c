/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a meta: how it is read, checked, written and counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sha256.h"
#include "inner.h"

/* The hash is over all before it: there may be no unset gap. */
_Static_assert(sizeof(struct store_layer) == 40 && sizeof(struct store_checkpoint) == 80 &&
		       offsetof(struct store_meta, layers) ==
			       2 * 4 + STORE_ID_BYTES + 3 * IPC_NAME_MAX + IPC_PATH_MAX + 5 * 8 +
				       8 * 4 &&
		       offsetof(struct store_meta, hash) + IPC_SCHEMA_BYTES ==
			       sizeof(struct store_meta),
	       "no padding");

void store_sum_all(struct store_meta *meta)
{
	meta->disk_bytes = 0;
	meta->disk_inodes = 0;
	for (uint32_t i = 0; i < meta->layer_count; i++) {
		meta->disk_bytes += meta->layers[i].bytes;
		meta->disk_inodes += meta->layers[i].inodes;
	}
}

bool store_id_bytes(const char *text, uint8_t ret[STORE_ID_BYTES])
{
	unsigned int bits = 0;
	int count = STORE_ID_BYTES * 8 - STORE_ID_CHARS * 5;

	if (!store_is_id(text))
		return false;
	for (; *text; text++) {
		bits = bits << 5 | (unsigned int)(strchr(STORE_ID_DIGITS, *text) - STORE_ID_DIGITS);
		count += 5;
		if (count >= 8) {
			count -= 8;
			*ret++ = (uint8_t)(bits >> count);
		}
	}
	return true;
}

uint32_t store_layer_find(const struct store_meta *meta, const uint8_t id[STORE_ID_BYTES])
{
	uint32_t layer = 0;

	while (layer < meta->layer_count && memcmp(meta->layers[layer].id, id, STORE_ID_BYTES) != 0)
		layer++;
	return layer < meta->layer_count ? layer : STORE_NO_LAYER;
}

static void hash_meta(const struct store_meta *meta, uint8_t ret[SHA256_BYTES])
{
	sha256(meta, offsetof(struct store_meta, hash), ret);
}

bool store_is_intact(const struct store_meta *meta)
{
	uint8_t found[SHA256_BYTES];

	hash_meta(meta, found);
	return memcmp(found, meta->hash, sizeof(found)) == 0 && store_is_sound(meta);
}

/* Read the count that store_count() noted last; the meta's own is from when that was written. */
static void read_count(int dir, struct store_meta *meta)
{
	uint64_t counts[2];
	int fd = openat(dir, "count", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && pread(fd, counts, sizeof(counts), 0) == sizeof(counts)) {
		meta->layers[meta->upper].bytes = counts[0];
		meta->layers[meta->upper].inodes = counts[1];
		store_sum_all(meta);
	}
	fd_close(&fd);
}

int store_read(int dir, const char *id, bool is_whole, struct store_meta *ret)
{
	struct stat status = { .st_mode = 0 };
	char text[IPC_ID_MAX];
	ssize_t got = 0;
	int fd = openat(dir, "meta", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, &status) != 0 ||
	    (S_ISREG(status.st_mode) && (got = pread(fd, ret, sizeof(*ret), 0)) < 0))
		got = -errno;
	fd_close(&fd);
	if (got < 0)
		return (int)got;
	if (status.st_size == 0 && S_ISREG(status.st_mode))
		return -ENOENT;
	if (got != sizeof(*ret) || status.st_size != got ||
	    !(is_whole ? store_is_intact(ret) : store_is_sound(ret)))
		return -EBADMSG;
	store_id_text(ret->id, text);
	if (strcmp(text, id) != 0)
		return -EBADMSG;
	read_count(dir, ret);
	return 0;
}

/* The new layers that it names before the meta itself. */
static int sync_new(int fd)
{
	return fsync(fd) == 0 && fsync(store_places.layers) == 0 ? 0 : -errno;
}

int store_write(int sandbox, struct store_meta *meta, bool is_synced)
{
	int error;
	int fd;

	meta->magic = STORE_MAGIC;
	meta->version = STORE_VERSION;
	hash_meta(meta, meta->hash);
	if (!store_is_sound(meta)) /* no reader would accept it */
		return -EINVAL;
	fd = openat(sandbox, "meta.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	error = fd_write_all(fd, meta, sizeof(*meta));
	if (!error && is_synced)
		error = sync_new(fd);
	fd_close(&fd);
	if (!error && renameat(sandbox, "meta.new", sandbox, "meta") != 0)
		error = -errno;
	if (error)
		(void)unlinkat(sandbox, "meta.new", 0); /* the next one is written over it */
	return error;
}

int store_save(int sandbox, struct store_meta *meta)
{
	const int error = store_write(sandbox, meta, true);

	if (!error)
		(void)fsync(sandbox); /* it is the new one now, whatever a lost machine shows */
	return error;
}

/* A meta with the time 0 was synced. Nothing else looks at that time, and a
 * new meta has another. */
int store_settle(int sandbox)
{
	static const struct timespec settled[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 0 } };
	int fd = openat(sandbox, "meta", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status = { 0 };
	int error = fd < 0 || fstat(fd, &status) != 0 ? -errno : 0;

	if (!error && status.st_mtim.tv_sec != 0) {
		if (sync_new(fd) != 0 || fsync(sandbox) != 0 || fsync(store_places.sandboxes) != 0)
			error = -errno;
		else
			(void)futimens(fd, settled); /* or it is synced again */
	}
	fd_close(&fd);
	return error;
}

void store_write_count(int sandbox, const struct store_meta *meta)
{
	const struct store_layer *upper = &meta->layers[meta->upper];
	const uint64_t counts[2] = { upper->bytes, upper->inodes };
	int fd = openat(sandbox, "count", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			S_IRUSR | S_IWUSR);

	if (fd >= 0)
		(void)pwrite(fd, counts, sizeof(counts), 0); /* it is counted again */
	fd_close(&fd);
}

void store_count(int sandbox, struct store_meta *meta, uint64_t bytes, uint64_t inodes)
{
	struct store_layer *upper = &meta->layers[meta->upper];
	const uint64_t before = upper->bytes;

	for (uint32_t i = upper->parent; i != STORE_NO_LAYER; i = meta->layers[i].parent) {
		const struct store_layer *below = &meta->layers[i];

		bytes -= below->bytes < bytes ? below->bytes : bytes;
		inodes -= below->inodes < inodes ? below->inodes : inodes;
	}
	upper->bytes = bytes;
	upper->inodes = inodes;
	store_sum_all(meta);
	store_write_count(sandbox, meta);
	store_survey_count(meta->id, upper->bytes - before);
}

static bool is_needed(const struct store_meta *meta, uint32_t layer)
{
	bool is_found = layer == meta->upper;

	for (uint32_t i = 0; i < meta->checkpoint_count; i++)
		is_found = is_found || meta->checkpoints[i].layer == layer;
	return is_found;
}

/* From the last one on, so that each child is judged before its parent. */
uint32_t store_prune(struct store_meta *meta)
{
	bool is_kept[LAYERS_MAX] = { false };
	const uint32_t before = meta->layer_count;
	uint32_t moved[LAYERS_MAX] = { 0 };
	uint32_t count = 0;

	for (uint32_t i = meta->layer_count; i-- > 0;) {
		is_kept[i] = is_kept[i] || is_needed(meta, i);
		if (is_kept[i] && meta->layers[i].parent != STORE_NO_LAYER)
			is_kept[meta->layers[i].parent] = true;
	}
	for (uint32_t i = 0; i < meta->layer_count; i++) {
		const uint32_t parent = meta->layers[i].parent;

		if (!is_kept[i])
			continue;
		meta->layers[count] = meta->layers[i];
		meta->layers[count].parent = parent == STORE_NO_LAYER ? parent : moved[parent];
		moved[i] = count++;
	}
	for (uint32_t i = 0; i < meta->checkpoint_count; i++) {
		if (meta->checkpoints[i].layer != STORE_NO_LAYER)
			meta->checkpoints[i].layer = moved[meta->checkpoints[i].layer];
	}
	if (meta->upper != STORE_NO_LAYER)
		meta->upper = moved[meta->upper];
	memset(meta->layers + count, 0, (LAYERS_MAX - count) * sizeof(meta->layers[0]));
	meta->layer_count = count;
	return before - count;
}
