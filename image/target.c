/* SPDX-License-Identifier: Apache-2.0 */
#include "image/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "image/refuse.h"
#include "layers/base/remove.h"

/* The text of a shorter link lies in its inode: EXT4_N_BLOCKS * 4, and xfs has more room. */
#define INLINE_BYTES 60U

void target_end(struct target *target)
{
	fd_close(&target->parent);
	fd_close(&target->root);
}

/* Open beneath the layer, over no link that leads out of it. */
static int open_beneath(int root, const char *path, uint64_t flags, uint64_t more)
{
	return fd_result(
		kernel_openat2(root, path[0] ? path : ".", flags | O_DIRECTORY | O_CLOEXEC,
			       RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV | more));
}

static int refuse_way(int error)
{
	if (error == -EXDEV)
		return refuse("it leads out of the layer through a symbolic link");
	if (error == -ENOTDIR)
		return refuse("a file is on its way that is no directory");
	return refuse_call("opening its directory", error);
}

/* Make the directories of a path that are missing, which are entries as well. A descriptor, -errno,
 * or -1 with the reason kept. */
static int make_missing(const struct target *target, const char *path)
{
	char part[PATH_MAX] = "";
	int parent = open_beneath(target->root, "", O_PATH, 0);
	bool is_made = false; /* and so nothing is in it */

	for (size_t size = 0; parent >= 0 && path[size];) {
		char *name = part + size;
		int next;

		size += strcspn(path + size, "/");
		memcpy(part, path, size);
		part[size] = '\0';
		next = is_made ? -ENOENT : open_beneath(target->root, part, O_PATH, 0);
		is_made = next == -ENOENT;
		if (is_made) {
			next = room_take_entry(target->room);
			if (next == 0)
				next = room_take_name(target->room, name, ROOM_BLOCK);
			if (next == 0)
				next = mkdirat(parent, name, TARGET_MODE) != 0 ? -errno : 0;
			if (next == 0)
				next = open_beneath(parent, name, O_PATH, RESOLVE_NO_SYMLINKS);
		}
		fd_close(&parent);
		parent = next;
		size += path[size] == '/';
	}
	return parent;
}

/* Refuse a directory that lies too deep. Links are on the way to it, so its path does not tell. */
static int check_depth(const struct target *target)
{
	struct stat root, status;
	int above FD_OWNED = kernel_openat2(target->parent, ".", O_PATH | O_CLOEXEC, 0);
	uint32_t depth = 0;

	(void)fstat(target->root, &root);
	while (above >= 0 && depth <= TARGET_DEPTH_MAX && fstat(above, &status) == 0 &&
	       status.st_ino != root.st_ino) {
		const int next = kernel_openat2(above, "..", O_PATH | O_CLOEXEC, 0);

		fd_close(&above);
		above = next;
		depth++;
	}
	return depth > TARGET_DEPTH_MAX
		       ? refuse("it lies more than %d directories deep", TARGET_DEPTH_MAX)
		       : 0;
}

int target_parent(struct target *target, const char *directory)
{
	bool has_links;

	if (target->parent >= 0 && strcmp(directory, target->parent_path) == 0)
		return 0;
	fd_close(&target->parent);
	target->parent = open_beneath(target->root, directory, O_PATH, RESOLVE_NO_SYMLINKS);
	has_links = target->parent == -ELOOP;
	if (has_links)
		target->parent = open_beneath(target->root, directory, O_PATH, 0);
	if (target->parent == -ENOENT)
		target->parent = make_missing(target, directory);
	if (target->parent < 0)
		return refuse_way(target->parent);
	memcpy(target->parent_path, directory, strlen(directory) + 1);
	return has_links ? check_depth(target) : 0;
}

/* Make room for a new entry. 0; 1: there was a whiteout; or -1. */
static int clear_name(int parent, const char *name)
{
	struct stat status;
	int error;

	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : refuse_call("looking for it", errno);
	error = remove_tree(parent, name);
	if (error)
		return refuse_call("replacing it", error);
	return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

/* The attribute may take a block of its own. */
static int mark_opaque(const struct target *target, int directory)
{
	if (room_take_bytes(target->room, ROOM_BLOCK) < 0)
		return -1;
	if (fsetxattr(directory, TARGET_OPAQUE_NAME, TARGET_OPAQUE_VALUE,
		      strlen(TARGET_OPAQUE_VALUE), 0) == 0)
		return 0;
	return errno == EOPNOTSUPP
		       ? refuse("the file system of the images keeps no extended attributes of "
				"users: set MSP_STATE_DIR to a directory on ext4, xfs, btrfs or "
				"tmpfs")
		       : refuse_call("marking it as opaque", errno);
}

static int open_directory(int parent, const char *name)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? refuse_call("opening it", errno) : fd;
}

int target_begin(struct target *target, struct room *room, int incoming, const char *diff_id)
{
	*target = (struct target){ .room = room, .root = -1, .parent = -1 };
	if (room_take_name(room, diff_id, ROOM_BLOCK) < 0)
		return -1;
	if (mkdirat(incoming, diff_id, TARGET_MODE) != 0)
		return refuse_call("making its directory", errno);
	target->root = open_directory(incoming, diff_id);
	return target->root < 0 ? -1 : 0;
}

int target_hide_below(struct target *target, const char *name)
{
	int fd FD_OWNED = open_directory(target->parent, name);

	return fd < 0 ? -1 : mark_opaque(target, fd);
}

int target_directory(struct target *target, const char *name, mode_t mode)
{
	const int parent = target->parent;
	struct stat status;
	int hidden = 0;
	int fd;

	if (room_take_name(target->room, name, ROOM_BLOCK) < 0)
		return -1;
	if (mkdirat(parent, name, mode) != 0) {
		if (errno != EEXIST || fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			return refuse_call("making it", errno);
		hidden = S_ISDIR(status.st_mode) ? 0 : clear_name(parent, name);
		if (hidden < 0)
			return -1;
		if (!S_ISDIR(status.st_mode) && mkdirat(parent, name, mode) != 0)
			return refuse_call("making it", errno);
	}
	fd = open_directory(parent, name);
	if (fd >= 0 && hidden && mark_opaque(target, fd) < 0)
		fd_close(&fd);
	return fd;
}

int target_file(struct target *target, const char *name, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if (room_take_name(target->room, name, 0) < 0)
		return -1;
	fd = openat(target->parent, name, flags, mode);
	if (fd < 0 && errno == EEXIST) {
		if (clear_name(target->parent, name) < 0)
			return -1;
		fd = openat(target->parent, name, flags, mode);
	}
	return fd < 0 ? refuse_call("making it", errno) : fd;
}

int target_symlink(struct target *target, const char *name, const char *text)
{
	int status;

	if (room_take_name(target->room, name, strlen(text) < INLINE_BYTES ? 0 : ROOM_BLOCK) < 0)
		return -1;
	status = symlinkat(text, target->parent, name);
	if (status != 0 && errno == EEXIST) {
		if (clear_name(target->parent, name) < 0)
			return -1;
		status = symlinkat(text, target->parent, name);
	}
	return status == 0 ? 0 : refuse_call("making the link", errno);
}

int target_hard_link(struct target *target, const char *name, const char *directory,
		     const char *other)
{
	const int parent = target->parent;
	struct stat from, to;
	int far FD_OWNED = open_beneath(target->root, directory, O_PATH, 0);

	if (far == -ENOENT || (far >= 0 && fstatat(far, other, &from, AT_SYMLINK_NOFOLLOW) != 0))
		return refuse("it is a hard link to a file that is not in the layer before it");
	if (far < 0)
		return refuse_way(far);
	if (!S_ISREG(from.st_mode) && !S_ISLNK(from.st_mode))
		return refuse("it is a hard link to something that is no file");
	if (fstatat(parent, name, &to, AT_SYMLINK_NOFOLLOW) == 0 && from.st_dev == to.st_dev &&
	    from.st_ino == to.st_ino)
		return 0;
	if (room_take_name(target->room, name, 0) < 0 || clear_name(parent, name) < 0)
		return -1;
	return linkat(far, other, parent, name, 0) == 0
		       ? 0
		       : refuse_call("making the hard link", errno);
}

int target_hide(struct target *target, const char *name)
{
	struct stat status;

	/* Another kind hides a lower one as it is. */
	if (fstatat(target->parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISDIR(status.st_mode) ? target_hide_below(target, name) : 0;
	if (room_take_name(target->room, name, 0) < 0)
		return -1;
	/* A device with the number 0 needs no capability. */
	return mknodat(target->parent, name, S_IFCHR, 0) == 0 ? 0 : refuse_call("hiding it", errno);
}

void target_set_time(const struct target *target, const char *path, struct timespec changed)
{
	const struct timespec times[2] = { changed, changed };
	int fd FD_OWNED = open_beneath(target->root, path, O_RDONLY | O_NOFOLLOW, 0);

	if (fd >= 0)
		(void)futimens(fd, times); /* a time is no part of what is checked */
}
