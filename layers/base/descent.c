/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/descent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "lib/heap/grow.h"

static int *open_slot(struct descent *descent, size_t level)
{
	return &descent->open[level % descent->keep];
}

int descent_here(const struct descent *descent)
{
	return descent->open[(descent->depth - 1) % descent->keep];
}

/* Make `directory` the deepest level; it is taken over. */
static int push_level(struct descent *descent, int directory, ino_t inode, mode_t mode)
{
	int *slot = open_slot(descent, descent->depth);
	struct descent_level *levels =
		grow_list(descent->levels, &descent->room, descent->depth + 1, sizeof(*levels));

	if (!levels)
		return -ENOMEM;
	descent->levels = levels;
	descent->levels[descent->depth++] = (struct descent_level){ inode, mode };
	fd_close(slot);
	*slot = directory;
	return 0;
}

int descent_begin(struct descent *descent, int root, size_t keep)
{
	struct stat status = { .st_ino = 0 };
	int directory;
	int error;

	*descent = (struct descent){ .keep = keep };
	for (size_t i = 0; i < DESCENT_OPEN_MAX; i++)
		descent->open[i] = -1;
	directory = beneath_directory(root, "");
	if (directory < 0)
		return directory;
	error = fstat(directory, &status) == 0 ? 0 : -errno;
	descent->device = status.st_dev;
	if (!error)
		error = push_level(descent, directory, status.st_ino, 0);
	if (error)
		fd_close(&directory);
	return error;
}

/* Set the permissions of what an O_PATH descriptor names. */
static int set_mode(int directory, mode_t mode)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	return fchmodat(AT_FDCWD, path, mode & 07777, 0) == 0 ? 0 : -errno;
}

/* Open a directory that its owner shut against itself. *ret_mode: its permissions before. */
static int open_shut(int parent, const char *name, mode_t *ret_mode)
{
	struct stat status = { .st_mode = 0 }, now = { .st_ino = 0 };
	int path = beneath_path(parent, name);
	int directory = -1;
	int error = path < 0 ? path : fstat(path, &status) == 0 ? 0 : -errno;

	if (!error && !S_ISDIR(status.st_mode))
		error = -ESTALE;
	if (!error && (status.st_mode & S_IRWXU) == S_IRWXU)
		error = -EACCES; /* the cause is another */
	if (!error)
		error = set_mode(path, status.st_mode | S_IRWXU);
	if (!error) {
		directory = beneath_directory(parent, name);
		error = directory < 0 ? directory : fstat(directory, &now) == 0 ? 0 : -errno;
		if (!error && now.st_ino != status.st_ino)
			error = -ESTALE;
		if (error)
			(void)set_mode(path, status.st_mode); /* it has just worked */
	}
	fd_close(&path);
	if (error)
		fd_close(&directory);
	*ret_mode = status.st_mode;
	return error ? error : directory;
}

int descent_enter(struct descent *descent, const char *name, bool force)
{
	const int here = descent_here(descent);
	int directory = beneath_directory(here, name);
	struct stat status = { .st_mode = 0 };
	mode_t mode = 0;
	int error;

	if (descent->depth == DESCENT_LEVELS_MAX) {
		fd_close(&directory);
		return -EFBIG;
	}
	/* Its names may be readable, and what is behind them not. */
	if (force && (directory == -EACCES || (directory >= 0 && fstat(directory, &status) == 0 &&
					       !(status.st_mode & S_IXUSR)))) {
		fd_close(&directory);
		directory = open_shut(here, name, &mode);
	}
	if (directory < 0)
		return directory;
	error = fstat(directory, &status) == 0 ? 0 : -errno;
	if (!error)
		error = push_level(descent, directory, status.st_ino, mode);
	if (error && mode)
		(void)fchmod(directory, mode & 07777); /* it was ours to change */
	if (error)
		fd_close(&directory);
	return error;
}

/* Open the level above the deepest, unless it still is. */
static int open_above(struct descent *descent)
{
	const size_t above = descent->depth - 2;
	const bool is_kept = descent->keep > 1 && *open_slot(descent, above) >= 0;
	struct stat status;
	int directory;

	if (is_kept)
		return *open_slot(descent, above);
	directory = openat(descent_here(descent), "..",
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return errno == EACCES || errno == ENOENT ? -ESTALE : -errno;
	if (fstat(directory, &status) == 0 && status.st_dev == descent->device &&
	    status.st_ino == descent->levels[above].inode)
		return directory;
	fd_close(&directory);
	return -ESTALE;
}

/* Set the mode again, unless it was changed meanwhile. */
static void shut_again(int directory, mode_t mode)
{
	struct stat status;

	if (mode && fstat(directory, &status) == 0 && status.st_mode == (mode | S_IRWXU))
		(void)fchmod(directory, mode & 07777); /* opening it has worked */
}

int descent_leave(struct descent *descent)
{
	int *slot = open_slot(descent, descent->depth - 1);
	const int above = descent->depth > 1 ? open_above(descent) : -1;

	if (descent->depth > 1 && above < 0)
		return above;
	shut_again(*slot, descent->levels[descent->depth - 1].mode);
	fd_close(slot);
	descent->depth--;
	if (descent->depth > 0)
		*open_slot(descent, descent->depth - 1) = above;
	return 0;
}

void descent_end(struct descent *descent)
{
	while (descent->depth > 0 && descent_leave(descent) == 0)
		;
	fd_close_all(descent->open, DESCENT_OPEN_MAX);
	free(descent->levels);
	descent->levels = NULL;
}
