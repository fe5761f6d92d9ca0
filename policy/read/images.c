/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/images.h"

#include "common/fd.h"
#include "common/log.h"
#include "lib/heap/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKS_MAX 40U /* linux/namei.h: MAXSYMLINKS */

/* The images of a plan's profiles. */
#define ENTRIES_MAX 64U

#define OPAQUE "user.overlay.opaque"

struct images {
	char *directory;
	uint32_t count;
	struct images_entry *entries[ENTRIES_MAX];
};

struct images *images_new(const char *directory)
{
	struct images *images = memory_get_zeroed(1, sizeof(*images));

	images->directory = memory_text(directory, strlen(directory));
	return images;
}

struct images *images_free(struct images *images)
{
	if (images == NULL)
		return NULL;
	for (uint32_t i = 0; i < images->count; i++) {
		free(images->entries[i]->wanted);
		free(images->entries[i]->image);
		free(images->entries[i]);
	}
	free(images->directory);
	free(images);
	return NULL;
}

/* Write the paths of the layers. False: one is too long. */
static bool name_layers(const char *directory, struct images_entry *entry)
{
	for (uint32_t i = 0; i < entry->image->layer_count; i++) {
		const uint32_t from = entry->image->layer_count - 1 - i;
		char path[IMAGE_LAYER_PATH_MAX];
		int size;

		image_layer_path(&entry->image->layers[from], path);
		size = snprintf(entry->layers[i], PATH_MAX, "%s/%s", directory, path);
		if (size < 0 || size >= PATH_MAX)
			return false;
	}
	entry->count = entry->image->layer_count;
	return true;
}

static void put_absent(const char *wanted, char text[IMAGE_TEXT_MAX])
{
	(void)snprintf(text, IMAGE_TEXT_MAX,
		       "the image '%.255s' is not in the store; 'msp image pull' or 'msp image "
		       "import' brings it",
		       wanted);
}

static int open_images(const char *directory, const char *wanted, char text[IMAGE_TEXT_MAX])
{
	int store = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (store < 0 && errno == ENOENT)
		put_absent(wanted, text);
	else if (store < 0)
		(void)snprintf(text, IMAGE_TEXT_MAX, "%.300s: %s", directory, errno_text(errno));
	return store;
}

/* Is the word a part of the digest that it was found by? Another image could begin so one day. */
static bool is_beginning(const char *wanted, const char *digest)
{
	const size_t mark = strlen(IMAGE_DIGEST_PREFIX);

	if (strncmp(wanted, IMAGE_DIGEST_PREFIX, mark) == 0)
		return strcmp(wanted + mark, digest) != 0;
	return strncmp(wanted, digest, strlen(wanted)) == 0;
}

const struct images_entry *images_find(struct images *images, const char *wanted,
				       char text[IMAGE_TEXT_MAX])
{
	struct images_entry *entry;
	int error;
	int store;

	if (images == NULL) {
		(void)snprintf(text, IMAGE_TEXT_MAX,
			       "%.255s is not looked up here: expected --images with the directory",
			       wanted);
		return NULL;
	}
	for (uint32_t i = 0; i < images->count; i++) {
		if (strcmp(images->entries[i]->wanted, wanted) == 0)
			return images->entries[i];
	}
	if (images->count == ENTRIES_MAX)
		abort(); /* a plan has no more profiles */
	store = open_images(images->directory, wanted, text);
	if (store < 0)
		return NULL;
	entry = memory_get_zeroed(1, sizeof(*entry));
	entry->image = memory_get_zeroed(1, sizeof(*entry->image));
	entry->wanted = memory_text(wanted, strlen(wanted));
	images->entries[images->count++] = entry;
	error = image_find(store, wanted, entry->image, text);
	fd_close(&store);
	if (error == -ENOENT)
		put_absent(wanted, text);
	else if (error == 0 && is_beginning(wanted, entry->image->digest))
		(void)snprintf(text, IMAGE_TEXT_MAX,
			       "the image '%.255s' is the beginning of a digest; expected a name, "
			       "or sha256: and all 64 digits: 'msp image show' prints them",
			       wanted);
	else if (error == 0 && entry->image->layer_count == 0)
		(void)snprintf(text, IMAGE_TEXT_MAX, "%.255s has no layer; expected one with files",
			       wanted);
	else if (error == 0 && !name_layers(images->directory, entry))
		(void)snprintf(text, IMAGE_TEXT_MAX, "%.300s: the path is too long",
			       images->directory);
	else if (error == 0)
		return entry;
	images->count--;
	free(entry->wanted);
	free(entry->image);
	free(entry);
	return NULL;
}

static bool is_whiteout(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(0, 0);
}

static bool is_opaque(const char *path)
{
	char value;

	return lgetxattr(path, OPAQUE, &value, 1) == 1 && value == 'y';
}

/* A layer's answer for a path. */
enum said { SAID_NOTHING, SAID_THERE, SAID_ABSENT };

/* Ask one layer for a path without links on the way; *ret_is_last: lower layers do not count. */
static enum said ask_layer(const char *layer, const char *path, char full[PATH_MAX],
			   struct stat *status, bool *ret_is_last)
{
	for (const char *end = path; *end != '\0';) {
		int size;

		end += 1 + strcspn(end + 1, "/");
		size = snprintf(full, PATH_MAX, "%s%.*s", layer, (int)(end - path), path);
		if (size < 0 || size >= PATH_MAX)
			return SAID_ABSENT;
		if (lstat(full, status) != 0)
			return errno == ENOENT ? SAID_NOTHING : SAID_ABSENT;
		if (is_whiteout(status) || (*end != '\0' && !S_ISDIR(status->st_mode)))
			return SAID_ABSENT;
		*ret_is_last = *ret_is_last || (S_ISDIR(status->st_mode) && is_opaque(full));
	}
	return SAID_THERE;
}

/* Find a path without links on the way. 0: there is none. */
static mode_t look_once(const struct images_entry *entry, const char *path, char ret[PATH_MAX])
{
	struct stat status;
	bool is_last = false;

	for (uint32_t i = 0; i < entry->count && !is_last; i++) {
		switch (ask_layer(entry->layers[i], path, ret, &status, &is_last)) {
		case SAID_THERE:
			return status.st_mode;
		case SAID_ABSENT:
			return 0;
		default:
			break;
		}
	}
	return 0;
}

/* Put a link's text in place of the name at the end of `done`, before the rest of the path. */
static bool follow_link(const char *full, char done[PATH_MAX], const char *rest,
			char left[PATH_MAX])
{
	char text[PATH_MAX], next[PATH_MAX];
	const ssize_t size = readlink(full, text, sizeof(text) - 1);
	int length;

	if (size <= 0)
		return false;
	text[size] = '\0';
	length = snprintf(next, sizeof(next), "%s/%s", text, rest);
	if (length < 0 || (size_t)length >= sizeof(next))
		return false;
	memcpy(left, next, (size_t)length + 1);
	*(text[0] == '/' ? done : strrchr(done, '/')) = '\0';
	return true;
}

static mode_t look_at_file(const struct images_entry *entry, const char *path, bool follows_last,
			   char ret[PATH_MAX])
{
	char done[PATH_MAX] = "", left[PATH_MAX];
	mode_t mode = S_IFDIR | 0755; /* the root's */
	uint32_t links = 0;

	(void)snprintf(left, sizeof(left), "%s", path);
	(void)snprintf(ret, PATH_MAX, "%s", entry->layers[0]);
	for (;;) {
		const char *name = left + strspn(left, "/");
		const size_t length = strcspn(name, "/"), used = strlen(done);
		char rest[PATH_MAX];

		if (length == 0)
			return mode;
		(void)snprintf(rest, sizeof(rest), "%s", name + length);
		if (length == 2 && name[0] == '.' && name[1] == '.') {
			if (used > 0)
				*strrchr(done, '/') = '\0';
		} else if (length != 1 || name[0] != '.') {
			if (used + length + 2 > sizeof(done))
				return 0;
			done[used] = '/';
			memcpy(done + used + 1, name, length);
			done[used + 1 + length] = '\0';
			mode = look_once(entry, done, ret);
			if (mode == 0)
				return 0;
			if (S_ISLNK(mode) && (follows_last || rest[strspn(rest, "/")] != '\0')) {
				if (++links > LINKS_MAX || !follow_link(ret, done, rest, left))
					return 0;
				mode = S_IFDIR | 0755;
				continue;
			}
		}
		memcpy(left, rest, strlen(rest) + 1);
	}
}

mode_t images_look(const struct images_entry *entry, const char *path, char ret[PATH_MAX])
{
	return look_at_file(entry, path, true, ret);
}

mode_t images_look_itself(const struct images_entry *entry, const char *path)
{
	char found[PATH_MAX];

	return look_at_file(entry, path, false, found);
}

/* Is the name of a layer's root hidden, or was it shown, by a higher layer? */
static bool is_known_above(const struct images_entry *entry, uint32_t layer, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	for (uint32_t i = 0; i < layer; i++) {
		const int size = snprintf(path, sizeof(path), "%s/%s", entry->layers[i], name);

		if (size < 0 || size >= (int)sizeof(path) || lstat(path, &status) == 0)
			return true;
	}
	return false;
}

static int take_top(const struct images_entry *entry, uint32_t layer,
		    int (*take)(void *context, const char *name, mode_t mode), void *context)
{
	DIR *directory = opendir(entry->layers[layer]);
	const struct dirent *name;
	int result = directory != NULL ? 0 : -errno;

	while (result == 0 && (name = readdir(directory)) != NULL) {
		struct stat status;

		if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0 ||
		    fstatat(dirfd(directory), name->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    is_whiteout(&status) || is_known_above(entry, layer, name->d_name))
			continue;
		result = take(context, name->d_name, status.st_mode);
	}
	if (directory != NULL)
		(void)closedir(directory); /* it was only read */
	return result;
}

int images_each_top(const struct images_entry *entry,
		    int (*take)(void *context, const char *name, mode_t mode), void *context)
{
	int result = 0;

	for (uint32_t i = 0; i < entry->count && result == 0; i++) {
		result = take_top(entry, i, take, context);
		if (is_opaque(entry->layers[i]))
			break;
	}
	return result;
}
