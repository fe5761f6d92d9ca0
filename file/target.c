/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "common/fd.h"
#include "lib/heap/grow.h"

/* Flags of linux/fs.h, since Linux 3.15. */
#define NOREPLACE 1U
#define EXCHANGE 2U

/* The mode of a file that did not exist, before the umask. */
#define NEW_MODE 0666

/* Directories that were made, for an undo. */
static struct {
	char **list;
	size_t count, room;
	int error; /* why one could not be made; 0: all could */
} made;

void target_answer_missing(const char *path)
{
	if (errno != ENOENT)
		answer_problem(FILE_ERROR);
	answer_missing(path, made.error ? made.error : ENOENT);
}

/* Beyond the disk limit a sandbox's files can only be removed, and none be written. */
static bool is_at_disk_limit(void)
{
	struct rlimit most;

	return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_max == 0;
}

static void note_directory(const char *path)
{
	if (!grow_text(&made.list, &made.room, &made.count, sizeof(char *), path))
		answer_error(ENOMEM);
}

void target_remove_directories(void)
{
	while (made.count > 0)
		(void)rmdir(made.list[--made.count]); /* others may have put files there */
}

void target_make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) == 0)
			note_directory(path);
		else if (errno == EROFS || errno == EACCES) /* told if the path is missing */
			made.error = is_at_disk_limit() ? ENOSPC : errno;
		else if (errno != EEXIST)
			target_answer_missing(path);
		*slash = '/';
	}
}

/* Make the path absolute, without links in its folder; unchanged if the folder does not exist. */
static void resolve_folder(struct target *target)
{
	char folder[PATH_MAX];
	char name[PATH_MAX];
	char *slash = strrchr(target->path, '/');

	(void)snprintf(name, sizeof(name), "%s", slash ? slash + 1 : target->path);
	if (slash)
		slash[slash == target->path] = '\0';
	if (!realpath(slash ? target->path : ".", folder)) {
		if (slash)
			*slash = '/';
	} else if (snprintf(target->path, sizeof(target->path), "%s/%s",
			    strcmp(folder, "/") == 0 ? "" : folder,
			    name) >= (int)sizeof(target->path))
		answer_error(ENAMETOOLONG);
}

void target_find(struct target *target, const char *path)
{
	target->file = -1;
	if (strlen(path) >= sizeof(target->path))
		answer_error(ENAMETOOLONG);
	if (realpath(path, target->path)) {
		if (stat(target->path, &target->old) != 0)
			answer_problem(FILE_ERROR);
		target->was_there = target->has_mode = true;
		if (!S_ISREG(target->old.st_mode))
			answer_irregular(target->old.st_mode);
		return;
	}
	if (errno == ENOENT && path[0] && path[strlen(path) - 1] == '/')
		errno = EISDIR;
	if (errno != ENOENT)
		answer_problem(FILE_ERROR);
	(void)snprintf(target->path, sizeof(target->path), "%s", path);
	if (lstat(path, &target->old) == 0)
		(void)answer_open(path, &target->old); /* a dangling link: answers so and exits */
	target_make_parents(target->path);
	resolve_folder(target);
}

/* Open an unnamed file in the first `folder` bytes of the path. Some file systems cannot. */
static int open_unnamed(const struct target *target, int folder)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.*s", folder > 0 ? folder : 1,
		       folder > 0 ? target->path : ".");
	return open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, NEW_MODE);
}

/* Name the temporary file. */
static void set_beside(struct target *target, int folder)
{
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		answer_problem(FILE_ERROR);
	if (snprintf(target->beside, sizeof(target->beside), "%.*s.msp-%016llx", folder,
		     target->path, number) >= (int)sizeof(target->beside)) {
		target->beside[0] = '\0';
		answer_error(ENAMETOOLONG);
	}
}

static int folder_size(const struct target *target)
{
	const char *slash = strrchr(target->path, '/');

	return slash ? (int)(slash - target->path) + 1 : 0;
}

void target_open(struct target *target)
{
	const int folder = folder_size(target);

	set_beside(target, folder);
	target->file = open_unnamed(target, folder);
	target->is_named = target->file < 0;
	if (target->file < 0)
		target->file = open(target->beside,
				    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, NEW_MODE);
	if (target->file < 0) {
		target->is_named = false;
		errno = errno == EACCES && is_at_disk_limit() ? ENOSPC : errno;
		target_answer_missing(target->path);
	}
}

void target_write(struct target *target, const char *bytes, size_t size)
{
	errno = -fd_write_all(target->file, bytes, size);
	if (errno != 0)
		answer_problem(FILE_ERROR);
}

void target_set_mode(struct target *target)
{
	if (target->has_mode && fchmod(target->file, target->old.st_mode & 0777) != 0)
		answer_problem(FILE_ERROR);
}

/* Give an unnamed file a name that does not exist. */
static bool link_to(const struct target *target, const char *name)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", target->file);
	return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool rename_with(const char *from, const char *to, unsigned int flags)
{
	return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags) == 0;
}

bool target_name(struct target *target)
{
	if (!target->is_named && !link_to(target, target->beside))
		return false;
	target->is_named = true;
	return true;
}

bool target_create(struct target *target)
{
	if (!target->is_named)
		return link_to(target, target->path);
	if (!rename_with(target->beside, target->path, NOREPLACE))
		return false;
	target->is_named = false;
	return true;
}

bool target_replace(struct target *target)
{
	if (!target_name(target) || !rename_with(target->beside, target->path, 0))
		return false;
	target->is_named = false;
	return true;
}

bool target_exchange(struct target *target)
{
	return rename_with(target->beside, target->path, EXCHANGE);
}

void target_find_link(struct target *target, const char *path)
{
	*target = (struct target){ .file = -1 };
	if (strlen(path) >= sizeof(target->path))
		answer_error(ENAMETOOLONG);
	memcpy(target->path, path, strlen(path) + 1);
	if (lstat(path, &target->old) != 0)
		answer_problem(FILE_ERROR);
	target->was_there = true;
	if (!S_ISREG(target->old.st_mode) && !S_ISLNK(target->old.st_mode))
		answer_irregular(target->old.st_mode);
	resolve_folder(target);
	set_beside(target, folder_size(target));
}

bool target_put_aside(struct target *target)
{
	target->is_named = rename_with(target->path, target->beside, NOREPLACE);
	return target->is_named;
}

bool target_put_back(struct target *target)
{
	target->is_named = !rename_with(target->beside, target->path, NOREPLACE);
	return !target->is_named;
}

void target_drop(struct target *target)
{
	if (target->is_named)
		(void)unlink(target->beside); /* the name is random, so the file is ours */
	target->is_named = false;
}

char *target_read_all(int from, size_t *ret_size)
{
	size_t size = 0;
	char *bytes = malloc(FILE_EDIT_MAX + 2);

	if (!bytes)
		answer_problem(FILE_ERROR);
	while (size <= FILE_EDIT_MAX) {
		const size_t room = FILE_EDIT_MAX + 1 - size;
		const long got = from < 0 ? answer_input(bytes + size, room)
					  : (long)read(from, bytes + size, room);

		if (got < 0 && from >= 0 && errno == EINTR)
			continue;
		if (got < 0)
			answer_problem(from < 0 ? FILE_CUT_OFF : FILE_ERROR);
		if (got == 0)
			break;
		size += (size_t)got;
	}
	if (size > FILE_EDIT_MAX)
		answer_end((struct file_head){ .problem = FILE_TOO_LARGE, .size = size }, "");
	*ret_size = size;
	return bytes;
}
