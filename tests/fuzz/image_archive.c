/* SPDX-License-Identifier: Apache-2.0 */
#include "image_archive.h"

#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/ahead.h"
#include "image/import.h"
#include "image/refuse.h"
#include "image/store.h"
#include "property.h"

#define BLOCK 512U

/* Two files of 1 MiB, so that the limit is near. */
#define MOST_BYTES ((uint64_t)1 << 20)

static char folder[] = "/tmp/msp-fuzz-image-XXXXXX";
static int beside = -1, incoming = -1, layers = -1, checked = -1;

void archive_add(struct buffer *archive, const struct archive_member *member, const void *content,
		 size_t size)
{
	static const char zeros[BLOCK];
	char header[BLOCK] = { 0 };
	unsigned int sum = 0;

	memcpy(header, member->name, member->name_size < 100 ? member->name_size : 100);
	(void)snprintf(header + 100, 8, "%07o", member->mode & 07777777U);
	(void)snprintf(header + 124, 12, "%011zo", size);
	(void)snprintf(header + 136, 12, "%011o", 0777777777U); /* a time of 1974 */
	memset(header + 148, ' ', 8);
	header[156] = member->type;
	if (member->link)
		memcpy(header + 157, member->link,
		       member->link_size < 100 ? member->link_size : 100);
	memcpy(header + 257, "ustar\00000", 8);
	(void)snprintf(header + 329, 8, "%07o", member->device >> 8);
	(void)snprintf(header + 337, 8, "%07o", member->device & 255U);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
	buffer_append(archive, header, BLOCK);
	buffer_append(archive, content, size);
	buffer_append(archive, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

void archive_add_file(struct buffer *archive, const char *name, const void *content, size_t size)
{
	const struct archive_member member = {
		.name = name, .name_size = strlen(name), .type = '0', .mode = 0644
	};

	archive_add(archive, &member, content, size);
}

void archive_end(struct buffer *archive)
{
	static const char zeros[2 * BLOCK];

	buffer_append(archive, zeros, sizeof(zeros));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	return remove(path);
}

static void remove_folder(void)
{
	(void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void not_confined(void)
{
}

static void make_folder(void)
{
	must(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	ahead_start(not_confined);
	must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
	(void)umask(0);
}

int archive_directory(const char *name)
{
	static bool is_made;
	char path[128];
	int fd;

	if (!is_made)
		make_folder();
	is_made = true;
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	must(mkdir(path, 0755) == 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static int check_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	char names[256], value[8];
	const ssize_t size = llistxattr(path, names, sizeof(names));

	must(S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) || S_ISLNK(status->st_mode) ||
	     (S_ISCHR(status->st_mode) && status->st_rdev == 0));
	must((status->st_mode & (S_ISUID | S_ISGID)) == 0 && status->st_uid == geteuid());
	must(!S_ISDIR(status->st_mode) || (status->st_mode & 0700) == 0700);
	must(!S_ISREG(status->st_mode) || (status->st_mode & 0400) != 0);
	if (size > 0) { /* overlayfs' mark alone, on directories */
		must(S_ISDIR(status->st_mode) && strcmp(names, "user.overlay.opaque") == 0);
		must((size_t)size == strlen(names) + 1);
		must(lgetxattr(path, names, value, sizeof(value)) == 1 && value[0] == 'y');
	}
	return 0;
}

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	must(at->level == 0 && S_ISDIR(status->st_mode) && (status->st_mode & 07777) == 0755);
	return 0;
}

/* Look at the content of a directory of the target. */
static void check_directory(const char *name,
			    int (*check)(const char *, const struct stat *, int, struct FTW *))
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	must(nftw(path, check, 16, FTW_PHYS) == 0);
}

void archive_check_layers(const char *name)
{
	check_directory(name, check_one);
}

static size_t read_manifest(int directory, uint8_t ret[IMAGE_MANIFEST_MAX])
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX + 1];
	static struct image image;
	const ssize_t size =
		image_read_file(directory, IMAGE_INCOMING_MANIFEST, bytes, sizeof(bytes));

	must(size > 0 && image_manifest_read(bytes, (size_t)size, &image));
	return image_manifest_write_bare(&image, ret);
}

/* The manifest that is made again of the JSON files alone is the same. */
static void check_again(void)
{
	static uint8_t made[IMAGE_MANIFEST_MAX], again[IMAGE_MANIFEST_MAX];
	size_t size;

	refuse_in_layer(0, 0, NULL);
	must(image_check(incoming, checked) == 0);
	size = read_manifest(incoming, made);
	must(read_manifest(checked, again) == size && memcmp(made, again, size) == 0);
	must(unlinkat(checked, IMAGE_INCOMING_MANIFEST, 0) == 0);
}

bool archive_import(const struct buffer *archive)
{
	int input = memfd_create("archive", MFD_CLOEXEC);
	bool is_taken;

	if (beside < 0) {
		beside = archive_directory("beside");
		incoming = archive_directory("incoming");
		layers = archive_directory("layers");
		checked = archive_directory("checked");
	}
	must(write(input, archive->bytes, archive->size) == (ssize_t)archive->size);
	memset(&report, 0, sizeof(report));
	refuse_in_layer(0, 0, NULL);
	is_taken = image_import(input, incoming, layers, MOST_BYTES) == 0;
	must(is_taken == (report.text[0] == '\0'));
	if (is_taken)
		check_again();
	check_directory("incoming", check_one);
	check_directory("checked", count_one);
	check_directory("beside", count_one);
	check_directory("layers", count_one);
	memset(&report, 0, sizeof(report));
	must(image_remove(incoming) == 0);
	check_directory("incoming", count_one);
	return is_taken;
}
