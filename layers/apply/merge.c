/* SPDX-License-Identifier: Apache-2.0
 *
 * Several layers become one that shows the same over whatever lies below them. Its directories are
 * new; its files are the layers' own, linked, so nothing is copied and links within a layer stay.
 * That is safe because nobody writes to a layer that another is built on. Whiteouts stay, and a
 * directory that hid what lies below still does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/descent.h"
#include "layers/base/files.h"
#include "layers/base/job.h"
#include "layers/base/stack.h"

#define OPAQUE "user.overlay.opaque"
#define ORIGIN "user.overlay.origin"
#define OVERLAY "user.overlay."
#define WORK "work-" /* overlayfs' directory beside a persistent mount */

#define XATTR_NAMES_MAX 4096
#define XATTR_VALUE_MAX 65536

/* Open directories of each layer and of the target: nothing is moved in them meanwhile. */
#define KEPT_OPEN 4

/* A directory to be merged, of these layers. */
struct part {
	struct part *above;
	struct part *next;     /* beside it */
	struct part *children; /* that wait */
	uint32_t first;        /* the highest layer that has it */
	bool layers[LAYERS_MAX];
	bool is_opaque;
	struct stat status; /* the highest layer's */
	char name[];
};

struct merging {
	struct job *job;
	struct descent layers[LAYERS_MAX];
	struct descent target;
};

static int add_part(struct part *above, const char *name, uint32_t first, const struct stat *status)
{
	const size_t size = strlen(name) + 1;
	struct part *part = calloc(1, sizeof(*part) + size);

	if (!part)
		return -ENOMEM;
	memcpy(part->name, name, size);
	part->above = above;
	part->next = above->children;
	part->first = first;
	part->status = *status;
	above->children = part;
	return 0;
}

static bool is_whiteout(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == 0;
}

/* Enter the directory in a layer, which may have none. -ENOTSUP: its whiteouts are of the kind that
 * only tools make. */
static int enter_layer(struct merging *merging, struct part *part, uint32_t layer)
{
	struct descent *descent = &merging->layers[layer];
	struct stat status;
	char mark;
	int error;

	if (fstatat(descent_here(descent), part->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(status.st_mode)) {
		part->is_opaque = true; /* it hides what lies below it */
		return 0;
	}
	error = descent_enter(descent, part->name, true);
	if (error)
		return error;
	part->layers[layer] = true;
	mark = stack_opaque_mark(descent_here(descent));
	part->is_opaque = mark == 'y';
	return mark == 'x' ? -ENOTSUP : 0;
}

/* Enter a directory in the target and in all layers that have a part in it. */
static int enter_part(struct merging *merging, struct part *part)
{
	int error = descent_enter(&merging->target, part->name, false);

	for (uint32_t i = part->first;
	     i < merging->job->directories.layer_count && !error && !part->is_opaque; i++) {
		if (part->above->layers[i])
			error = enter_layer(merging, part, i);
	}
	if (!error && !part->layers[part->first])
		error = -ESTALE; /* somebody removes it */
	return error;
}

/* As the layer has it, when it cannot be linked. */
static int copy_file(int from, const char *name, int to, const struct stat *status)
{
	const struct timespec times[2] = { status->st_atim, status->st_mtim };
	uint8_t hash[SHA256_BYTES];
	struct stat ignored;
	int in = beneath_file(from, name, &ignored);
	int out = in < 0 ? -1
			 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  0600);
	int error = in < 0 ? in : out < 0 ? -errno : files_copy(in, out, hash);

	if (error == 0 && (fchmod(out, status->st_mode & 0777) != 0 || futimens(out, times) != 0))
		error = -errno;
	fd_close(&in);
	fd_close(&out);
	return error;
}

static int bring_file(int from, const char *name, int to, const struct stat *status)
{
	if (linkat(from, name, to, name, 0) == 0)
		return 0;
	if (errno != EMLINK)
		return -errno;
	if (is_whiteout(status))
		return mknodat(to, name, S_IFCHR, 0) == 0 ? 0 : -errno;
	return S_ISREG(status->st_mode) ? copy_file(from, name, to, status) : -EMLINK;
}

/* A name of a layer's directory, unless a higher layer has said what is there. */
static int bring_in(struct merging *merging, struct part *part, uint32_t layer, const char *name)
{
	const int from = descent_here(&merging->layers[layer]);
	const int to = descent_here(&merging->target);
	struct stat status;
	int error;

	if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		error = mkdirat(to, name, 0700) == 0 ? 0 : -errno;
	else
		error = bring_file(from, name, to, &status);
	if (error)
		return error == -EEXIST ? 0 : error;
	merging->job->done.inodes++;
	merging->job->done.bytes += (uint64_t)status.st_blocks * 512;
	return S_ISDIR(status.st_mode) ? add_part(part, name, layer, &status) : 0;
}

/* Beside the places there are things of a layer's own. */
static bool is_own(const struct part *part, const char *name)
{
	return !part->above &&
	       (strcmp(name, BASE_NAME) == 0 || strncmp(name, WORK, strlen(WORK)) == 0);
}

static int bring_all(struct merging *merging, struct part *part, uint32_t layer)
{
	struct beneath_names names = { 0 };
	int error = beneath_names_read(&names, descent_here(&merging->layers[layer]));

	for (size_t i = 0; i < names.count && error == 0; i++) {
		if (!is_own(part, names.names[i]))
			error = bring_in(merging, part, layer, names.names[i]);
	}
	beneath_names_free(&names);
	return error;
}

static int copy_xattrs(int from, int to)
{
	static char names[XATTR_NAMES_MAX], value[XATTR_VALUE_MAX];
	const ssize_t size = flistxattr(from, names, sizeof(names));

	if (size < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		ssize_t length;

		if (strncmp(name, OVERLAY, strlen(OVERLAY)) == 0)
			continue;
		length = fgetxattr(from, name, value, sizeof(value));
		if (length < 0 || fsetxattr(to, name, value, (size_t)length, 0) != 0) {
			if (errno != EPERM && errno != ENOTSUP) /* then it is not ours to give */
				return -errno;
		}
	}
	return 0;
}

/* Set owner, mode and times of the directory itself, as the highest layer has them. */
static int dress_directory(const struct merging *merging, const struct part *part)
{
	const struct timespec times[2] = { part->status.st_atim, part->status.st_mtim };
	const int to = descent_here(&merging->target);
	int error = copy_xattrs(descent_here(&merging->layers[part->first]), to);

	/* It may have whiteouts over nothing; only in a directory that was copied up from somewhere
	 * overlayfs leaves them out when it lists names. */
	if (error == 0 && fsetxattr(to, ORIGIN, "", 0, 0) != 0)
		error = -errno;
	if (error == 0 && part->is_opaque && fsetxattr(to, OPAQUE, "y", 1, 0) != 0)
		error = -errno;
	if (error == 0 && fchmod(to, (part->status.st_mode & 07777) | 0700) != 0)
		error = -errno;
	if (error == 0 && futimens(to, times) != 0)
		error = -errno;
	return error;
}

static int merge_part(struct merging *merging, struct part *part)
{
	int error = 0;

	for (uint32_t i = 0; i < merging->job->directories.layer_count && error == 0; i++) {
		if (part->layers[i])
			error = bring_all(merging, part, i);
	}
	return error || !part->above ? error : dress_directory(merging, part);
}

/* All that is in it is merged. Permissions that would have locked us out come last. */
static int leave_part(struct merging *merging, const struct part *part)
{
	int error = descent_leave(&merging->target);

	for (uint32_t i = 0; i < merging->job->directories.layer_count && error == 0; i++) {
		if (part->layers[i])
			error = descent_leave(&merging->layers[i]);
	}
	if (error || !part->above || (part->status.st_mode & 0700) == 0700)
		return error;
	return files_chmod(descent_here(&merging->target), part->name,
			   part->status.st_mode & 07777);
}

/* Each directory, then what is in it, and then it is left. */
static int merge_parts(struct merging *merging, struct part *part)
{
	int error = merge_part(merging, part);

	while (part) {
		struct part *child = part->children;

		if (child && error == 0) {
			error = enter_part(merging, child);
			if (error == 0)
				error = merge_part(merging, child);
			part = child;
			continue;
		}
		if (child) { /* they are not used any more */
			part->children = child->next;
			free(child);
			continue;
		}
		if (error == 0)
			error = leave_part(merging, part);
		child = part;
		part = part->above;
		if (part)
			part->children = child->next;
		free(child);
	}
	return error;
}

static int merge_all(struct merging *merging)
{
	const struct job_directories *directories = &merging->job->directories;
	struct part *top = calloc(1, sizeof(*top) + 1);
	int error = descent_begin(&merging->target, directories->target, KEPT_OPEN);

	for (uint32_t i = 0; i < directories->layer_count; i++) {
		const int other =
			descent_begin(&merging->layers[i], directories->layers[i], KEPT_OPEN);

		error = error ? error : other;
	}
	for (uint32_t i = 0; top && i < directories->layer_count; i++)
		top->layers[i] = true;
	if (error == 0)
		error = top ? merge_parts(merging, top) : -ENOMEM;
	else
		free(top);
	for (uint32_t i = 0; i < directories->layer_count; i++)
		descent_end(&merging->layers[i]);
	descent_end(&merging->target);
	return error;
}

/* The records of a layer's base behind those that are there. */
static int append_base(int layer, int to, struct base_head *head)
{
	struct base_head from_head;
	struct stat status;
	int from = beneath_file(layer, BASE_NAME, &status);
	int error = from == -ENOENT ? 0 : from < 0 ? from : -EBADMSG;
	off_t at = sizeof(from_head);

	if (from >= 0 && status.st_size >= (off_t)sizeof(from_head) &&
	    pread(from, &from_head, sizeof(from_head), 0) == (ssize_t)sizeof(from_head) &&
	    base_is_head(&from_head, (size_t)status.st_size - sizeof(from_head)))
		error = from_head.used > BASE_BYTES_MAX - head->used ? -EFBIG : 0;
	for (uint64_t left = from < 0 || error ? 0 : from_head.used; left > 0 && error == 0;) {
		static uint8_t bytes[65536];
		const size_t size = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		const ssize_t got = pread(from, bytes, size, at);

		error = got > 0 ? fd_write_all(to, bytes, (size_t)got) : got < 0 ? -errno : -EIO;
		at += got;
		left -= got > 0 ? (uint64_t)got : 0;
		head->used += got > 0 ? (uint64_t)got : 0;
	}
	fd_close(&from);
	return error;
}

/* The lowest layer's first: what it says of a path came first. */
static int merge_bases(const struct job_directories *directories)
{
	struct base_head head = { BASE_MAGIC, sizeof(struct base_record), 0 };
	int to = openat(directories->target, BASE_NAME,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = to < 0 ? -errno : fd_write_all(to, &head, sizeof(head));

	for (uint32_t i = directories->layer_count; i-- > 0 && error == 0;)
		error = append_base(directories->layers[i], to, &head);
	if (error == 0 && pwrite(to, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		error = -EIO;
	if (error == 0 && syncfs(to) != 0)
		error = -errno;
	fd_close(&to);
	return error;
}

int job_merge(struct job *job)
{
	struct merging merging = { .job = job };
	int error = merge_all(&merging);

	if (error == 0)
		error = merge_bases(&job->directories);
	job->done.step = error ? CHANGES_STEP_WRITE : CHANGES_STEP_NONE;
	return error;
}
