/* SPDX-License-Identifier: Apache-2.0
 *
 * git's data outside of the workspace is shown at one place of the sandbox, whatever its path on
 * the host. What names it in the workspace is written anew in the upper, before the first start.
 */
#include "layers/foreign/pointer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/files.h"
#include "layers/base/tree.h"

/* As in the profiles. */
#define SHOWN_AT "/var/git"

#define GIT WORKSPACE_NAME "/.git"

/* Find the record: its state, pointer and path. */
static const char *find_record(const struct job *job)
{
	const size_t size = sizeof(GIT_DATA_MARK) - 1;

	for (size_t at = 0; at < job->named_size; at += strlen(job->named + at) + 1) {
		if (strncmp(job->named + at, GIT_DATA_MARK, size) == 0 &&
		    strchr(job->named + at + size, '\n'))
			return job->named + at + size;
	}
	return NULL;
}

static int write_file(int layer, const char *path, const char *text)
{
	const char *name;
	int parent = files_parent(layer, path, &name);
	int file = parent < 0 ? parent
			      : openat(parent, name,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	const int error = parent < 0 ? parent
			  : file < 0 ? -errno
				     : fd_write_all(file, text, strlen(text));

	fd_close(&file);
	fd_close(&parent);
	return error;
}

/* Make the directories, which may be there. */
static int make_directories(int layer, const char *const *paths, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const char *name;
		int parent = files_parent(layer, paths[i], &name);

		error = parent < 0                                            ? parent
			: mkdirat(parent, name, 0755) == 0 || errno == EEXIST ? 0
									      : -errno;
		fd_close(&parent);
	}
	return error;
}

static int write_pointer(int layer, const char *pointer, size_t size)
{
	static const char *const directories[] = { WORKSPACE_NAME, GIT, GIT "/objects",
						   GIT "/objects/info" };
	char text[GIT_DATA_POINTER_MAX + 64];
	int error;

	if (size >= GIT_DATA_POINTER_MAX)
		return -ENAMETOOLONG;
	if (size == sizeof(GIT_DATA_ALTERNATES) - 1 &&
	    strncmp(pointer, GIT_DATA_ALTERNATES, size) == 0) {
		error = make_directories(layer, directories, 4);
		return error ? error
			     : write_file(layer, GIT "/objects/info/alternates", SHOWN_AT "\n");
	}
	(void)snprintf(text, sizeof(text), "gitdir: " SHOWN_AT "%s%.*s\n", size ? "/" : "",
		       (int)size, pointer);
	error = make_directories(layer, directories, 1);
	return error ? error : write_file(layer, GIT, text);
}

/* Tell why git has not all of its data. */
static int report_data(struct job *job, char state, const char *path)
{
	static struct difference difference;

	difference.kind = CHANGE_MODE;
	difference.flags = CHANGE_IS_GITS;
	difference.flags |= state == GIT_DATA_UNNAMED ? (uint32_t)CHANGE_IS_HELD
			    : state == GIT_DATA_ABOVE ? (uint32_t)CHANGE_IS_DIRECTORY
			    : state == GIT_DATA_UNFIT ? (uint32_t)CHANGE_IS_UNREADABLE
						      : (uint32_t)CHANGE_IS_REFUSED;
	if (strlen(path) >= sizeof(difference.path))
		return 0;
	memcpy(difference.path, path, strlen(path) + 1);
	return job_tell(job, &difference, NULL, NULL, 0);
}

int pointer_write(struct job *job)
{
	const char *record = find_record(job);
	const char *path = record ? strchr(record, '\n') : NULL;
	int error = 0;

	if (!path)
		return 0;
	if (record[0] != GIT_DATA_SHOWN)
		return report_data(job, record[0], path + 1);
	error = write_pointer(job->directories.layers[0], record + 1, (size_t)(path - record - 1));
	/* It is there as a foreign file. */
	return error == -EEXIST ? report_data(job, GIT_DATA_UNFIT, path + 1) : error;
}
