/* SPDX-License-Identifier: Apache-2.0 */
#include "image/input.h"

#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "image/refuse.h"
#include "image/report.h"
#include "image/room.h"
#include "lib/heap/buffer.h"
#include "lib/heap/memory.h"

#define BLOCK_BYTES ((size_t)256 << 10)

/* Files in an archive around layers: docker save has three for each layer, a mirror of many images
 * some thousands. */
#define MEMBERS_MAX 65536U

/* Links of older archives, from a layer that is there twice to the first. */
#define LINKS_MAX 4

struct input_member {
	char *path;
	char *link; /* a path of another member, or NULL */
	int64_t at; /* of its header */
};

struct archive *input_decoder(void)
{
	struct archive *archive = archive_read_new();

	if (archive && archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
	    archive_read_support_filter_zstd(archive) == ARCHIVE_OK &&
	    archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
	    archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
	    archive_read_support_format_raw(archive) == ARCHIVE_OK)
		return archive;
	give_up("a library libarchive that reads compressed archives");
}

ssize_t input_next(struct archive *archive, const void **ret, const char *what)
{
	size_t size = 0;
	la_int64_t at;
	int result;

	do
		result = archive_read_data_block(archive, ret, &size, &at);
	while (result == ARCHIVE_OK && size == 0);
	if (result == ARCHIVE_OK)
		return (ssize_t)size;
	return result == ARCHIVE_EOF ? 0 : refuse_archive(what, archive);
}

/* --- an archive that is copied ---------------------------------------------------------------- */

/* Write the bytes behind the filters to a new file. */
static int copy_bytes(struct archive *archive, int to, uint64_t most)
{
	const void *bytes;
	uint64_t copied = 0;
	ssize_t size;
	int error;

	while ((size = input_next(archive, &bytes, "it cannot be unpacked")) > 0) {
		copied += (size_t)size;
		if (copied > most)
			return room_refuse("it takes", most);
		error = fd_write_all(to, bytes, (size_t)size);
		if (error)
			return refuse_call("copying it", error);
	}
	return (int)size;
}

static int copy_archive(struct input *input, struct archive *archive, int incoming, uint64_t most)
{
	int copy = openat(incoming, "archive", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int result = copy < 0 ? refuse_call("copying it", errno) : copy_bytes(archive, copy, most);

	if (copy >= 0)
		(void)unlinkat(incoming, "archive", 0); /* else it goes with the directory */
	fd_close(&input->fd);
	input->fd = copy;
	return result;
}

/* Copy the archive unless it is a file without compression, in which one can go back. */
static int make_plain(struct input *input, bool is_file, int incoming, uint64_t most)
{
	struct archive *archive = input_decoder();
	struct archive_entry *entry;
	int result;

	if (archive_read_open_fd(archive, input->fd, BLOCK_BYTES) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		result = refuse(INPUT_NO_IMAGE);
	else if (is_file && archive_filter_code(archive, 0) == ARCHIVE_FILTER_NONE)
		result = 0;
	else
		result = copy_archive(input, archive, incoming, most);
	(void)archive_read_free(archive); /* it was only read */
	return result;
}

/* --- the files of an archive ------------------------------------------------------------------ */

/* Return the path without "./" in front and slashes behind; the caller frees it. */
static char *copy_path(const char *path)
{
	size_t size;

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	size = strlen(path);
	while (size > 0 && path[size - 1] == '/')
		size--;
	return memory_text(path, size);
}

/* Return the path that a link leads to, or NULL. The symbolic links of docker save lead from one
 * directory of a layer to another. */
static char *follow_link(struct archive_entry *entry)
{
	const char *target = archive_entry_hardlink(entry);

	if (target)
		return copy_path(target);
	target = archive_entry_filetype(entry) == AE_IFLNK ? archive_entry_symlink(entry) : NULL;
	return target && strncmp(target, "../", 3) == 0 ? copy_path(target + 3) : NULL;
}

static struct archive *open_tar(int fd, int64_t at)
{
	struct archive *archive = archive_read_new();

	if (archive && archive_read_support_format_tar(archive) == ARCHIVE_OK &&
	    lseek(fd, at, SEEK_SET) == at &&
	    archive_read_open_fd(archive, fd, BLOCK_BYTES) == ARCHIVE_OK)
		return archive;
	(void)archive_read_free(archive); /* it was not read */
	return NULL;
}

static int add_member(struct input *input, struct archive *archive, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);

	if (!path || archive_entry_filetype(entry) == AE_IFDIR)
		return 0;
	if (input->count == MEMBERS_MAX)
		return refuse("it has more than %u files around its layers", MEMBERS_MAX);
	input->members = memory_grow_list(input->members, &input->room, input->count + 1,
					  sizeof(*input->members));
	input->members[input->count++] =
		(struct input_member){ copy_path(path), follow_link(entry),
				       archive_read_header_position(archive) };
	return 0;
}

static int list_members(struct input *input)
{
	struct archive *archive = open_tar(input->fd, 0);
	struct archive_entry *entry;
	int result = archive ? 0 : refuse(INPUT_NO_IMAGE);
	int status;

	while (result == 0 && (status = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF) {
		if (status < ARCHIVE_WARN)
			result = input->count == 0
					 ? refuse(INPUT_NO_IMAGE)
					 : refuse_archive("the archive cannot be read", archive);
		else
			result = add_member(input, archive, entry);
	}
	(void)archive_read_free(archive); /* it was only read */
	return result;
}

int input_begin(struct input *input, int fd, int incoming, uint64_t most)
{
	struct stat status;

	*input = (struct input){ .fd = fd };
	if (fstat(fd, &status) != 0)
		return refuse_call("looking at it", errno);
	if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) /* it need not end */
		return refuse("it is a device, and must be a file, a directory or a pipe");
	input->is_directory = S_ISDIR(status.st_mode);
	if (input->is_directory)
		return 0;
	return make_plain(input, S_ISREG(status.st_mode), incoming, most) == 0 ? list_members(input)
									       : -1;
}

/* --- one file --------------------------------------------------------------------------------- */

static int open_in_directory(const struct input *input, const char *path, struct input_file *ret)
{
	struct stat status;

	ret->fd = kernel_openat2(input->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				 RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (ret->fd < 0 && errno == ENOENT)
		return 0;
	if (ret->fd < 0)
		return refuse("'%.200s' cannot be opened: %s", path, errno_text(errno));
	if (fstat(ret->fd, &status) == 0 && S_ISREG(status.st_mode)) {
		ret->bytes = memory_get(BLOCK_BYTES);
		return 1;
	}
	input_close(ret);
	return refuse("'%.200s' is no regular file", path);
}

static const struct input_member *find_member(const struct input *input, const char *path)
{
	for (uint32_t links = 0; links < LINKS_MAX; links++) {
		const struct input_member *member = input->members;
		const struct input_member *const end = member + input->count;

		while (member < end && strcmp(member->path, path) != 0)
			member++;
		if (member == end)
			return NULL;
		if (!member->link)
			return member;
		path = member->link;
	}
	return NULL;
}

static int open_in_archive(const struct input *input, const char *path, struct input_file *ret)
{
	const struct input_member *member = find_member(input, path);
	struct archive_entry *entry;

	if (!member)
		return 0;
	ret->archive = open_tar(input->fd, member->at);
	if (ret->archive && archive_read_next_header(ret->archive, &entry) >= ARCHIVE_WARN)
		return 1;
	input_close(ret);
	return refuse("'%.200s' cannot be read", path);
}

int input_open(const struct input *input, const char *path, struct input_file *ret)
{
	*ret = (struct input_file){ .fd = -1 };
	return input->is_directory ? open_in_directory(input, path, ret)
				   : open_in_archive(input, path, ret);
}

ssize_t input_read(struct input_file *file, const void **ret)
{
	ssize_t got;

	if (file->archive)
		return input_next(file->archive, ret, "the archive cannot be read");
	*ret = file->bytes;
	got = read(file->fd, file->bytes, BLOCK_BYTES);
	return got < 0 ? refuse_call("reading a file of the image", errno) : got;
}

void input_close(struct input_file *file)
{
	fd_close(&file->fd);
	(void)archive_read_free(file->archive); /* it was only read */
	free(file->bytes);
	*file = (struct input_file){ .fd = -1 };
}

char *input_read_text(const struct input *input, const char *path, size_t *ret_size)
{
	struct buffer text = { 0 };
	struct input_file file;
	const void *bytes;
	ssize_t size = input_open(input, path, &file);

	if (size == 0)
		size = refuse("'%.200s' is missing in it", path);
	while (size > 0 && (size = input_read(&file, &bytes)) > 0) {
		if (text.size + (size_t)size > IMAGE_JSON_MAX)
			size = refuse("'%.200s' is longer than 4 MiB", path);
		else
			buffer_append(&text, bytes, (size_t)size);
	}
	input_close(&file);
	if (size == 0 && text.size > 0) {
		*ret_size = text.size;
		return text.bytes;
	}
	buffer_done(&text);
	(void)refuse("'%.200s' is empty", path); /* unless there is a reason */
	return NULL;
}

void input_end(struct input *input)
{
	for (size_t i = 0; i < input->count; i++) {
		free(input->members[i].path);
		free(input->members[i].link);
	}
	free(input->members);
	fd_close(&input->fd);
	*input = (struct input){ .fd = -1 };
}
