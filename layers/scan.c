/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of the disk the layers take, and the bases of new files. The count needs no path and a
 * bounded amount of memory, because a workload that makes it fail has no limit: a tree that cannot
 * be counted is told apart from a machine that cannot count now. Files without a name that a
 * process has open are not seen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "layers/base/base.h"
#include "layers/base/descent.h"
#include "layers/base/job.h"
#include "lib/heap/grow.h"

#define BLOCK_BYTES 512 /* st_blocks' unit */
#define FIRST_SLOTS 256
#define ALLOCATION_BYTES 32 /* the C library's least */

/* 8 bytes each: half as many files with several names can be counted. */
#define SLOTS_MAX ((size_t)32 << 20)

/* Names of directories that are still to be entered. With what a descent and the slots take all
 * fits into the memory that confine.c leaves: what does not fit is the tree's fault. */
#define WAITING_BYTES_MAX ((size_t)256 << 20)

/* Begin again so often when directories are moved while they are counted. */
#define ATTEMPTS 3

/* The directory in which overlayfs prepares files, beside the persistent mount. The kernel makes
 * directories without any permissions in it, for which the workload has no name. */
#define WORK_PREFIX "work-"

/* A directory that was entered: what is read of it, and what of that is to be entered. */
struct level {
	char *names; /* with a NUL after each */
	uint32_t used, next;
	long position; /* behind what was read */
};

struct counting {
	struct descent descent;
	struct level *levels;
	size_t room;
	size_t waiting_bytes;
	bool is_work; /* inside what overlayfs prepares */
	uint64_t bytes, inodes;
	ino_t *seen; /* files with several names; 0: free. A layer is on one file system. */
	size_t seen_count, seen_room;
	int error; /* the first */
};

static size_t slot_of(const ino_t *seen, size_t room, ino_t inode)
{
	size_t slot = (size_t)(inode * UINT64_C(0x9e3779b97f4a7c15)) & (room - 1);

	while (seen[slot] != 0 && seen[slot] != inode)
		slot = (slot + 1) & (room - 1);
	return slot;
}

static int grow_seen(struct counting *counting)
{
	const size_t room = counting->seen_room ? 2 * counting->seen_room : FIRST_SLOTS;
	ino_t *seen = room > SLOTS_MAX ? NULL : calloc(room, sizeof(*seen));

	if (!seen)
		return room > SLOTS_MAX ? -EFBIG : -ENOMEM;
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
		const int error = grow_seen(counting);

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

/* Have it entered later. */
static int add_waiting(struct counting *counting, struct level *level, const char *name)
{
	const uint32_t size = (uint32_t)strlen(name) + 1;
	char *names;

	if (counting->waiting_bytes + size > WAITING_BYTES_MAX)
		return -EFBIG;
	/* Grows in steps of the allocator, and is never larger than a buffer of entries. */
	names = realloc(level->names, level->used + size);
	if (!names)
		return -ENOMEM;
	memcpy(names + level->used, name, size);
	counting->waiting_bytes += size + (level->names ? 0 : ALLOCATION_BYTES);
	level->names = names;
	level->used += size;
	return 0;
}

static int count_name(struct counting *counting, struct level *level, const char *name)
{
	struct stat status;
	int seen;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(descent_here(&counting->descent), name, &status,
		    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return errno == ENOENT ? 0 : -errno;
	seen = is_seen(counting, &status);
	if (seen != 0)
		return seen < 0 ? seen : 0;
	counting->bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
	counting->inodes++;
	return S_ISDIR(status.st_mode) ? add_waiting(counting, level, name) : 0;
}

static void drop_names(struct counting *counting, struct level *level)
{
	counting->waiting_bytes -= level->used + (level->names ? ALLOCATION_BYTES : 0);
	free(level->names);
	*level = (struct level){ .position = level->position };
}

/* Has the directory been removed? Its names were as well: the kernel lets only an empty one go. */
static bool is_removed(int directory)
{
	struct stat status;

	return fstat(directory, &status) == 0 && status.st_nlink == 0;
}

/* Count the next names of the present directory. 1; 0: there are no more; or -errno. */
static int read_names(struct counting *counting, struct level *level)
{
	static _Alignas(struct dirent64) char buffer[32 << 10];
	const int here = descent_here(&counting->descent);
	ssize_t size;

	drop_names(counting, level);
	/* A removed directory of ext4 has no longer the positions that it had. */
	if (lseek(here, level->position, SEEK_SET) < 0)
		return is_removed(here) ? 0 : -errno;
	size = getdents64(here, buffer, sizeof(buffer));
	if (size <= 0)
		return size == 0 || is_removed(here) ? 0 : -errno;
	for (ssize_t at = 0; at < size;) {
		const struct dirent64 *entry = (const void *)(buffer + at);
		const int error = count_name(counting, level, entry->d_name);

		counting->error = counting->error ? counting->error : error;
		level->position = entry->d_off;
		at += entry->d_reclen;
	}
	return 1;
}

/* A level for the directory that was entered last. */
static int add_level(struct counting *counting)
{
	const size_t depth = counting->descent.depth;

	struct level *levels = grow_list(counting->levels, &counting->room, depth, sizeof(*levels));

	if (!levels)
		return -ENOMEM;
	counting->levels = levels;
	counting->levels[depth - 1] = (struct level){ .position = 0 };
	return 0;
}

static int enter_directory(struct counting *counting, const char *name)
{
	int error;

	if (counting->descent.depth == 1)
		counting->is_work = strncmp(name, WORK_PREFIX, strlen(WORK_PREFIX)) == 0;
	/* The files are ours, and what is in them counts, whatever the workload says of them. */
	error = descent_enter(&counting->descent, name, !counting->is_work);
	if (error == -ENOENT || error == -ESTALE || (error == -EACCES && counting->is_work))
		return 0; /* it has just gone, or is nobody's */
	if (!error && (error = add_level(counting)) != 0)
		(void)descent_leave(&counting->descent); /* the level above was just left */
	return error;
}

/* One directory after another, in spite of what cannot be counted. 0, or -errno where nothing more
 * can be. */
static int walk_tree(struct counting *counting)
{
	while (counting->descent.depth > 0) {
		struct level *level = &counting->levels[counting->descent.depth - 1];
		const char *name = level->next < level->used ? level->names + level->next : NULL;
		int status;

		if (name)
			level->next += (uint32_t)strlen(name) + 1;
		status = name ? enter_directory(counting, name) : read_names(counting, level);
		if (status < 0)
			counting->error = counting->error ? counting->error : status;
		if (name && (status == -ENOMEM || status == -EFBIG))
			return status;
		if (!name && status <= 0 && (status = descent_leave(&counting->descent)) != 0)
			return status;
	}
	return 0;
}

static int count_once(int layer, struct counting *counting)
{
	int error = descent_begin(&counting->descent, layer, DESCENT_OPEN_MAX);

	if (!error)
		error = add_level(counting);
	if (!error)
		error = walk_tree(counting);
	for (size_t depth = counting->descent.depth; counting->levels && depth-- > 0;)
		drop_names(counting, &counting->levels[depth]);
	descent_end(&counting->descent);
	free(counting->levels);
	free(counting->seen);
	return error ? error : counting->error;
}

static int count_layer(int layer, struct job *job)
{
	struct counting counting = { .inodes = 1 };
	int error = count_once(layer, &counting);

	for (int i = 1; i < ATTEMPTS && error == -ESTALE; i++) {
		counting = (struct counting){ .inodes = 1 };
		error = count_once(layer, &counting);
	}
	job->done.bytes += counting.bytes;
	job->done.inodes += counting.inodes;
	return error;
}

/* Does the error say something about this machine now, and not about the tree? */
static bool is_passing(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EIO;
}

int job_scan(struct job *job)
{
	const int unnoted = base_note(&job->directories, job->ask->since_us);
	int error = 0;

	(void)malloc_trim(0); /* memory of bases must not stop the count */
	for (uint32_t i = 0; i < job->directories.layer_count; i++) {
		const int other = count_layer(job->directories.layers[i], job);

		error = error && !is_passing(error) ? error : other ? other : error;
	}
	job->done.step = !error && !unnoted  ? CHANGES_STEP_NONE
			 : !error            ? LAYERS_SCAN_BASES
			 : is_passing(error) ? LAYERS_SCAN_MACHINE
					     : LAYERS_SCAN_TREE;
	return error ? error : unnoted;
}
