/* SPDX-License-Identifier: Apache-2.0 */
#include "image/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sha256.h"
#include "lib/heap/memory.h"

/* The path of a file in one of the directories. */
#define PATH_ROOM (sizeof(IMAGE_INCOMING_NEW "/") + IMAGE_NAME_MAX)

/* The files around new layers. */
#define NEW(name) (IMAGE_INCOMING_NEW "/" name)
#define CHECKED_MANIFEST IMAGE_INCOMING_CHECKED "/" IMAGE_INCOMING_MANIFEST

/* The layers of all images, each once. */
struct layer_list {
	struct image_layer *layers;
	size_t count, room;
	int store;
};

static int open_directory(int store, const char *path, int flags)
{
	return fd_result(openat(store, path, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int image_keep_begin(struct image_keep *keep, bool is_waiting)
{
	static const char *const directories[] = { IMAGE_LAYERS, IMAGE_MANIFESTS, IMAGE_NAMES,
						   IMAGE_INCOMING };
	int error;

	if (keep->lock < 0)
		keep->lock = openat(keep->store, IMAGE_LOCK,
				    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (keep->lock < 0)
		return -errno;
	while (flock(keep->lock, is_waiting ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
		if (errno != EINTR)
			return -errno;
	}
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		error = mkdirat(keep->store, directories[i], S_IRWXU) == 0 ? 0 : -errno;
		if (error && error != -EEXIST)
			return error;
	}
	keep->layers = open_directory(keep->store, IMAGE_LAYERS, O_PATH);
	keep->incoming = open_directory(keep->store, IMAGE_INCOMING, O_RDONLY);
	if (keep->layers < 0)
		return keep->layers;
	return keep->incoming < 0 ? keep->incoming : 0;
}

int image_make_incoming(const struct image_keep *keep, const char *path)
{
	return mkdirat(keep->store, path, S_IRWXU) == 0
		       ? open_directory(keep->store, path, O_RDONLY)
		       : -errno;
}

/* --- the layers that images have -------------------------------------------------------------- */

static const struct image_layer *find_layer(const struct layer_list *list, const char *diff_id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->layers[i].diff_id, diff_id) == 0)
			return &list->layers[i];
	}
	return NULL;
}

static int add_layers(void *context, const struct image_entry *entry)
{
	static struct image image;
	struct layer_list *list = context;
	const int error = image_read(list->store, entry->digest, &image);

	/* A damaged manifest keeps nothing: its image cannot be used. */
	for (uint32_t i = 0; !error && i < image.layer_count; i++) {
		if (find_layer(list, image.layers[i].diff_id))
			continue;
		list->layers = memory_grow_list(list->layers, &list->room, list->count + 1,
						sizeof(*list->layers));
		list->layers[list->count++] = image.layers[i];
	}
	return error == -EBADMSG || error == -ENOENT ? 0 : error;
}

static int list_layers(int store, struct layer_list *ret)
{
	*ret = (struct layer_list){ .store = store };
	return image_each_digest(store, add_layers, ret);
}

int image_used(int store, uint64_t *ret_bytes)
{
	struct layer_list list;
	const int error = list_layers(store, &list);

	*ret_bytes = 0;
	for (size_t i = 0; i < list.count; i++)
		*ret_bytes += list.layers[i].bytes;
	free(list.layers);
	return error;
}

int image_collect(const struct image_keep *keep)
{
	struct layer_list used;
	const struct dirent *entry;
	int error = list_layers(keep->store, &used);
	DIR *list = error ? NULL : image_open_list(keep->store, IMAGE_LAYERS, &error);

	while (!error && (entry = image_next_file(list, &error))) {
		if (entry->d_name[0] != '.' && !find_layer(&used, entry->d_name) &&
		    renameat(keep->layers, entry->d_name, keep->incoming, entry->d_name) != 0)
			error = -errno;
	}
	if (list)
		(void)closedir(list); /* it was only read */
	free(used.layers);
	return error;
}

/* --- a new image ------------------------------------------------------------------------------ */

/* Write the names of a directory to the disk. */
static int sync_directory(int store, const char *path)
{
	int fd FD_OWNED = open_directory(store, path, O_RDONLY);

	return fd < 0 ? fd : fsync(fd) == 0 ? 0 : -errno;
}

/* Read a manifest in `incoming`. */
static int read_new(const struct image_keep *keep, const char *path, struct image *ret)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX + 1];
	const ssize_t size = image_read_file(keep->store, path, bytes, sizeof(bytes));

	if (size < 0)
		return size == -ENOENT ? -EBADMSG : (int)size;
	return image_manifest_read(bytes, (size_t)size, ret) ? 0 : -EBADMSG;
}

/* Compute the digest of a new image from the JSON file that has it. */
static int find_digest(const struct image_keep *keep, struct image *image)
{
	static uint8_t text[IMAGE_JSON_MAX];
	const char *path = image->digest_kind == IMAGE_DIGEST_MANIFEST ? NEW(IMAGE_INCOMING_INDEXED)
								       : NEW(IMAGE_INCOMING_CONFIG);
	const ssize_t size = image_read_file(keep->store, path, text, sizeof(text));
	uint8_t hash[SHA256_BYTES];

	if (size < 0 || image->digest_kind == IMAGE_DIGEST_COMMIT)
		return size < 0 && size != -ENOENT ? (int)size : -EBADMSG;
	sha256(text, (size_t)size, hash);
	sha256_text(hash, image->digest);
	return 0;
}

static bool is_same(const struct image *one, const struct image *other)
{
	static uint8_t bytes[2][IMAGE_MANIFEST_MAX];
	const size_t size = image_manifest_write_bare(one, bytes[0]);

	return image_manifest_write_bare(other, bytes[1]) == size &&
	       memcmp(bytes[0], bytes[1], size) == 0;
}

/* Give a layer its place, or find there the one of another image, with its figures. msp-image has
 * unpacked what was not there, also if an image once had it. */
static int place_layer(const struct image_keep *keep, const struct layer_list *known,
		       struct image_layer *layer)
{
	const struct image_layer *other = find_layer(known, layer->diff_id);
	struct stat status;
	char path[PATH_ROOM];

	(void)snprintf(path, sizeof(path), IMAGE_INCOMING_NEW "/%s", layer->diff_id);
	if (fstatat(keep->store, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(status.st_mode))
		return -EBADMSG;
	if (renameat(keep->store, path, keep->layers, layer->diff_id) == 0)
		return 0;
	if (!other || (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST))
		return errno == ENOENT ? -EBADMSG : -errno;
	*layer = *other;
	return 0;
}

/* Write a small file beside its place, and rename it. One that is the same already stays, since
 * image_hold() locks it. */
static int write_file(const struct image_keep *keep, const char *directory, const char *name,
		      const void *bytes, size_t size)
{
	static const char fresh[] = IMAGE_INCOMING "/file";
	static uint8_t there[IMAGE_MANIFEST_MAX];
	char path[PATH_ROOM];
	int error, fd;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (image_read_file(keep->store, path, there, sizeof(there)) == (ssize_t)size &&
	    memcmp(there, bytes, size) == 0)
		return 0;
	fd = openat(keep->store, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	error = fd_write_all(fd, bytes, size);
	if (!error && fsync(fd) != 0)
		error = -errno;
	fd_close(&fd);
	if (!error && renameat(keep->store, fresh, keep->store, path) != 0)
		error = -errno;
	return error ? error : sync_directory(keep->store, directory);
}

/* Give layers and manifest of an image without fault their places. No manifest takes the place of
 * another one; a damaged file is none. */
static int place_image(const struct image_keep *keep, struct image *image)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX];
	static struct image there;
	struct layer_list known = { 0 };
	const int found = image_read(keep->store, image->digest, &there);
	int error = found == -ENOENT || found == -EBADMSG ? 0 : found;

	if (found == 0 && !is_same(&there, image))
		error = -EEXIST;
	if (!error)
		error = list_layers(keep->store, &known);
	/* Thousands of files at once; all of them before a name that leads to them. */
	if (!error && syncfs(keep->store) != 0)
		error = -errno;
	for (uint32_t i = 0; !error && i < image->layer_count; i++)
		error = place_layer(keep, &known, &image->layers[i]);
	free(known.layers);
	if (!error)
		error = sync_directory(keep->store, IMAGE_LAYERS);
	if (!error && found != 0)
		error = write_file(keep, IMAGE_MANIFESTS, image->digest, bytes,
				   image_manifest_write(image, bytes));
	return error;
}

int image_commit(const struct image_keep *keep, const struct image_report *report,
		 struct image *ret)
{
	static const char *const files[] = { NEW(IMAGE_INCOMING_MANIFEST),
					     NEW(IMAGE_INCOMING_CONFIG),
					     NEW(IMAGE_INCOMING_INDEXED), CHECKED_MANIFEST };
	static struct image checked;
	int error = read_new(keep, files[0], ret);

	if (!error)
		error = read_new(keep, CHECKED_MANIFEST, &checked);
	if (!error)
		error = find_digest(keep, ret);
	if (!error && (!is_same(ret, &checked) || strcmp(ret->digest, report->digest) != 0))
		error = -EBADMSG;
	if (!error)
		error = place_image(keep, ret);
	/* Leftovers go with the next cleaning. */
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(keep->store, files[i], 0);
	(void)unlinkat(keep->store, IMAGE_INCOMING_CHECKED, AT_REMOVEDIR);
	(void)unlinkat(keep->store, IMAGE_INCOMING_NEW, AT_REMOVEDIR);
	return error;
}

int image_commit_packed(const struct image_keep *keep, struct image *image)
{
	image->digest_kind = IMAGE_DIGEST_COMMIT;
	if (image_fault(image))
		return -EBADMSG;
	image_manifest_digest(image, image->digest);
	return place_image(keep, image);
}

int image_name_write(const struct image_keep *keep, const char *name, const char *digest)
{
	char file[IMAGE_NAME_MAX], line[IMAGE_DIGEST_MAX + 1];

	(void)snprintf(file, sizeof(file), "%s", name);
	image_name_to_file(file);
	(void)snprintf(line, sizeof(line), "%s\n", digest);
	return write_file(keep, IMAGE_NAMES, file, line, strlen(line));
}

/* --- images that go --------------------------------------------------------------------------- */

int image_name_remove(const struct image_keep *keep, const char *name)
{
	char file[IMAGE_NAME_MAX], path[PATH_ROOM];

	(void)snprintf(file, sizeof(file), "%s", name);
	image_name_to_file(file);
	(void)snprintf(path, sizeof(path), IMAGE_NAMES "/%s", file);
	return unlinkat(keep->store, path, 0) == 0 ? sync_directory(keep->store, IMAGE_NAMES)
						   : -errno;
}

int image_seize(const struct image_keep *keep, const char *digest)
{
	int fd = image_open(keep->store, digest);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	return fd_unless(errno == EWOULDBLOCK ? -EBUSY : -errno, fd);
}

int image_discard(const struct image_keep *keep, const char *digest)
{
	char path[PATH_ROOM];

	(void)snprintf(path, sizeof(path), IMAGE_MANIFESTS "/%s", digest);
	return unlinkat(keep->store, path, 0) == 0 ? sync_directory(keep->store, IMAGE_MANIFESTS)
						   : -errno;
}

bool image_keep_is_clean(const struct image_keep *keep)
{
	int error;
	DIR *list = image_open_list(keep->store, IMAGE_INCOMING, &error);
	uint32_t count = 0;

	while (list && image_next_file(list, &error))
		count++;
	if (list)
		(void)closedir(list); /* it was only read */
	return list && !error && count == 0;
}
