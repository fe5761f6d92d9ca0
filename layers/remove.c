/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory is emptied by moving the directories in it up to the top, where they are found again:
 * nothing recurses, no path grows, and two descriptors do.
 */
#include "remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "files.h"
#include "job.h"

/* Passes over a directory from which something goes away all the time. */
#define PASSES_MAX 1000000U

/* What is done with a directory found in another. */
typedef int (*directory_action)(int top, int directory, const char *name);

static int open_directory(int directory, const char *name, DIR **ret)
{
	int fd = files_open(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd < 0)
		return fd;
	*ret = fdopendir(fd);
	if (*ret)
		return 0;
	fd_close(&fd);
	return -ENOMEM;
}

static bool is_directory(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode);
}

/* One look at all names: files go, directories get `action`. 1: there was something. */
static int pass(int top, DIR *stream, directory_action action)
{
	const int fd = dirfd(stream);
	const struct dirent *entry;
	int result = 0;

	rewinddir(stream);
	while (errno = 0, (entry = readdir(stream))) {
		int error = 0;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		result = 1;
		if (unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		error = -errno;
		if (is_directory(fd, entry->d_name))
			error = action(top, fd, entry->d_name);
		if (error && error != -ENOENT)
			return error;
	}
	return errno ? -errno : result;
}

static int passes(int top, DIR *stream, directory_action action)
{
	for (uint32_t i = 0; i < PASSES_MAX; i++) {
		const int result = pass(top, stream, action);

		if (result <= 0)
			return result;
	}
	return -EBUSY;
}

static int lift(int top, int directory, const char *name)
{
	static uint64_t number;
	char fresh[32];
	int error;

	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	error = files_chmod(directory, name, 0700); /* it is moved only by who may write to it */
	if (error)
		return error;
	do {
		(void)snprintf(fresh, sizeof(fresh), "msp-%llu", (unsigned long long)number++);
		error = files_rename(directory, name, top, fresh, RENAME_NOREPLACE);
	} while (error == -EEXIST);
	return error;
}

static int take_apart(int top, int directory, const char *name)
{
	DIR *stream = NULL;
	int error;

	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	error = files_chmod(directory, name, 0700);
	if (error == 0)
		error = open_directory(directory, name, &stream);
	if (error)
		return error;
	error = passes(top, stream, lift);
	(void)closedir(stream); /* it was only read */
	if (error == 0 && unlinkat(directory, name, AT_REMOVEDIR) != 0)
		error = -errno;
	return error;
}

int remove_contents(int directory)
{
	DIR *stream = NULL;
	int error = open_directory(directory, ".", &stream);

	if (error)
		return error;
	error = passes(dirfd(stream), stream, take_apart);
	(void)closedir(stream); /* it was only read */
	return error;
}

int remove_tree(int parent, const char *name)
{
	int error;
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	error = -errno;
	if (!is_directory(parent, name))
		return error;
	error = files_chmod(parent, name, 0700);
	fd = error ? error : files_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	error = remove_contents(fd);
	fd_close(&fd);
	if (error == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0)
		error = -errno;
	return error;
}

int job_remove(struct job *job)
{
	const int error = remove_contents(job->directories.target);

	job->done.error = (uint32_t)-error;
	job->done.step = error ? CHANGES_STEP_WRITE : CHANGES_STEP_NONE;
	return error;
}
