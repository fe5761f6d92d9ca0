/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/protected_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/text/format.h"

int walk_identify(int fd, struct identity *ret)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	*ret = (struct identity){ .device = status.st_dev, .inode = status.st_ino };
	return 0;
}

bool walk_is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

bool walk_steps_meet(const struct walk *walk, size_t count, const struct identity *identity)
{
	for (size_t i = 0; i < count; i++) {
		if (walk_is_same(&walk->steps[i], identity))
			return true;
	}
	return false;
}

bool walk_meets(const struct walk *walk, const struct identity *identity)
{
	return walk_steps_meet(walk, walk->count, identity);
}

static int walk_note(struct walk *walk, const struct stat *status)
{
	if (walk->count == STEPS_MAX)
		return -ELOOP;
	walk->steps[walk->count++] =
		(struct identity){ .device = status->st_dev, .inode = status->st_ino };
	return 0;
}

/* Note every folder from `start` (taken) up to the root, which is its own parent. */
static int walk_up(int start, struct walk *walk)
{
	int folder FD_OWNED = start;
	struct stat last = { 0 };

	for (;;) {
		struct stat here;
		int error, parent;

		if (fstat(folder, &here) != 0)
			return -errno;
		if (here.st_dev == last.st_dev && here.st_ino == last.st_ino) /* the root's ".." */
			return 0;
		last = here;
		error = walk_note(walk, &here);
		if (error)
			return error;
		parent = kernel_openat2(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (parent < 0)
			return -errno;
		fd_replace(&folder, parent);
	}
}

/* The folder that holds `path`; for "/" that is "/". */
static int open_parent(const char *path)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');
	size_t size = slash > path ? (size_t)(slash - path) : 1;

	if (size >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, size);
	parent[size] = '\0';
	return fd_result(kernel_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC,
					RESOLVE_NO_MAGICLINKS));
}

int walk_from(int fd, const char *path, struct walk *walk)
{
	struct stat status;
	int start;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (S_ISDIR(status.st_mode) && faccessat(fd, ".", X_OK, 0) == 0)
		start = fd_result(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	else {
		start = walk_note(walk, &status);
		if (!start)
			start = open_parent(path);
	}
	return start < 0 ? start : walk_up(start, walk);
}

int walk_from_others(int fd, const char *path, const struct mounts *mounts, struct walk *walk)
{
	struct identity wanted = { 0 };
	int error = walk_identify(fd, &wanted);

	for (size_t i = 0; !error && i < mounts->count; i++) {
		char name[4096];
		struct identity found = { 0 };
		int other FD_OWNED = -1;

		if (!mounts_other_name(mounts, i, path, name, sizeof(name)))
			continue;
		other = kernel_openat2(AT_FDCWD, name, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				       RESOLVE_NO_MAGICLINKS);
		/* A path that does not open is covered by another mount, or out of our reach. */
		if (other >= 0 && walk_identify(other, &found) == 0 &&
		    walk_is_same(&found, &wanted))
			error = walk_from(other, name, walk);
	}
	return error;
}

int walk_open_nearest(const char *path, char nearest[4096], bool *ret_is_exact)
{
	format_text(nearest, 4096, "%s", path);
	*ret_is_exact = true;
	for (;;) {
		const int fd = kernel_openat2(AT_FDCWD, nearest, O_PATH | O_CLOEXEC,
					      RESOLVE_NO_MAGICLINKS);
		char *slash = strrchr(nearest, '/');

		if (fd >= 0)
			return fd;
		if ((errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP) ||
		    !slash)
			return -errno;
		if (slash == nearest && nearest[1] == '\0')
			return -ENOENT; /* not even the root */
		slash[slash == nearest ? 1 : 0] = '\0';
		*ret_is_exact = false;
	}
}

int walk_real_name(int fd, char name[4096])
{
	char link[64];
	ssize_t size;

	format_text(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, name, 4095);
	if (size < 0)
		return -errno;
	name[size] = '\0';
	return 0;
}
