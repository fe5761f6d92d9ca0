/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp cp SANDBOX:PATH LOCAL`: what comes is written beside and takes its name when all of it is
 * there. Names that the sandbox chose are only used beneath a directory that is open, and no
 * symbolic link is followed there, whoever made it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ask/progress.h"
#include "commands/copy.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "lib/heap/memory.h"

/* A list that is longer is no list of files that somebody wants. */
#define ENTRIES_MAX 1000000U
#define PATHS_BYTES_MAX ((size_t)256 << 20)

/* --- one file ------------------------------------------------------------------------------- */

struct incoming {
	struct copy *copy;
	int folder;
	int file;
	uint64_t written;
	bool has_room;
	char beside[32];
};

/* Is there room for what the head says? A file of holes can say anything. */
static bool fits_name(const struct incoming *incoming)
{
	struct statvfs place;

	return fstatvfs(incoming->file, &place) != 0 ||
	       incoming->copy->answer.is.count / place.f_frsize <= place.f_bavail;
}

static int on_bytes(void *context, const uint8_t *bytes, size_t size)
{
	struct incoming *incoming = context;
	const int error = incoming->written == 0 && incoming->beside[0] && !fits_name(incoming)
				  ? -ENOSPC
				  : fd_write_all(incoming->file, bytes, size);

	incoming->written += size;
	return error;
}

static int open_beside(struct incoming *incoming)
{
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -errno;
	format_text(incoming->beside, sizeof(incoming->beside), ".msp-%016llx", number);
	incoming->file = openat(incoming->folder, incoming->beside,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return incoming->file < 0 ? -errno : 0;
}

static mode_t umask_now(void)
{
	const mode_t taken = umask(0);

	(void)umask(taken);
	return taken;
}

static int read_remote(struct copy *copy, const char *path, struct incoming *incoming)
{
	int code;

	copy_question(copy, "read", path);
	copy_number(copy, 0);
	copy_number(copy, INT64_MAX);
	code = copy_ask(copy, path, -1, on_bytes, incoming);
	if (!code && copy->answer.is.problem == FILE_NOT_REGULAR && S_ISDIR(copy->answer.is.mode))
		code = log_fail(COPY_FAILED, "%s:%s is a directory: copy it with -r", copy->sandbox,
				copy_shown(path));
	if (!code && copy->answer.is.problem != FILE_DONE)
		code = copy_explain(copy, path);
	if (!code && incoming->written != copy->answer.is.count)
		code = log_fail(COPY_FAILED, "%s:%s changed while it was read: copy it again",
				copy->sandbox, copy_shown(path));
	return code;
}

/* `shown` is the local path, for lines. */
static int get_file(struct copy *copy, const char *path, int folder, const char *name,
		    const char *local)
{
	struct incoming incoming = { .copy = copy, .folder = folder };
	int error = open_beside(&incoming);
	int code;

	if (error)
		return log_fail(COPY_FAILED, "%s: %s", copy_shown(local), errno_text(-error));
	code = read_remote(copy, path, &incoming);
	if (!code && (fchmod(incoming.file, copy->answer.is.mode & 0777 & ~umask_now()) != 0 ||
		      renameat(folder, incoming.beside, folder, name) != 0))
		code = log_fail(COPY_FAILED, "%s: %s", copy_shown(local), errno_text(errno));
	if (code)
		(void)unlinkat(folder, incoming.beside, 0);
	fd_close(&incoming.file);
	return code;
}

/* --- where to ------------------------------------------------------------------------------- */

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The directory that the user's LOCAL is in, and its last part. */
static int open_parent(const char *local, char **ret_name)
{
	char *path = strdup(local);
	char *slash = path ? strrchr(path, '/') : NULL;
	int folder;

	*ret_name = copy_last_part(local);
	if (!path || !*ret_name) {
		free(path);
		errno = EISDIR;
		return -1;
	}
	if (slash)
		slash[slash == path ? 1 : 0] = '\0';
	folder = open_folder(slash ? path : ".");
	free(path);
	return folder;
}

/* Choose the place: if LOCAL is a directory, the remote file comes into it by its own name. */
static int choose_place(const struct copy *copy, char **ret_name)
{
	int folder = open_folder(copy->local);

	*ret_name = NULL;
	if (folder < 0)
		return open_parent(copy->local, ret_name);
	*ret_name = copy_last_part(copy->remote);
	if (*ret_name)
		return folder;
	fd_close(&folder);
	errno = EISDIR;
	return -1;
}

/* --- directories ---------------------------------------------------------------------------- */

struct entry {
	char *path;
	uint32_t mode;
};

struct listing {
	struct entry *entries;
	size_t count, room, paths_size;
	uint8_t record[FILE_RECORD_MAX];
	size_t size; /* bytes of the incomplete record */
	bool is_whole;
};

static int add_entry(struct listing *listing, const struct file_found *found)
{
	struct entry *entry;

	if (listing->count == ENTRIES_MAX || listing->paths_size > PATHS_BYTES_MAX)
		return -E2BIG;
	listing->entries = memory_grow_list(listing->entries, &listing->room, listing->count + 1,
					    sizeof(*listing->entries));
	entry = &listing->entries[listing->count++];
	entry->mode = found->is.mode;
	entry->path = memory_text(found->path, found->is.path_size);
	listing->paths_size += found->is.path_size;
	return 0;
}

/* Take the complete records. */
static int take_records(struct listing *listing)
{
	struct file_found found;
	size_t at = 0;
	long taken;
	int error = 0;

	while (!error && !listing->is_whole) {
		taken = file_found_read(listing->record + at, listing->size - at, &found);
		if (taken <= 0) {
			error = (int)taken;
			break;
		}
		at += (size_t)taken;
		if (found.is.path_size == 0)
			listing->is_whole = true;
		else
			error = add_entry(listing, &found);
	}
	listing->size -= at;
	memmove(listing->record, listing->record + at, listing->size);
	return error;
}

static int on_list(void *context, const uint8_t *bytes, size_t size)
{
	struct listing *listing = context;
	int error = 0;

	while (size > 0 && !error && !listing->is_whole) {
		const size_t room = sizeof(listing->record) - listing->size;
		const size_t more = size < room ? size : room;

		memcpy(listing->record + listing->size, bytes, more);
		listing->size += more;
		bytes += more;
		size -= more;
		error = take_records(listing);
	}
	return error;
}

static void free_listing(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].path);
	free(listing->entries);
}

/* The directory of an entry beneath `root`, and its name in it. */
static int open_beneath(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[IPC_PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	format_text(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
		    slash ? path : ".");
	return kernel_openat2(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

static int make_folder(int folder, const char *name, uint32_t mode)
{
	struct stat status;

	if (mkdirat(folder, name, (mode & 0777) | 0700) == 0)
		return 0;
	if (errno == EEXIST && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(status.st_mode))
		return 0;
	return -errno;
}

/* 0, or the exit code after which nothing more can be copied. */
static int get_entry(struct copy *copy, const struct entry *entry, int root)
{
	char *remote = copy_join(copy->remote, entry->path);
	const char *name;
	int folder = open_beneath(root, entry->path, &name);
	int error = folder < 0 ? -errno : 0;
	int code = 0;

	if (!error && S_ISDIR(entry->mode))
		error = make_folder(folder, name, entry->mode);
	if (error)
		copy_leave_out(copy, "", entry->path, errno_text(-error));
	else if (S_ISLNK(entry->mode))
		copy_leave_out(copy, "", entry->path, "it is a symbolic link");
	else if (!S_ISDIR(entry->mode) && !S_ISREG(entry->mode))
		copy_leave_out(copy, "", entry->path, "it is no regular file");
	else if (S_ISREG(entry->mode))
		code = get_file(copy, remote, folder, name, entry->path);
	fd_close(&folder);
	free(remote);
	if (code == COPY_FAILED && !ask_is_over(&copy->asking)) {
		copy->left_out++; /* it was said why */
		code = 0;
	}
	return code;
}

static int get_entries(struct copy *copy, const struct listing *listing)
{
	char *name;
	int folder = choose_place(copy, &name);
	int error = folder < 0 ? -errno : make_folder(folder, name, 0777);
	int root =
		error ? -1 : openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int code = 0;

	if (root < 0)
		code = log_fail(COPY_FAILED, "%s: %s", copy->local,
				errno_text(error ? -error : errno));
	for (size_t i = 0; !code && i < listing->count; i++) {
		progress_note(COPY_ACT, i, listing->count);
		code = get_entry(copy, &listing->entries[i], root);
	}
	fd_close(&root);
	fd_close(&folder);
	free(name);
	return code;
}

/* 0 with the answer; FILE_ERROR of ENOTDIR says that it is a file. */
static int list_remote(struct copy *copy, struct listing *listing)
{
	copy_question(copy, "list", copy->remote);
	copy_number(copy, FILE_DEPTH_MAX);
	copy_number(copy, 0);
	copy_number(copy, INT64_MAX);
	copy_word(copy, "");
	return copy_ask(copy, copy->remote, -1, on_list, listing);
}

static bool is_file(const struct copy *copy)
{
	return copy->answer.is.problem == FILE_ERROR && copy->answer.is.error == ENOTDIR;
}

static int get_one(struct copy *copy)
{
	char *name;
	int folder = choose_place(copy, &name);
	int code = COPY_FAILED;

	if (folder < 0)
		log_line("%s: %s", copy->local, errno_text(errno));
	else
		code = get_file(copy, copy->remote, folder, name, copy->local);
	fd_close(&folder);
	free(name);
	return code;
}

static int get_recursive(struct copy *copy)
{
	static struct listing listing;
	int code = list_remote(copy, &listing);

	if (!code && is_file(copy))
		code = get_one(copy);
	else if (!code && copy->answer.is.problem != FILE_DONE)
		code = copy_explain(copy, copy->remote);
	else if (!code && !listing.is_whole) {
		code = log_fail(COPY_FAILED, "%s:%s: the list of its files did not come to its end",
				copy->sandbox, copy->remote);
	} else if (!code) {
		code = get_entries(copy, &listing);
	}
	free_listing(&listing);
	return code;
}

int copy_out(struct copy *copy)
{
	struct incoming incoming = { .copy = copy, .folder = -1, .file = STDOUT_FILENO };

	if (strcmp(copy->local, "-") == 0)
		return read_remote(copy, copy->remote, &incoming);
	return copy->is_recursive ? get_recursive(copy) : get_one(copy);
}
