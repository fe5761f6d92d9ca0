/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD_SIZE 1024U

static la_ssize_t keep_bytes(struct archive *archive, void *context, const void *bytes, size_t size)
{
	(void)archive;
	return content_append(context, bytes, size) ? (la_ssize_t)size : -1;
}

static void set_compression(struct archive *archive, enum scene_compression compression)
{
	static int (*const filters[])(struct archive *) = {
		[SCENE_PLAIN] = archive_write_add_filter_none,
		[SCENE_GZIP] = archive_write_add_filter_gzip,
		[SCENE_XZ] = archive_write_add_filter_xz,
		[SCENE_ZSTD] = archive_write_add_filter_zstd,
	};

	(void)filters[compression](archive);
	(void)archive_write_set_options(archive, "compression-level=1");
	(void)archive_write_set_bytes_in_last_block(archive, 1);
}

static void put_file(struct archive *archive, const struct scene_file *file)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, file->path);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)file->size);
	if (archive_write_header(archive, entry) >=
	    ARCHIVE_WARN) /* a name may be too long for it */
		(void)archive_write_data(archive, file->bytes, file->size);
	archive_entry_free(entry);
}

struct content scene_pack(const void *bytes, size_t size, enum scene_compression compression)
{
	const struct scene_file file = { "raw", bytes, size };
	struct archive *archive = archive_write_new();
	struct content made = { 0 };

	(void)archive_write_set_format_raw(archive);
	set_compression(archive, compression);
	(void)archive_write_open(archive, &made, NULL, keep_bytes, NULL);
	put_file(archive, &file);
	(void)archive_write_free(archive);
	return made;
}

static void put_member(struct content *package, const char *name, const void *bytes, size_t size)
{
	char head[61];

	(void)snprintf(head, sizeof(head), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0,
		       "100644", size);
	(void)content_append(package, head, 60);
	(void)content_append(package, bytes, size);
	(void)content_append(package, "\n", size % 2);
}

struct content scene_package(const struct scene_file *files, size_t count,
			     enum scene_compression compression)
{
	struct archive *archive = archive_write_new();
	struct content data = { 0 }, package = { 0 };

	(void)archive_write_set_format_ustar(archive);
	set_compression(archive, compression);
	(void)archive_write_open(archive, &data, NULL, keep_bytes, NULL);
	for (size_t i = 0; i < count; i++)
		put_file(archive, &files[i]);
	(void)archive_write_free(archive);
	(void)content_append(&package, "!<arch>\n", 8);
	put_member(&package, "debian-binary", "2.0\n", 4);
	put_member(&package, "data.tar", data.bytes, data.size);
	free(data.bytes);
	return package;
}

struct content scene_kernel(const struct content *packed)
{
	uint8_t head[HEAD_SIZE] = { 0 };
	const uint32_t size = (uint32_t)packed->size;
	struct content kernel = { 0 };

	head[0x1f1] = 1;
	memcpy(head + 0x202, "HdrS", 4);
	memcpy(head + 0x24c, &size, sizeof(size));
	(void)content_append(&kernel, head, sizeof(head));
	(void)content_append(&kernel, packed->bytes, packed->size);
	return kernel;
}

int scene_read(const struct content *package, struct parts *parts)
{
	const int fd = memfd_create("package", MFD_CLOEXEC);
	int result = -1;

	if (write(fd, package->bytes, package->size) == (ssize_t)package->size &&
	    lseek(fd, 0, SEEK_SET) == 0)
		result = package_read(fd, parts);
	(void)close(fd);
	return result;
}

void scene_clear(struct parts *parts)
{
	free(parts->kernel.bytes);
	free(parts->init.bytes);
	for (int i = 0; i < MODULE_COUNT; i++)
		free(parts->modules[i].bytes);
	*parts = (struct parts){ .kernel = { 0 } };
	report = (struct prepare_report){ .is_done = 0 };
}
