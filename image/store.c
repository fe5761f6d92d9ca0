/* SPDX-License-Identifier: Apache-2.0 */
#include "image/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

#define SHORTEST_PREFIX 4

/* The path of a file in one of the directories. */
#define PATH_ROOM (sizeof(IMAGE_MANIFESTS "/") + IMAGE_NAME_MAX)

/* A search for the digests that begin with `prefix`. */
struct search {
	const char *prefix;
	uint32_t count;
	char digest[IMAGE_DIGEST_MAX];
};

ssize_t image_read_file(int store, const char *path, void *ret, size_t room)
{
	int fd FD_OWNED = openat(store, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	size_t size = 0;
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0 && size < room) {
		got = read(fd, (char *)ret + size, room - size);
		size += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? -errno : (ssize_t)size;
}

int image_read(int store, const char *digest, struct image *ret)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX + 1];
	char path[PATH_ROOM], own[IMAGE_DIGEST_MAX];
	ssize_t size;

	(void)snprintf(path, sizeof(path), IMAGE_MANIFESTS "/%.64s", digest);
	size = image_read_file(store, path, bytes, sizeof(bytes));
	if (size < 0)
		return (int)size;
	if (!image_manifest_read(bytes, (size_t)size, ret))
		return -EBADMSG;
	memcpy(ret->digest, digest, IMAGE_DIGEST_MAX);
	if (ret->digest_kind != IMAGE_DIGEST_COMMIT)
		return 0;
	image_manifest_digest(ret, own);
	return strcmp(own, digest) == 0 ? 0 : -EBADMSG;
}

void image_layer_path(const struct image_layer *layer, char ret[IMAGE_LAYER_PATH_MAX])
{
	(void)snprintf(ret, IMAGE_LAYER_PATH_MAX, IMAGE_LAYERS "/%s", layer->diff_id);
}

int image_open(int store, const char *digest)
{
	char path[PATH_ROOM];

	(void)snprintf(path, sizeof(path), IMAGE_MANIFESTS "/%.64s", digest);
	return fd_result(openat(store, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

int image_hold(int store, const char *digest)
{
	struct stat status;
	int error = 0;
	int fd = image_open(store, digest);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_SH | LOCK_NB) != 0 || fstat(fd, &status) != 0)
		error = -errno;
	else if (status.st_nlink == 0) /* removed before the lock was ours */
		error = -ENOENT;
	return fd_unless(error, fd);
}

int image_name_digest(int store, const char *name, char ret[IMAGE_DIGEST_MAX])
{
	char file[IMAGE_NAME_MAX], path[PATH_ROOM];
	ssize_t size;

	(void)snprintf(file, sizeof(file), "%s", name);
	image_name_to_file(file);
	(void)snprintf(path, sizeof(path), IMAGE_NAMES "/%s", file);
	size = image_read_file(store, path, ret, IMAGE_DIGEST_MAX);
	if (size < 0)
		return (int)size;
	if (size != IMAGE_DIGEST_MAX || ret[size - 1] != '\n')
		return -EBADMSG;
	ret[size - 1] = '\0';
	return image_digest_is_good(ret) ? 0 : -EBADMSG;
}

DIR *image_open_list(int parent, const char *path, int *ret_error)
{
	int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	*ret_error = list ? 0 : -errno;
	if (!list)
		fd_close(&fd);
	return list;
}

const struct dirent *image_next_file(DIR *list, int *ret_error)
{
	const struct dirent *file;

	errno = 0;
	do
		file = readdir(list);
	while (file && (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0));
	if (!file && errno)
		*ret_error = -errno;
	return file;
}

/* Call `take` for each file of a directory that `is_entry` makes an entry of. */
static int each_file(int store, const char *directory,
		     bool (*is_entry)(int store, const char *file, struct image_entry *ret),
		     image_take *take, void *context)
{
	const struct dirent *file;
	struct image_entry entry;
	int result;
	DIR *list = image_open_list(store, directory, &result);

	if (!list)
		return result == -ENOENT ? 0 : result;
	while (result == 0 && (file = image_next_file(list, &result))) {
		if (is_entry(store, file->d_name, &entry))
			result = take(context, &entry);
	}
	(void)closedir(list); /* it was only read */
	return result;
}

static bool is_name(int store, const char *file, struct image_entry *ret)
{
	char spelled[IMAGE_NAME_MAX];

	(void)snprintf(ret->name, sizeof(ret->name), "%s", file);
	image_name_from_file(ret->name);
	return !image_name_read(ret->name, spelled) && strcmp(spelled, ret->name) == 0 &&
	       image_name_digest(store, ret->name, ret->digest) == 0;
}

static bool is_digest(int store, const char *file, struct image_entry *ret)
{
	if (!image_digest_is_good(file))
		return false;
	memcpy(ret->digest, file, IMAGE_DIGEST_MAX);
	memcpy(ret->name, file, IMAGE_DIGEST_MAX);
	return true;
}

int image_each_name(int store, image_take *take, void *context)
{
	return each_file(store, IMAGE_NAMES, is_name, take, context);
}

int image_each_digest(int store, image_take *take, void *context)
{
	return each_file(store, IMAGE_MANIFESTS, is_digest, take, context);
}

static int match_prefix(void *context, const struct image_entry *entry)
{
	struct search *search = context;

	if (strncmp(entry->digest, search->prefix, strlen(search->prefix)) == 0) {
		search->count++;
		memcpy(search->digest, entry->digest, sizeof(search->digest));
	}
	return 0;
}

/* Find the one digest that begins so. */
static int find_prefix(int store, const char *prefix, char ret[IMAGE_DIGEST_MAX])
{
	struct search search = { .prefix = prefix };
	const int error = image_each_digest(store, match_prefix, &search);

	memcpy(ret, search.digest, IMAGE_DIGEST_MAX);
	if (error)
		return error;
	return search.count == 1 ? 0 : search.count == 0 ? -ENOENT : -ENOTUNIQ;
}

/* Find a name, also where podman has put it that builds images here. */
static int find_name(int store, const char *name, char ret[IMAGE_DIGEST_MAX])
{
	char local[IMAGE_NAME_MAX + sizeof("localhost/")];
	const int error = image_name_digest(store, name, ret);

	if (error != -ENOENT ||
	    snprintf(local, sizeof(local), "localhost/%s", name) >= IMAGE_NAME_MAX)
		return error;
	return image_name_digest(store, local, ret);
}

static bool is_prefix(const char *text)
{
	const size_t size = strlen(text);

	return size >= SHORTEST_PREFIX && size < IMAGE_DIGEST_MAX &&
	       strspn(text, "0123456789abcdef") == size;
}

/* Find the digest that is meant. -EINVAL: *ret_rule is broken. */
static int find_digest(int store, const char *wanted, char ret[IMAGE_DIGEST_MAX],
		       const char **ret_rule)
{
	const size_t mark = strlen(IMAGE_DIGEST_PREFIX);
	char name[IMAGE_NAME_MAX];
	int error;

	if (strncmp(wanted, IMAGE_DIGEST_PREFIX, mark) == 0) {
		*ret_rule = "a digest must have 4 to 64 hexadecimal digits behind sha256:";
		return is_prefix(wanted + mark) ? find_prefix(store, wanted + mark, ret) : -EINVAL;
	}
	*ret_rule = image_name_read(wanted, name);
	error = *ret_rule ? -EINVAL : find_name(store, name, ret);
	return error == -ENOENT && is_prefix(wanted) ? find_prefix(store, wanted, ret) : error;
}

static bool has_layers(int store, const struct image *image)
{
	char path[IMAGE_LAYER_PATH_MAX];
	struct stat status;

	for (uint32_t i = 0; i < image->layer_count; i++) {
		image_layer_path(&image->layers[i], path);
		if (fstatat(store, path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(status.st_mode))
			return false;
	}
	return true;
}

/* Say why an image was not found: what stands before and behind its name, and a rule or error. */
static void explain(int error, const char *wanted, const char *rule, char text[IMAGE_TEXT_MAX])
{
	const char *before = "the image ", *behind = " cannot be read: ";

	if (error == -EINVAL) {
		before = "";
		behind = " names no image: ";
	} else if (error == -ENOENT) {
		before = "there is no image ";
		behind = " here: ";
		rule = "'msp image pull' or 'msp image import' brings one, 'msp image list' shows "
		       "them";
	} else if (error == -ENOTUNIQ) {
		before = "several images begin with ";
		behind = ": ";
		rule = "give more digits";
	} else if (error == -EBADMSG) {
		behind = " is damaged: ";
		rule = "'msp image remove' removes it, import it again";
	}
	(void)snprintf(text, IMAGE_TEXT_MAX, "%s'%.255s'%s%s", before, wanted, behind,
		       rule ? rule : errno_text(-error));
}

int image_resolve(int store, const char *wanted, char ret[IMAGE_DIGEST_MAX],
		  char text[IMAGE_TEXT_MAX])
{
	const char *rule = NULL;
	const int error = find_digest(store, wanted, ret, &rule);

	if (error)
		explain(error, wanted, rule, text);
	return error;
}

int image_find(int store, const char *wanted, struct image *ret, char text[IMAGE_TEXT_MAX])
{
	char digest[IMAGE_DIGEST_MAX];
	int error = image_resolve(store, wanted, digest, text);

	if (error)
		return error;
	error = image_read(store, digest, ret);
	/* A name of an image that is not there is as damaged. */
	if (error == -ENOENT || (error == 0 && !has_layers(store, ret)))
		error = -EBADMSG;
	if (error)
		explain(error, wanted, NULL, text);
	return error;
}
