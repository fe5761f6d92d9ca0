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
#include "layers/remove.h"

void target_end(struct target *target)
{
	fd_close(&target->parent);
	fd_close(&target->root);
}

/* Open beneath the layer, over no link that leads out of it. */
static int open_beneath(int root, const char *path, uint64_t flags)
{
	const int fd = kernel_openat2(root, path[0] ? path : ".", flags | O_CLOEXEC,
				      RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);

	return fd < 0 ? -errno : fd;
}

static int refuse_way(int error)
{
	if (error == -EXDEV)
		return refuse("it leads out of the layer through a symbolic link");
	if (error == -ENOTDIR)
		return refuse("a file is on its way that is no directory");
	return refuse_call("opening its directory", error);
}

/* Make the directories of a path that are missing. */
static int make_missing(int root, const char *path)
{
	char part[PATH_MAX] = "";
	int parent = open_beneath(root, "", O_PATH | O_DIRECTORY);
	int error = parent < 0 ? parent : 0;

	for (size_t size = 0; !error && path[size];) {
		const char *name = path + size;

		size += strcspn(name, "/");
		memcpy(part, path, size);
		part[size] = '\0';
		if (mkdirat(parent, part + (name - path), TARGET_MODE) != 0 && errno != EEXIST)
			error = -errno;
		fd_close(&parent);
		if (!error)
			parent = open_beneath(root, part, O_PATH | O_DIRECTORY);
		if (!error && parent < 0)
			error = parent;
		size += path[size] == '/';
	}
	return error ? error : parent;
}

int target_parent(struct target *target, const char *directory)
{
	int fd;

	if (target->parent >= 0 && strcmp(directory, target->parent_path) == 0)
		return target->parent;
	fd_close(&target->parent);
	fd = open_beneath(target->root, directory, O_PATH | O_DIRECTORY);
	if (fd == -ENOENT)
		fd = make_missing(target->root, directory);
	if (fd < 0)
		return refuse_way(fd);
	target->parent = fd;
	memcpy(target->parent_path, directory, strlen(directory) + 1);
	return fd;
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

static int mark_opaque(int directory)
{
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

int target_hide_below(int parent, const char *name)
{
	int fd = open_directory(parent, name);
	const int result = fd < 0 ? -1 : mark_opaque(fd);

	fd_close(&fd);
	return result;
}

int target_directory(int parent, const char *name, mode_t mode)
{
	struct stat status;
	int hidden = 0;
	int fd;

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
	if (fd >= 0 && hidden && mark_opaque(fd) < 0)
		fd_close(&fd);
	return fd;
}

int target_file(int parent, const char *name, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags, mode);

	if (fd < 0 && errno == EEXIST) {
		if (clear_name(parent, name) < 0)
			return -1;
		fd = openat(parent, name, flags, mode);
	}
	return fd < 0 ? refuse_call("making it", errno) : fd;
}

int target_symlink(int parent, const char *name, const char *text)
{
	int status = symlinkat(text, parent, name);

	if (status != 0 && errno == EEXIST) {
		if (clear_name(parent, name) < 0)
			return -1;
		status = symlinkat(text, parent, name);
	}
	return status == 0 ? 0 : refuse_call("making the link", errno);
}

int target_hard_link(struct target *target, int parent, const char *name, const char *directory,
		     const char *other)
{
	struct stat from, to;
	int far = open_beneath(target->root, directory, O_PATH | O_DIRECTORY);
	int result;

	if (far == -ENOENT || (far >= 0 && fstatat(far, other, &from, AT_SYMLINK_NOFOLLOW) != 0))
		result = refuse("it is a hard link to a file that is not in the layer before it");
	else if (far < 0)
		result = refuse_way(far);
	else if (!S_ISREG(from.st_mode) && !S_ISLNK(from.st_mode))
		result = refuse("it is a hard link to something that is no file");
	else if (fstatat(parent, name, &to, AT_SYMLINK_NOFOLLOW) == 0 && from.st_dev == to.st_dev &&
		 from.st_ino == to.st_ino)
		result = 0;
	else if (clear_name(parent, name) < 0)
		result = -1;
	else
		result = linkat(far, other, parent, name, 0) == 0
				 ? 0
				 : refuse_call("making the hard link", errno);
	fd_close(&far);
	return result;
}

int target_hide(int parent, const char *name)
{
	struct stat status;

	/* A device with the number 0 needs no capability. */
	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return mknodat(parent, name, S_IFCHR, 0) == 0 ? 0 : refuse_call("hiding it", errno);
	/* Another kind hides a lower one as it is. */
	return S_ISDIR(status.st_mode) ? target_hide_below(parent, name) : 0;
}

void target_set_time(const struct target *target, const char *path, struct timespec changed)
{
	const struct timespec times[2] = { changed, changed };
	int fd = open_beneath(target->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd >= 0)
		(void)futimens(fd, times); /* a time is no part of what is checked */
	fd_close(&fd);
}
