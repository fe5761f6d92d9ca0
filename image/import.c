/* SPDX-License-Identifier: Apache-2.0 */
#include "image/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "image/description.h"
#include "image/pack.h"
#include "image/refuse.h"
#include "image/store.h"
#include "image/unpack.h"
#include "layers/base/remove.h"

/* The archive of a layer has a header and padding for each entry, and names. */
#define ENTRY_BYTES 4096U
#define ARCHIVE_MORE ((uint64_t)ROOM_ENTRIES_MAX * ENTRY_BYTES)

/* The archive of a layer that is made here. */
#define PACKED "archive"

static int import_layer(const struct input *input, const struct layer_source *source, int incoming,
			struct room *room)
{
	const uint64_t most = room->most_bytes + ARCHIVE_MORE - room->bytes;
	struct stream stream;
	const bool is_done = stream_begin(&stream, input, source->path, most) == 0 &&
			     unpack_layer(room, &stream, incoming, source->diff_id) == 0 &&
			     stream_check(&stream, source->digest, source->diff_id) == 0;

	stream_end(&stream);
	return is_done ? 0 : -1;
}

static bool is_there(int layers, const char *diff_id)
{
	struct stat status;

	return fstatat(layers, diff_id, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is the layer there again further up? Of two the upper one hides the same, and what the lower one
 * shows, it shows too. */
static bool is_repeated(const struct description *description, uint32_t index)
{
	for (uint32_t i = index + 1; i < description->layer_count; i++) {
		if (strcmp(description->layers[i].diff_id, description->layers[index].diff_id) == 0)
			return true;
	}
	return false;
}

/* Add a layer to the image. */
static struct image_layer *add_layer(struct description *description, uint32_t index)
{
	struct image *image = &description->image;
	struct image_layer *layer = &image->layers[image->layer_count++];

	memcpy(layer->diff_id, description->layers[index].diff_id, sizeof(layer->diff_id));
	return layer;
}

static int import_layers(const struct input *input, struct description *description, int incoming,
			 int layers, uint64_t most)
{
	struct room room = { .most_bytes = most };

	for (uint32_t i = 0; i < description->layer_count; i++) {
		const struct layer_source *source = &description->layers[i];
		const struct room before = room;
		struct image_layer *layer;

		if (is_repeated(description, i))
			continue;
		refuse_in_layer(i + 1, description->layer_count, source->diff_id);
		if (!is_there(layers, source->diff_id) &&
		    import_layer(input, source, incoming, &room) < 0)
			return -1;
		layer = add_layer(description, i);
		layer->bytes = room.bytes - before.bytes;
		layer->entries = room.entries - before.entries;
	}
	refuse_in_layer(0, 0, NULL);
	return 0;
}

static int write_file(int incoming, const char *name, const void *bytes, size_t size)
{
	int fd FD_OWNED =
		openat(incoming, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	int error = fd < 0 ? -errno : fd_write_all(fd, bytes, size);

	return error ? refuse_call("writing its description", error) : 0;
}

static int write_manifest(int incoming, const struct image *image)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX];

	return write_file(incoming, IMAGE_INCOMING_MANIFEST, bytes,
			  image_manifest_write(image, bytes));
}

/* Leave a JSON file of the image for those who check what was made of it. */
static int copy_text(const struct input *input, const char *path, int incoming, const char *name)
{
	size_t size;
	char *text = path[0] ? input_read_text(input, path, &size) : NULL;
	const int result = text ? write_file(incoming, name, text, size) : path[0] ? -1 : 0;

	free(text);
	return result;
}

int image_import(int input_fd, int incoming, int layers, uint64_t most)
{
	static struct description description;
	struct input input;
	const bool is_done =
		input_begin(&input, input_fd, incoming, most) == 0 &&
		description_read(&input, &description) == 0 &&
		import_layers(&input, &description, incoming, layers, most) == 0 &&
		copy_text(&input, description.manifest, incoming, IMAGE_INCOMING_INDEXED) == 0 &&
		copy_text(&input, description.config, incoming, IMAGE_INCOMING_CONFIG) == 0 &&
		write_manifest(incoming, &description.image) == 0;

	input_end(&input);
	memcpy(report.digest, description.image.digest, sizeof(report.digest));
	return is_done ? 0 : -1;
}

int image_check(int made, int incoming)
{
	static struct description description;
	const struct input input = { .fd = made, .is_directory = true };
	const int result = description_read_again(&input, &description);

	for (uint32_t i = 0; result == 0 && i < description.layer_count; i++) {
		if (!is_repeated(&description, i))
			(void)add_layer(&description, i);
	}
	return result == 0 ? write_manifest(incoming, &description.image) : -1;
}

/* Unpack the archive as that of any image. */
static int unpack_packed(const struct layer_source *source, int incoming, uint64_t most)
{
	const struct input input = { .fd = incoming, .is_directory = true };
	struct room room = { .most_bytes = most };
	const int result = import_layer(&input, source, incoming, &room);

	report.bytes = room.bytes;
	report.entries = room.entries;
	return result;
}

int image_pack(const struct pack_source *from, int incoming, int layers, uint64_t most)
{
	struct layer_source source = { .path = PACKED };
	uint64_t entries = 0;
	int fd = openat(incoming, PACKED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			S_IRUSR | S_IWUSR);
	int result = fd < 0 ? refuse_call("making the layer's archive", errno)
			    : pack_layers(from, fd, most, source.diff_id, &entries);

	fd_close(&fd);
	if (result == 0 && entries > 0 && !is_there(layers, source.diff_id))
		result = unpack_packed(&source, incoming, most);
	if (entries > 0)
		memcpy(report.digest, source.diff_id, sizeof(report.digest));
	(void)unlinkat(incoming, PACKED, 0); /* else it goes with the directory */
	return result;
}

int image_remove(int directory)
{
	const struct dirent *entry;
	int error;
	DIR *list = image_open_list(directory, ".", &error);

	while (!error && (entry = image_next_file(list, &error)))
		error = remove_tree(directory, entry->d_name);
	if (list)
		(void)closedir(list); /* it was only read */
	return error ? refuse_call("removing files of images", error) : 0;
}
