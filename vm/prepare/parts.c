/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts by their paths, in packages and directories of modules.
 */
#include "vm/prepare/prepare.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "lib/heap/grow.h"

/* Several times what there is. */
#define KERNEL_MAX ((size_t)256 << 20)
#define MODULE_MAX ((size_t)32 << 20)
#define BLOCK 65536U
#define DEPTH_MAX 12

#define BUILTIN "modules.builtin"
#define KERNEL_PREFIX "vmlinuz-"

struct prepare_report report;

#define NAME(name) name,
const char *const module_names[MODULE_COUNT] = { MODULES(NAME) };
#undef NAME

int refuse(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(report.text, sizeof(report.text), format, list);
	va_end(list);
	return -1;
}

int refuse_archive(const char *what, struct archive *archive)
{
	const char *text = archive_error_string(archive);

	return refuse("%s: %s", what, text != NULL ? text : "it is cut off or changed");
}

bool content_append(struct content *content, const void *bytes, size_t size)
{
	uint8_t *grown = grow_list(content->bytes, &content->room, content->size + size, 1);

	if (grown == NULL)
		return false;
	content->bytes = grown;
	if (size > 0)
		memcpy(content->bytes + content->size, bytes, size);
	content->size += size;
	return true;
}

static int append_bytes(struct content *content, const void *bytes, size_t size, size_t most,
			const char *name)
{
	if (size > most - content->size)
		return refuse("%s has more than %zu MiB", name, most >> 20);
	return content_append(content, bytes, size)
		       ? 0
		       : refuse("memory for %s: %s", name, errno_text(errno));
}

int content_read(int fd, size_t most, const char *name, struct content *ret)
{
	static uint8_t block[BLOCK];
	ssize_t got;

	while ((got = read(fd, block, sizeof(block))) > 0) {
		if (append_bytes(ret, block, (size_t)got, most, name) != 0)
			return -1;
	}
	return got == 0 ? 0 : refuse("%s: %s", name, errno_text(errno));
}

static int read_entry(struct archive *archive, size_t most, const char *name, struct content *ret)
{
	static uint8_t block[BLOCK];
	ssize_t got;

	while ((got = archive_read_data(archive, block, sizeof(block))) > 0) {
		if (append_bytes(ret, block, (size_t)got, most, name) != 0)
			return -1;
	}
	return got == 0 ? 0 : refuse_archive(name, archive);
}

static struct archive *new_reader(void)
{
	struct archive *archive = archive_read_new();

	if (archive == NULL || archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_xz(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_lzma(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(archive) != ARCHIVE_OK) {
		(void)refuse("libarchive cannot be used");
		return NULL;
	}
	return archive;
}

int content_unpack(const struct content *packed, size_t most, const char *name, struct content *ret)
{
	struct archive *archive = new_reader();
	struct archive_entry *entry;
	int result;

	if (archive == NULL)
		return -1;
	(void)archive_read_support_format_raw(archive);
	result = archive_read_open_memory(archive, packed->bytes, packed->size);
	if (result == ARCHIVE_OK)
		result = archive_read_next_header(archive, &entry);
	result = result == ARCHIVE_OK ? read_entry(archive, most, name, ret)
				      : refuse_archive(name, archive);
	(void)archive_read_free(archive);
	return result;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Return the index of a module's file, packed or not; -1: it is none that a machine needs. */
static int find_module(const char *path, bool *ret_is_packed)
{
	const char *name = file_of(path);

	for (int i = 0; i < MODULE_COUNT; i++) {
		const size_t length = strlen(module_names[i]);

		if (strncmp(name, module_names[i], length) != 0 ||
		    strncmp(name + length, ".ko", 3) != 0)
			continue;
		*ret_is_packed = name[length + 3] != '\0';
		return i;
	}
	return -1;
}

/* Mark the modules that are a part of the kernel: lines as "kernel/fs/9p/9p.ko". */
static void mark_builtin(struct parts *parts, struct content *list)
{
	char *state, *line;
	bool is_packed;

	if (!content_append(list, "", 1))
		return; /* the modules are missed below */
	for (line = strtok_r((char *)list->bytes, "\n", &state); line != NULL;
	     line = strtok_r(NULL, "\n", &state)) {
		const int index = find_module(line, &is_packed);

		if (index >= 0)
			parts->is_builtin[index] = true;
	}
}

static bool is_wanted(const char *path)
{
	const char *name = file_of(path);
	bool is_packed;

	return strncmp(name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0 ||
	       strcmp(name, BUILTIN) == 0 || find_module(path, &is_packed) >= 0;
}

/* Keep a module, unpacked. */
static int take_module(struct content *module, const char *name, struct content content,
		       bool is_packed)
{
	int result = 0;

	if (module->bytes != NULL) { /* the first one counts */
		free(content.bytes);
		return 0;
	}
	*module = content;
	if (is_packed) {
		*module = (struct content){ 0 };
		result = content_unpack(&content, MODULE_MAX, name, module);
		free(content.bytes);
	}
	if (result == 0 && (module->size < SELFMAG || memcmp(module->bytes, ELFMAG, SELFMAG) != 0))
		result = refuse("the module %s is no ELF file", name);
	return result;
}

static int take_kernel(struct parts *parts, const char *version, struct content content)
{
	if (strlen(version) >= sizeof(report.version)) {
		free(content.bytes);
		return refuse("the version of the kernel \"%.80s...\" has more than %zu bytes",
			      version, sizeof(report.version) - 1);
	}
	(void)snprintf(report.version, sizeof(report.version), "%s", version);
	parts->kernel = content;
	return 0;
}

int parts_take(struct parts *parts, const char *path, struct content content)
{
	const char *name = file_of(path);
	bool is_packed = false;
	const int index = find_module(path, &is_packed);

	if (index >= 0)
		return take_module(&parts->modules[index], name, content, is_packed);
	if (strncmp(name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0 && parts->kernel.bytes == NULL)
		return take_kernel(parts, name + strlen(KERNEL_PREFIX), content);
	if (strcmp(name, BUILTIN) == 0)
		mark_builtin(parts, &content);
	free(content.bytes);
	return 0;
}

int parts_check(const struct parts *parts)
{
	static const char *const needed[] = { "virtio_pci", "virtio_console", "9pnet_virtio",
					      "9p" };

	if (parts->kernel.bytes == NULL)
		return refuse("the package has no boot/" KERNEL_PREFIX
			      "...; expected that of a kernel, such as "
			      "linux-image-6.12.0-1-amd64");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		for (int m = 0; m < MODULE_COUNT; m++) {
			if (strcmp(module_names[m], needed[i]) == 0 &&
			    parts->modules[m].bytes == NULL && !parts->is_builtin[m])
				return refuse(
					"the kernel has no module %s, which a machine needs; "
					"expected one such as Debian's linux-image-amd64, not "
					"its cloud kernel",
					needed[i]);
		}
	}
	return 0;
}

/* --- a package -------------------------------------------------------------------------------- */

/* The package is an archive, and its member data.tar another one. */
struct nested {
	struct archive *outer;
	uint8_t block[BLOCK];
};

static ssize_t read_nested(struct archive *inner, void *context, const void **ret)
{
	struct nested *nested = context;

	*ret = nested->block;
	return archive_read_data(nested->outer, nested->block, sizeof(nested->block));
}

static int read_files(struct archive *inner, struct parts *parts)
{
	struct archive_entry *entry;
	int result;

	while ((result = archive_read_next_header(inner, &entry)) == ARCHIVE_OK) {
		const char *path = archive_entry_pathname(entry);
		struct content content = { 0 };

		if (path == NULL || archive_entry_filetype(entry) != AE_IFREG || !is_wanted(path))
			continue;
		if (read_entry(inner, KERNEL_MAX, path, &content) != 0) {
			free(content.bytes);
			return -1;
		}
		if (parts_take(parts, path, content) != 0)
			return -1;
	}
	return result == ARCHIVE_EOF ? 0 : refuse_archive("the package is damaged", inner);
}

static int read_member(struct archive *outer, struct parts *parts)
{
	static struct nested nested;
	struct archive *inner = new_reader();
	int result;

	if (inner == NULL)
		return -1;
	nested.outer = outer;
	(void)archive_read_support_format_tar(inner);
	result = archive_read_open(inner, &nested, NULL, read_nested, NULL);
	result = result == ARCHIVE_OK ? read_files(inner, parts)
				      : refuse_archive("the package is damaged", inner);
	(void)archive_read_free(inner);
	return result;
}

/* Is it the member of a package that has the files, compressed or not? */
static bool is_data(const char *name)
{
	static const char prefix[] = "data.tar";

	return name != NULL && strncmp(name, prefix, strlen(prefix)) == 0;
}

int package_read(int fd, struct parts *parts)
{
	struct archive *outer = archive_read_new();
	struct archive_entry *entry = NULL;
	int result;

	if (outer == NULL)
		return refuse("libarchive cannot be used");
	(void)archive_read_support_format_ar(outer);
	result = archive_read_open_fd(outer, fd, BLOCK);
	while (result == ARCHIVE_OK) {
		result = archive_read_next_header(outer, &entry);
		if (result == ARCHIVE_OK && is_data(archive_entry_pathname(entry)))
			break;
	}
	result = result == ARCHIVE_OK ? read_member(outer, parts)
				      : refuse("the file is no Debian package; expected that of a "
					       "kernel, such as "
					       "linux-image-6.12.0-1-amd64_6.12.1-1_amd64.deb");
	(void)archive_read_free(outer);
	return result;
}

/* --- a directory of modules ------------------------------------------------------------------- */

static int read_directory(int directory, uint32_t depth, struct parts *parts);

static int read_child(int directory, const struct dirent *entry, uint32_t depth,
		      struct parts *parts)
{
	const bool is_directory = entry->d_type == DT_DIR;
	struct content content = { 0 };
	int result = -1;
	int fd;

	if (entry->d_name[0] == '.' ||
	    (!is_directory && (entry->d_type != DT_REG || !is_wanted(entry->d_name))))
		return 0;
	fd = openat(directory, entry->d_name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_directory ? O_DIRECTORY : 0));
	if (fd < 0)
		return refuse("%s: %s", entry->d_name, errno_text(errno));
	if (is_directory)
		return depth < DEPTH_MAX ? read_directory(fd, depth + 1, parts) : close(fd);
	if (content_read(fd, MODULE_MAX, entry->d_name, &content) == 0)
		result = parts_take(parts, entry->d_name, content);
	else
		free(content.bytes);
	(void)close(fd);
	return result;
}

/* Read a directory, which is closed. */
static int read_directory(int directory, uint32_t depth, struct parts *parts)
{
	DIR *stream = fdopendir(directory);
	const struct dirent *entry;
	int result = 0;

	if (stream == NULL)
		return refuse("the modules cannot be listed: %s", errno_text(errno));
	while (result == 0 && (entry = readdir(stream)) != NULL)
		result = read_child(directory, entry, depth, parts);
	(void)closedir(stream);
	return result;
}

int modules_read(int directory, struct parts *parts)
{
	return read_directory(directory, 0, parts);
}
