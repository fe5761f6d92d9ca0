/* SPDX-License-Identifier: Apache-2.0 */
#include "image/unpack.h"

#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "image/entry.h"
#include "image/refuse.h"
#include "image/target.h"
#include "lib/heap/memory.h"

/* Files of this size and more begin to go to the disk while the next are unpacked, so that the
 * keeper of the image, who waits for the disk, waits less: a fifth of an import, measured. Smaller
 * ones gain nothing. */
#define EARLY_BYTES ((uint64_t)64 << 10)

/* A directory whose time is set at the end, when nothing changes it any more. */
struct directory_time {
	char *path;
	struct timespec changed;
};

/* One layer, and its present entry. */
struct work {
	struct target target;
	struct archive *archive;
	struct archive_entry *entry;
	struct entry_path path;
	struct directory_time *times;
	size_t time_count, time_room;
};

static struct timespec changed_of(struct archive_entry *entry)
{
	return (struct timespec){ archive_entry_mtime(entry), archive_entry_mtime_nsec(entry) };
}

/* Keep the time of the present entry, a directory. */
static void add_time(struct work *work)
{
	const struct entry_path *path = &work->path;
	const size_t room = strlen(path->directory) + strlen(path->name) + 2;
	char *whole = memory_get(room);

	(void)snprintf(whole, room, "%s%s%s", path->directory, path->directory[0] ? "/" : "",
		       path->name);
	work->times = memory_grow_list(work->times, &work->time_room, work->time_count + 1,
				       sizeof(*work->times));
	work->times[work->time_count++] = (struct directory_time){ whole, changed_of(work->entry) };
}

static void set_times(struct work *work)
{
	for (size_t i = 0; i < work->time_count; i++) {
		target_set_time(&work->target, work->times[i].path, work->times[i].changed);
		free(work->times[i].path);
	}
	free(work->times);
}

/* Return the permissions of the present entry that are kept, with those that the user needs. */
static mode_t mode_of(const struct work *work, mode_t kept, mode_t needed)
{
	const mode_t mode = archive_entry_perm(work->entry);

	report.set_ids += (mode & (S_ISUID | S_ISGID)) != 0;
	return (mode & kept) | needed;
}

static int set_directory_mode(const struct work *work, int fd)
{
	return fchmod(fd, mode_of(work, S_ISVTX | 0777, S_IRWXU)) == 0
		       ? 0
		       : refuse_call("setting its mode", errno);
}

static int unpack_directory(struct work *work)
{
	int fd FD_OWNED = target_directory(&work->target, work->path.name, S_IRWXU);
	int result = fd < 0 ? -1 : set_directory_mode(work, fd);

	add_time(work);
	return result;
}

static int write_block(int fd, const char *bytes, size_t size, off_t at)
{
	while (size > 0) {
		const ssize_t written = pwrite(fd, bytes, size, at);

		if (written < 0)
			return refuse_call("writing it", errno);
		bytes += written;
		size -= (size_t)written;
		at += written;
	}
	return 0;
}

/* Count the blocks of a file up to `end`, beyond the *counted bytes that are counted. */
static int count_blocks(struct work *work, uint64_t end, uint64_t *counted)
{
	const uint64_t blocks = (end + ROOM_BLOCK - 1) / ROOM_BLOCK * ROOM_BLOCK;

	if (blocks <= *counted)
		return 0;
	if (room_take_bytes(work->target.room, blocks - *counted) < 0)
		return -1;
	*counted = blocks;
	return 0;
}

/* Write the content, with holes as holes, also at the end. */
static int write_content(struct work *work, int fd)
{
	const uint64_t whole = (uint64_t)archive_entry_size(work->entry);
	uint64_t counted = 0, end = 0;
	const void *bytes;
	size_t size;
	la_int64_t at;
	int result;

	while ((result = archive_read_data_block(work->archive, &bytes, &size, &at)) ==
	       ARCHIVE_OK) {
		end = (uint64_t)at + size;
		if (count_blocks(work, end, &counted) < 0 || write_block(fd, bytes, size, at) < 0)
			return -1;
	}
	if (result != ARCHIVE_EOF)
		return refuse_archive("it cannot be read", work->archive);
	if (end >= EARLY_BYTES)
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only sooner */
	if (whole <= end)
		return 0;
	if (count_blocks(work, whole, &counted) < 0)
		return -1;
	return ftruncate(fd, (off_t)whole) == 0 ? 0 : refuse_call("writing it", errno);
}

static int unpack_file(struct work *work)
{
	const struct timespec times[2] = { changed_of(work->entry), changed_of(work->entry) };
	int fd FD_OWNED = target_file(&work->target, work->path.name, mode_of(work, 0777, S_IRUSR));
	int result = fd < 0 ? -1 : write_content(work, fd);

	if (result == 0)
		(void)futimens(fd, times); /* a time is no part of what is checked */
	return result;
}

static int unpack_symlink(struct work *work)
{
	const char *text = archive_entry_symlink(work->entry);

	if (!text || text[0] == '\0')
		return refuse("it is a symbolic link to nothing");
	return target_symlink(&work->target, work->path.name, text);
}

static int unpack_hard_link(struct work *work, const char *other)
{
	struct entry_path path;
	enum entry_kind kind;
	const char *rule = entry_read(other, &path, &kind);

	if (rule || kind != ENTRY_FILE)
		return refuse("it is a hard link to '%.200s': %s", other,
			      rule ? rule : "it must lead to a file");
	return target_hard_link(&work->target, work->path.name, path.directory, path.name);
}

/* Leave a special file out. One with overlayfs' number would hide a file of lower layers that the
 * image's own tools show. */
static int leave_out(struct work *work)
{
	if (archive_entry_filetype(work->entry) == AE_IFCHR &&
	    archive_entry_rdevmajor(work->entry) == 0 && archive_entry_rdevminor(work->entry) == 0)
		return refuse("it is a device with the number 0:0, a whiteout in disguise");
	report.special_files++;
	return 0;
}

static int unpack_any(struct work *work)
{
	const char *hard = archive_entry_hardlink(work->entry);

	report.attributes += archive_entry_xattr_count(work->entry) > 0;
	if (hard)
		return unpack_hard_link(work, hard);
	switch (archive_entry_filetype(work->entry)) {
	case AE_IFREG:
		return unpack_file(work);
	case AE_IFDIR:
		return unpack_directory(work);
	case AE_IFLNK:
		return unpack_symlink(work);
	default:
		return leave_out(work);
	}
}

/* Have the directory of the present entry hide that of lower layers. */
static int hide_below(struct work *work)
{
	return work->path.directory[0] == '\0'
		       ? refuse("it hides all lower layers: make an image of this layer alone")
		       : target_hide_below(&work->target, ".");
}

static int unpack_entry(struct work *work, const char *path)
{
	enum entry_kind kind;
	const char *rule = entry_read(path, &work->path, &kind);

	if (rule)
		return refuse("%s", rule);
	if (room_take_entry(work->target.room) < 0)
		return -1;
	if (kind == ENTRY_ROOT)
		return archive_entry_filetype(work->entry) == AE_IFDIR
			       ? set_directory_mode(work, work->target.root)
			       : refuse("it is the layer's own directory, and none");
	if (kind == ENTRY_IGNORED)
		return 0;
	if (target_parent(&work->target, work->path.directory) < 0)
		return -1;
	if (kind == ENTRY_OPAQUE)
		return hide_below(work);
	return kind == ENTRY_WHITEOUT ? target_hide(&work->target, work->path.name)
				      : unpack_any(work);
}

/* A callback of libarchive. */
static la_ssize_t read_content(struct archive *archive, void *context, const void **ret)
{
	return stream_read(context, ret);
}

static int unpack_entries(struct work *work)
{
	int status, result = 0;

	while (result == 0 &&
	       (status = archive_read_next_header(work->archive, &work->entry)) != ARCHIVE_EOF) {
		const char *path =
			status < ARCHIVE_WARN ? NULL : archive_entry_pathname(work->entry);

		refuse_in_entry(path);
		if (status < ARCHIVE_WARN)
			result = refuse_archive("it cannot be read", work->archive);
		else
			result = path ? unpack_entry(work, path)
				      : refuse("an entry has no name, or one that is no UTF-8");
	}
	refuse_in_entry(NULL);
	return result;
}

int unpack_layer(struct room *room, struct stream *stream, int incoming, const char *diff_id)
{
	static struct work work;
	int result;

	work = (struct work){ .archive = archive_read_new() };
	result = target_begin(&work.target, room, incoming, diff_id);
	if (result < 0 || !work.archive ||
	    archive_read_support_format_tar(work.archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(work.archive) != ARCHIVE_OK ||
	    archive_read_open(work.archive, stream, NULL, read_content, NULL) != ARCHIVE_OK)
		result = refuse("it is no tar archive");
	else
		result = unpack_entries(&work);
	set_times(&work);
	(void)archive_read_free(work.archive); /* it was only read */
	target_end(&work.target);
	return result;
}
