/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of packing layers of a sandbox: whatever files they have, what comes of it is a layer
 * like that of any image, or nothing with a reason. Packed again, that layer gives itself. The
 * input's parts are the files of two layers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "image/import.h"
#include "image/pack.h"
#include "image/refuse.h"
#include "image_archive.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

#define MOST_BYTES ((uint64_t)1 << 20)
#define NAME_MAX_HERE 300U

static char *left_out[] = { (char[]){ "etc/hosts" }, NULL };
static int upper = -1, lower, there, news[2];

/* libarchive frees its buffer when an archive is closed, which a failed one is not. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libarchive.so";
}

static void put_file(int layer, const char *name, mode_t mode, const uint8_t *content, size_t size)
{
	int fd = openat(layer, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			mode | S_IRUSR);

	if (fd >= 0)
		(void)write(fd, content, size);
	fd_close(&fd);
}

static void put_attribute(int layer, const char *name, const char *attribute, const char *value)
{
	int fd = openat(layer, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		(void)fsetxattr(fd, attribute, value, strlen(value), 0);
	fd_close(&fd);
}

/* Make one thing, if it can be. */
static void put(int layer, uint8_t kind, const char *name, const char *other, size_t size)
{
	static const struct timespec times[2] = { { 1, 7 }, { 2, 9 } };
	const mode_t mode = kind & 64 ? 06755 : 0640;

	switch (kind & 7) {
	case 0:
		put_file(layer, name, mode, (const uint8_t *)other, size);
		break;
	case 1:
		(void)mkdirat(layer, name, mode | S_IRWXU);
		break;
	case 2:
		(void)symlinkat(other, layer, name);
		break;
	case 3:
		(void)mknodat(layer, name, kind & 32 ? S_IFIFO | mode : S_IFCHR, 0);
		break;
	case 4:
		(void)linkat(layer, name, layer, other, 0);
		break;
	case 5:
		put_attribute(layer, name, "user.overlay.opaque", kind & 32 ? "y" : other);
		break;
	case 6:
		put_attribute(layer, name, kind & 32 ? "user.mine" : "user.overlay.redirect",
			      other);
		break;
	default:
		(void)utimensat(layer, name, times, AT_SYMLINK_NOFOLLOW);
	}
}

static bool is_beneath(const char *name)
{
	return name[0] != '/' && !strstr(name, "..");
}

static void put_all(struct input *input)
{
	while (input->size > 0) {
		const uint8_t kind = input_byte(input);
		char words[2][NAME_MAX_HERE];
		size_t size = 0;

		for (int i = 0; i < 2; i++) {
			const uint8_t *part = input_part(input, &size);

			memcpy(words[i], part, size);
			words[i][size] = '\0';
		}
		if (is_beneath(words[0]) && ((kind & 7) != 4 || is_beneath(words[1])))
			put(kind & 16 ? lower : upper, kind, words[0], words[1], size);
	}
}

/* Pack into one of the directories for new layers. Returns whether it has one. */
static bool pack(const struct pack_source *source, int index)
{
	bool is_done;

	memset(&report, 0, sizeof(report));
	refuse_in_layer(0, 0, NULL);
	is_done = image_pack(source, news[index], there, MOST_BYTES) == 0;
	must(is_done == (report.text[0] == '\0'));
	archive_check_layers(index == 0 ? "new" : "again");
	return is_done && report.digest[0] != '\0';
}

static void pack_again(void)
{
	struct pack_source source = { .count = 1, .left_out = left_out + 1 };
	char digest[2][IMAGE_DIGEST_MAX];

	/* The first time takes away what no layer keeps, such as set-ID bits; later ones nothing.
	 */
	for (int i = 0; i < 2; i++) {
		source.layers[0] = openat(news[i], report.digest,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		must(source.layers[0] >= 0 && pack(&source, 1 - i));
		memcpy(digest[i], report.digest, IMAGE_DIGEST_MAX);
		fd_close(&source.layers[0]);
		must(image_remove(news[i]) == 0);
	}
	must(strcmp(digest[0], digest[1]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct pack_source source = { .count = 2, .left_out = left_out };
	int before;

	if (upper < 0) {
		upper = archive_directory("upper");
		lower = archive_directory("lower");
		there = archive_directory("there");
		news[0] = archive_directory("new");
		news[1] = archive_directory("again");
	}
	before = property_free_fd();
	put_all(&input);
	source.layers[0] = upper;
	source.layers[1] = lower;
	if (pack(&source, 0))
		pack_again();
	must(image_remove(news[0]) == 0 && image_remove(news[1]) == 0);
	must(image_remove(upper) == 0 && image_remove(lower) == 0);
	must(property_free_fd() == before);
	return 0;
}
