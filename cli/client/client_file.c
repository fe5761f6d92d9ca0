/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/format.h"
#include "common/log.h"
#include "launcher/host/account.h"

/* linux/fs.h; the C library of the static programs has no renameat2 */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
#endif

#define PIECE_BYTES 65536
#define TEMPORARY "/.msp-XXXXXX"

bool client_file_place(const struct client *client, char ret[IPC_PATH_MAX],
		       char text[CLIENT_FILE_TEXT_MAX])
{
	const char *folder = client->variable ? getenv(client->variable) : NULL;
	const char *home = account_home();

	if (!client->home) {
		format_text(ret, IPC_PATH_MAX, "%s", client->file);
		return true;
	}
	if (folder && folder[0] == '/') {
		format_text(ret, IPC_PATH_MAX, "%s/%s", folder, client->file);
		return true;
	}
	if (!home)
		format_text(text, CLIENT_FILE_TEXT_MAX,
			    "user %u has no home directory of its own: name the file with "
			    "--write=FILE",
			    geteuid());
	else
		format_text(ret, IPC_PATH_MAX, "%s/%s/%s", home, client->home, client->file);
	return home != NULL;
}

static bool refuse_file(char text[CLIENT_FILE_TEXT_MAX], const char *path, const char *why)
{
	format_text(text, CLIENT_FILE_TEXT_MAX, "%s %s", path, why);
	return false;
}

/* Is `path` beneath the working directory? A project is not the user's own writing, so that a link
 * in it could name any file of theirs. */
static bool is_in_project(const char *path)
{
	char folder[PATH_MAX];
	size_t size;

	if (!realpath(".", folder))
		return false;
	size = strlen(folder);
	return strncmp(path, folder, size) == 0 && (path[size] == '/' || size == 1);
}

/* Return the directory of a path; of a mere name it is ".". */
static void find_folder(const char *path, char ret[IPC_PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	format_text(ret, IPC_PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

/* Resolve the path of a file that is to be made, whose directory may be missing too. */
static void resolve_new(const char *path, char ret[PATH_MAX])
{
	const char *name = strrchr(path, '/');
	char folder[IPC_PATH_MAX];
	char whole[PATH_MAX];

	find_folder(path, folder);
	if (realpath(folder, whole))
		format_text(ret, PATH_MAX, "%s/%s", whole, name ? name + 1 : path);
	else if (path[0] != '/' && realpath(".", whole))
		format_text(ret, PATH_MAX, "%s/%s", whole, path);
	else
		format_text(ret, PATH_MAX, "%s", path);
}

/* Resolve the links of a file's path. */
static bool resolve_path(const char *path, bool is_projects, struct client_file *ret,
			 char text[CLIENT_FILE_TEXT_MAX])
{
	char whole[PATH_MAX];
	struct stat status;

	ret->is_there = lstat(path, &status) == 0;
	if (!ret->is_there && errno != ENOENT)
		return refuse_file(text, path, errno_text(errno));
	if (!ret->is_there)
		resolve_new(path, whole);
	else if (!realpath(path, whole))
		return refuse_file(text, path,
				   "is a link to nothing: remove it, or name the file with "
				   "--write=FILE");
	if (is_projects && !is_in_project(whole))
		return refuse_file(text, path,
				   "leads out of this directory by a link: name the file itself "
				   "with --write=FILE");
	format_text(ret->path, sizeof(ret->path), "%s", whole);
	return true;
}

/* Read everything; 0 or -errno. */
static int read_all(int fd, struct buffer *ret)
{
	static char piece[PIECE_BYTES];
	ssize_t got = 1;

	buffer_append(ret, "", 0);
	while (got > 0) {
		got = read(fd, piece, sizeof(piece));
		if (got < 0 && errno != EINTR)
			return -errno;
		if (ret->size > CLIENT_FILE_BYTES_MAX)
			return -EFBIG;
		buffer_append(ret, piece, got > 0 ? (size_t)got : 0);
		got = got < 0 ? 1 : got;
	}
	return 0;
}

static const char *find_fault(const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return "is no regular file";
	if (status->st_uid != geteuid())
		return "belongs to another user, and replacing it would make it yours";
	if (status->st_nlink > 1)
		return "has other names (hard links), which would keep the old content";
	if ((uint64_t)status->st_size > CLIENT_FILE_BYTES_MAX)
		return "is larger than 16 MiB";
	return NULL;
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool client_file_read(const char *path, bool is_projects, struct client_file *ret,
		      char text[CLIENT_FILE_TEXT_MAX])
{
	int fd __attribute__((cleanup(fd_cleanup))) = -1;
	struct stat status;
	const char *fault;
	int error;

	*ret = (struct client_file){ .is_there = false };
	buffer_append(&ret->text, "", 0);
	if (!resolve_path(path, is_projects, ret, text))
		return false;
	if (!ret->is_there)
		return true;
	fd = open_file(ret->path);
	if (fd < 0 || fstat(fd, &status) != 0)
		return refuse_file(text, ret->path, errno_text(errno));
	fault = find_fault(&status);
	if (fault)
		return refuse_file(text, ret->path, fault);
	ret->mode = status.st_mode & 07777;
	ret->group = status.st_gid;
	error = read_all(fd, &ret->text);
	return !error || refuse_file(text, ret->path, errno_text(-error));
}

/* Is the file still what was read? */
static bool is_unchanged(const struct client_file *file)
{
	int fd __attribute__((cleanup(fd_cleanup))) = open_file(file->path);
	struct buffer now = { 0 };
	bool is_same;

	if (fd < 0)
		return !file->is_there && errno == ENOENT;
	is_same = file->is_there && read_all(fd, &now) == 0 && now.size == file->text.size &&
		  memcmp(now.bytes, file->text.bytes, now.size) == 0;
	buffer_done(&now);
	return is_same;
}

static int write_new(int fd, const struct client_file *file, const struct buffer *now)
{
	const mode_t mask = umask(0);

	(void)umask(mask); /* cannot fail */
	if (fchmod(fd, file->is_there ? file->mode : 0666 & ~mask) != 0 ||
	    (file->is_there && file->group != getegid() && fchown(fd, (uid_t)-1, file->group) != 0))
		return -errno;
	if (fd_write_all(fd, now->bytes, now->size) != 0 || fsync(fd) != 0)
		return -errno;
	return 0;
}

static int sync_folder(const char *folder)
{
	int fd = open(folder[0] ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int error = fd < 0 || fsync(fd) != 0 ? -errno : 0;

	fd_close(&fd);
	return error;
}

/* Give the new file its name, unless another one was put there. */
static int take_name(const char *temporary, const struct client_file *file)
{
	if (!is_unchanged(file))
		return -EAGAIN;
	if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, file->path,
		    file->is_there ? 0U : RENAME_NOREPLACE) != 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	return 0;
}

static int replace_in(const char *folder, const struct client_file *file, const struct buffer *now)
{
	char temporary[IPC_PATH_MAX + sizeof(TEMPORARY)];
	int error;
	int fd;

	if (!file->is_there && mkdir(folder, 0777) != 0 && errno != EEXIST)
		return -errno;
	format_text(temporary, sizeof(temporary), "%s" TEMPORARY, folder);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = write_new(fd, file, now);
	fd_close(&fd);
	if (!error)
		error = take_name(temporary, file);
	if (error)
		(void)unlink(temporary); /* no program reads it */
	return error ? error : sync_folder(folder);
}

int client_file_replace(const struct client_file *file, const struct buffer *now,
			char text[CLIENT_FILE_TEXT_MAX])
{
	char folder[IPC_PATH_MAX];
	int error;

	find_folder(file->path, folder);
	error = replace_in(folder, file, now);
	if (error == -EAGAIN)
		(void)refuse_file(text, file->path,
				  "was changed by another program meanwhile: start this again");
	else if (error)
		format_text(text, CLIENT_FILE_TEXT_MAX, "%s cannot be written: %s", file->path,
			    errno_text(-error));
	return error;
}
