/* SPDX-License-Identifier: Apache-2.0
 *
 * Bases, and how much of the disk the layers take. What cannot be counted is an error: a workload
 * that can hide what it uses has no limit. Not seen are files that were deleted and are still open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "beneath.h"
#include "common/fd.h"
#include "job.h"

#define BLOCK_BYTES 512 /* of st_blocks */
#define FIRST_SLOTS 256

/* Where overlayfs prepares files, beside the place. The kernel makes directories without any
 * permissions in there, for which the workload has no name. */
#define WORK_PREFIX "work-"

struct waiting {
	struct waiting *next;
	char path[];
};

/* A directory that its owner shut against itself, opened for the time of the count. */
struct shut {
	struct shut *next;
	int directory; /* O_PATH */
	mode_t mode;
};

struct counting {
	int layer;
	struct waiting *waiting;
	uint64_t bytes, inodes;
	ino_t *seen; /* of files with several names; 0: free. A layer is on one file system. */
	size_t seen_count, seen_room;
	struct shut *shut;
	int error; /* the first */
};

static int wait_for(struct counting *counting, const char *directory, const char *name)
{
	const size_t size = strlen(directory), length = strlen(name);
	struct waiting *waiting = malloc(sizeof(*waiting) + size + length + 2);

	if (!waiting)
		return -ENOMEM;
	(void)snprintf(waiting->path, size + length + 2, "%s%s%s", directory, size > 0 ? "/" : "",
		       name);
	waiting->next = counting->waiting;
	counting->waiting = waiting;
	return 0;
}

static size_t slot_of(const ino_t *seen, size_t room, ino_t inode)
{
	size_t slot = (size_t)(inode * UINT64_C(0x9e3779b97f4a7c15)) & (room - 1);

	while (seen[slot] != 0 && seen[slot] != inode)
		slot = (slot + 1) & (room - 1);
	return slot;
}

static int grow(struct counting *counting)
{
	const size_t room = counting->seen_room ? 2 * counting->seen_room : FIRST_SLOTS;
	ino_t *seen = calloc(room, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < counting->seen_room; i++) {
		if (counting->seen[i] != 0)
			seen[slot_of(seen, room, counting->seen[i])] = counting->seen[i];
	}
	free(counting->seen);
	counting->seen = seen;
	counting->seen_room = room;
	return 0;
}

/* 1: it was counted under another name; 0: now it is; or -errno. */
static int is_seen(struct counting *counting, const struct stat *status)
{
	size_t slot;

	if (S_ISDIR(status->st_mode) || status->st_nlink < 2)
		return 0;
	if (2 * (counting->seen_count + 1) > counting->seen_room) {
		const int error = grow(counting);

		if (error)
			return error;
	}
	slot = slot_of(counting->seen, counting->seen_room, status->st_ino);
	if (counting->seen[slot] != 0)
		return 1;
	counting->seen[slot] = status->st_ino;
	counting->seen_count++;
	return 0;
}

static int count_name(struct counting *counting, int directory, const char *path, const char *name)
{
	struct stat status;
	int seen;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return errno == ENOENT ? 0 : -errno;
	seen = is_seen(counting, &status);
	if (seen != 0)
		return seen < 0 ? seen : 0;
	counting->bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
	counting->inodes++;
	return S_ISDIR(status.st_mode) ? wait_for(counting, path, name) : 0;
}

/* Permissions of what a descriptor names, which is no link and nobody can put another in its place.
 */
static int set_mode(int directory, mode_t mode)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	return fchmodat(AT_FDCWD, path, mode & 07777, 0) == 0 ? 0 : -errno;
}

/* The files are ours, and what is in them counts, whatever the workload says of them. */
static int open_shut(struct counting *counting, const char *path)
{
	struct shut *shut = calloc(1, sizeof(*shut));
	struct stat status = { .st_mode = 0 };
	int error;

	if (!shut)
		return -ENOMEM;
	shut->directory = beneath_path(counting->layer, path);
	error = shut->directory < 0 ? shut->directory : 0;
	if (!error && fstat(shut->directory, &status) != 0)
		error = -errno;
	if (!error && !S_ISDIR(status.st_mode))
		error = -ESTALE;
	if (!error && (status.st_mode & S_IRWXU) == S_IRWXU)
		error = -EACCES; /* it is something else */
	if (!error)
		error = set_mode(shut->directory, status.st_mode | S_IRWXU);
	if (error) {
		fd_close(&shut->directory);
		free(shut);
		return error;
	}
	shut->mode = status.st_mode;
	shut->next = counting->shut;
	counting->shut = shut;
	return beneath_directory(counting->layer, path);
}

/* The last one first: it may be in the one before. What was changed meanwhile stays so. */
static void shut_again(struct counting *counting)
{
	while (counting->shut) {
		struct shut *shut = counting->shut;
		struct stat status;

		counting->shut = shut->next;
		if (fstat(shut->directory, &status) == 0 &&
		    status.st_mode == (shut->mode | S_IRWXU))
			(void)set_mode(shut->directory, shut->mode); /* it has just worked */
		fd_close(&shut->directory);
		free(shut);
	}
}

static int open_counted(struct counting *counting, const char *path)
{
	int directory = beneath_directory(counting->layer, path);
	struct stat status;
	bool is_shut = directory == -EACCES;

	if (directory >= 0) /* its names may be readable, and what is behind them not */
		is_shut = fstat(directory, &status) == 0 && !(status.st_mode & S_IXUSR);
	if (!is_shut || strncmp(path, WORK_PREFIX, strlen(WORK_PREFIX)) == 0)
		return directory;
	fd_close(&directory);
	return open_shut(counting, path);
}

static int count_directory(struct counting *counting, const char *path)
{
	struct beneath_names names = { 0 };
	int directory = open_counted(counting, path);
	int error = directory < 0 ? directory : beneath_names_add(&names, directory);

	if (error == -ENOENT || error == -ESTALE)
		error = 0; /* it has just gone */
	if (error == -EACCES && strncmp(path, WORK_PREFIX, strlen(WORK_PREFIX)) == 0)
		error = 0;
	if (!error)
		error = beneath_names_sort(&names);
	for (size_t i = 0; i < names.count && !error; i++)
		error = count_name(counting, directory, path, names.names[i]);
	beneath_names_free(&names);
	fd_close(&directory);
	return error;
}

/* All of a layer, in spite of what cannot be counted. */
static int count_layer(int layer, struct job *job)
{
	struct counting counting = { .layer = layer, .inodes = 1 };

	counting.error = wait_for(&counting, "", "");
	while (counting.waiting) {
		struct waiting *waiting = counting.waiting;
		int error;

		counting.waiting = waiting->next;
		error = count_directory(&counting, waiting->path);
		counting.error = counting.error ? counting.error : error;
		free(waiting);
	}
	shut_again(&counting);
	free(counting.seen);
	job->done.bytes += counting.bytes;
	job->done.inodes += counting.inodes;
	return counting.error;
}

int job_note(struct job *job)
{
	int error = base_note(&job->directories, job->ask->since_us);

	for (uint32_t i = 0; i < job->directories.layer_count; i++) {
		const int other = count_layer(job->directories.layers[i], job);

		error = error ? error : other;
	}
	job->done.error = (uint32_t)-error;
	job->done.step = error ? CHANGES_STEP_READ : CHANGES_STEP_NONE;
	return error;
}
