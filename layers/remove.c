/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory is emptied by moving the directories in it up to the top, where they are found again:
 * nothing recurses, no path grows, and two descriptors do.
 */
#include "remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "common/fd.h"
#include "common/ipc_changes.h"
#include "files.h"
#include "job.h"

/* An action on a directory that was found in another. */
typedef int (*directory_action)(int top, int directory, const char *name);

static bool is_directory(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode);
}

/* One look at all names: files go, directories get `action`. 1: something was gained, even if not
 * all went; else 0 when there was nothing, or the first error. */
static int pass_once(int top, int directory, directory_action action)
{
	struct beneath_names names = { 0 };
	bool is_better = false;
	int error =
		lseek(directory, 0, SEEK_SET) == 0 ? beneath_names_add(&names, directory) : -errno;

	if (error == 0)
		error = beneath_names_sort(&names);
	/* There is no list if not all could be read. */
	for (size_t i = 0; names.names && i < names.count; i++) {
		int wrong = unlinkat(directory, names.names[i], 0) == 0 ? 0 : -errno;

		if (wrong && is_directory(directory, names.names[i]))
			wrong = action(top, directory, names.names[i]);
		is_better |= wrong == 0;
		if (error == 0 && wrong != -ENOENT)
			error = wrong;
	}
	beneath_names_free(&names);
	return is_better ? 1 : error;
}

/* Until there is nothing, or nothing goes any more: directories come up from below all the time. */
static int pass_again(int top, int directory, directory_action action)
{
	int result;

	do
		result = pass_once(top, directory, action);
	while (result > 0);
	return result;
}

static int lift_up(int top, int directory, const char *name)
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
	int error;
	int fd;

	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	error = files_chmod(directory, name, 0700);
	fd = error ? error : beneath_directory(directory, name);
	if (fd < 0)
		return fd;
	error = pass_again(top, fd, lift_up);
	fd_close(&fd);
	if (error == 0 && unlinkat(directory, name, AT_REMOVEDIR) != 0)
		error = -errno;
	return error;
}

int remove_contents(int directory)
{
	int fd = beneath_directory(directory, "");
	int error;

	if (fd < 0)
		return fd;
	error = pass_again(fd, fd, take_apart);
	fd_close(&fd);
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
