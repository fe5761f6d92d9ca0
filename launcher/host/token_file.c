/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"

/* Everything but the owner's rights. */
#define OTHERS (S_IRWXG | S_IRWXO)

const char *token_file_set_path(void *member, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= IPC_PATH_MAX)
		return "the path of a file, such as ~/.config/msp/tokens, shorter than 4096 bytes";
	*(const char **)member = value;
	return NULL;
}

/* Append a folder to `path`, and make it. */
static bool go_into(const char *name, bool is_made, char path[IPC_PATH_MAX],
		    char text[TOKEN_FILE_TEXT_MAX])
{
	format_append(path, IPC_PATH_MAX, "/%s", name);
	if (!is_made || mkdir(path, S_IRWXU) == 0 || errno == EEXIST)
		return true;
	return format_fail(false, text, TOKEN_FILE_TEXT_MAX, "the folder %.500s cannot be made: %s",
			   path, errno_text(errno));
}

bool token_file_find(bool is_made, char ret[IPC_PATH_MAX], char text[TOKEN_FILE_TEXT_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const bool has_config = account_owns_folder(config, geteuid());
	const char *base = has_config ? config : account_home();

	if (!base || strlen(base) >= IPC_PATH_MAX - sizeof("/.config/msp/tokens"))
		return format_fail(
			false, text, TOKEN_FILE_TEXT_MAX,
			"user %u has no home directory of its own to keep tokens in: name a "
			"file with --token-file=PATH",
			geteuid());
	format_text(ret, IPC_PATH_MAX, "%s", base);
	if ((!has_config && !go_into(".config", is_made, ret, text)) ||
	    !go_into("msp", is_made, ret, text))
		return false;
	format_append(ret, IPC_PATH_MAX, "/tokens");
	return true;
}

static void explain_open(const char *path, enum token_file_use use, int error,
			 char text[TOKEN_FILE_TEXT_MAX])
{
	if (error == ENOENT && use != TOKEN_FILE_MAKE)
		format_text(text, TOKEN_FILE_TEXT_MAX,
			    "there is no file of tokens at %.500s: 'msp token create NAME' makes "
			    "it, with a first token",
			    path);
	else if (error == ELOOP)
		format_text(text, TOKEN_FILE_TEXT_MAX,
			    "the file of tokens, %.500s, is a symbolic link: name the file itself "
			    "with --token-file=PATH",
			    path);
	else
		format_text(text, TOKEN_FILE_TEXT_MAX,
			    "the file of tokens, %.500s, cannot be opened: %s", path,
			    errno_text(error));
}

/* 0, or -errno with a line in `text`. */
static int check_file(const char *path, int fd, char text[TOKEN_FILE_TEXT_MAX])
{
	struct stat status;

	if (fstat(fd, &status) != 0) {
		explain_open(path, TOKEN_FILE_READ, errno, text);
		return -EIO;
	}
	if (!S_ISREG(status.st_mode))
		return format_fail(-EINVAL, text, TOKEN_FILE_TEXT_MAX,
				   "the file of tokens, %.500s, is no regular file", path);
	if (status.st_uid != geteuid())
		return format_fail(
			-EPERM, text, TOKEN_FILE_TEXT_MAX,
			"the file of tokens, %.500s, belongs to user %u: it must be ours (user "
			"%u), or somebody else says who may come in",
			path, status.st_uid, geteuid());
	if ((status.st_mode & OTHERS) != 0)
		return format_fail(
			-EPERM, text, TOKEN_FILE_TEXT_MAX,
			"the file of tokens, %.400s, has mode %04o: nobody else may read or "
			"write it. 'chmod 600 %.400s' sees to that",
			path, status.st_mode & 07777, path);
	if (status.st_size > TOKENS_BYTES_MAX)
		return format_fail(
			-EFBIG, text, TOKEN_FILE_TEXT_MAX,
			"the file of tokens, %.500s, is larger than %d bytes, which is the "
			"most: start a new one",
			path, TOKENS_BYTES_MAX);
	return 0;
}

int token_file_open(const char *path, enum token_file_use use, char text[TOKEN_FILE_TEXT_MAX])
{
	static const int flags[] = {
		[TOKEN_FILE_READ] = O_RDONLY,
		[TOKEN_FILE_CHANGE] = O_RDWR,
		[TOKEN_FILE_MAKE] = O_RDWR | O_CREAT,
	};
	/* Without O_NONBLOCK a FIFO would be waited for. */
	int fd = open(path, flags[use] | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		      S_IRUSR | S_IWUSR);
	int error;

	if (fd < 0) {
		error = errno;
		explain_open(path, use, error, text);
		return -error;
	}
	error = check_file(path, fd, text);
	return fd_unless(error, fd);
}

int token_file_lock(int fd, bool is_exclusive)
{
	while (flock(fd, is_exclusive ? LOCK_EX : LOCK_SH) != 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int token_file_read(int fd, struct tokens *ret)
{
	char beyond;
	ssize_t got;

	ret->size = 0;
	while (ret->size < sizeof(ret->text)) {
		got = pread(fd, ret->text + ret->size, sizeof(ret->text) - ret->size,
			    (off_t)ret->size);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return 0;
		ret->size += got > 0 ? (size_t)got : 0;
	}
	got = pread(fd, &beyond, 1, (off_t)ret->size);
	if (got < 0)
		return -errno;
	return got == 0 ? 0 : -EFBIG;
}

/* A broker looks at the time of the last change to know that there was one, and the kernel's clock
 * for that moves in steps of milliseconds, or back when it is set. */
static int renew_time(int fd, const struct timespec *before)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat now;

	if (fstat(fd, &now) != 0)
		return -errno;
	if (now.st_mtim.tv_sec > before->tv_sec ||
	    (now.st_mtim.tv_sec == before->tv_sec && now.st_mtim.tv_nsec > before->tv_nsec))
		return 0;
	times[1] = *before;
	times[1].tv_nsec++;
	if (times[1].tv_nsec == 1000000000L)
		times[1] = (struct timespec){ .tv_sec = before->tv_sec + 1 };
	return futimens(fd, times) == 0 ? 0 : -errno;
}

static int write_at(int fd, size_t at, const char *text, size_t size)
{
	struct stat before;
	int error;

	if (fstat(fd, &before) != 0)
		return -errno;
	while (size > 0) {
		const ssize_t put = pwrite(fd, text, size, (off_t)at);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0) {
			at += (size_t)put;
			text += put;
			size -= (size_t)put;
		}
	}
	error = renew_time(fd, &before.st_mtim);
	if (error)
		return error;
	return fsync(fd) == 0 ? 0 : -errno;
}

/* A line that is free and holds at least `size` bytes. */
static bool find_room(const struct tokens *tokens, size_t size, struct token_line *ret)
{
	for (size_t at = 0; token_line_read(tokens, at, ret); at = token_line_next(ret)) {
		if (ret->kind == TOKEN_LINE_FREE && ret->size >= size)
			return true;
	}
	return false;
}

/* The rest of the line becomes a comment. */
static int add_in(int fd, const struct token_line *room, const char *text, size_t size)
{
	char line[TOKEN_LINE_MAX];

	memset(line, '#', room->size);
	memcpy(line, text, size);
	if (room->size > size)
		line[size] = '\n';
	return write_at(fd, room->at, line, room->size);
}

static int add_behind(int fd, const struct tokens *tokens, const char *text, size_t size)
{
	const bool is_open = tokens->size > 0 && tokens->text[tokens->size - 1] != '\n';
	char line[TOKEN_LINE_MAX + 3];
	int error;

	format_text(line, sizeof(line), "%s%s\n", is_open ? "\n" : "", text);
	size += is_open ? 2 : 1;
	if (size > TOKENS_BYTES_MAX - tokens->size)
		return -EFBIG;
	error = write_at(fd, tokens->size, line, size);
	if (error)
		(void)ftruncate(fd, (off_t)tokens->size); /* a part of it admits nobody */
	return error;
}

int token_file_add(int fd, const struct tokens *tokens, const char *name, const char *digest)
{
	struct token_line room;
	char line[TOKEN_LINE_MAX + 1];
	size_t size;

	if (tokens_count(tokens) >= TOKENS_MAX)
		return -EUSERS;
	format_text(line, sizeof(line), "%s %s", name, digest);
	size = strlen(line);
	return find_room(tokens, size, &room) ? add_in(fd, &room, line, size)
					      : add_behind(fd, tokens, line, size);
}

int token_file_revoke(int fd, const struct token_line *line)
{
	char blank[TOKEN_LINE_MAX];

	token_line_blank(line, blank);
	return write_at(fd, line->at, blank, line->size);
}
