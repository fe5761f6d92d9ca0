/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp cp LOCAL SANDBOX:PATH`: each file is one question to msp-file, which writes it beside and
 * gives it its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/progress.h"
#include "commands/copy.h"
#include "common/fd.h"
#include "common/log.h"
#include "lib/heap/memory.h"

/* Directories that are open at once. */
#define FOLDERS_OPEN 32

static int put_at(struct copy *copy, int source, uint32_t mode, const char *path)
{
	copy_question(copy, "put", path);
	copy_number(copy, mode & 0777);
	return copy_ask(copy, path, source, NULL, NULL);
}

static bool is_folder(const struct copy *copy)
{
	return copy->answer.is.problem == FILE_NOT_REGULAR && S_ISDIR(copy->answer.is.mode);
}

/* One file, which may be meant to come into the directory of this name. */
static int put_file(struct copy *copy, int source, uint32_t mode)
{
	char *name = source == STDIN_FILENO ? NULL : copy_last_part(copy->local);
	char *path = name ? copy_join(copy->remote, name) : NULL;
	int code = put_at(copy, source, mode, copy->remote);

	if (!code && is_folder(copy) && path && lseek(source, 0, SEEK_SET) == 0) {
		code = put_at(copy, source, mode, path);
		if (!code && copy->answer.is.problem != FILE_DONE)
			code = copy_explain(copy, path);
	} else if (!code && copy->answer.is.problem != FILE_DONE) {
		code = copy_explain(copy, copy->remote);
	}
	free(name);
	free(path);
	return code;
}

static int open_source(const char *path, int flags, struct stat *ret)
{
	/* A FIFO does not block, and is told of below. */
	int source = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);

	if (source >= 0 && fstat(source, ret) != 0)
		fd_close(&source);
	return source;
}

/* --- directories ---------------------------------------------------------------------------- */

/* nftw(3) hands nothing on. */
static struct {
	struct copy *copy;
	size_t prefix; /* the local paths' */
	const char *to;
	int code;
	uint64_t done, total; /* files and directories; 0: not counted */
} walk;

static int walk_folder(const char *path)
{
	copy_question(walk.copy, "mkdir", path);
	walk.code = copy_ask(walk.copy, path, -1, NULL, NULL);
	if (!walk.code && walk.copy->answer.is.problem != FILE_DONE)
		walk.code = copy_explain(walk.copy, path);
	return walk.code; /* its files could not be copied either */
}

static int walk_file(const char *local, const char *path)
{
	struct stat status;
	int source = open_source(local, O_NOFOLLOW, &status);
	int code;

	if (source < 0 || !S_ISREG(status.st_mode)) {
		copy_leave_out(walk.copy, "", local,
			       source < 0 ? errno_text(errno) : "it is no regular file any more");
		fd_close(&source);
		return 0;
	}
	code = put_at(walk.copy, source, status.st_mode, path);
	fd_close(&source);
	if (code && (ask_is_over(&walk.copy->asking) || code != COPY_FAILED)) {
		walk.code = code;
		return code;
	}
	if (!code && walk.copy->answer.is.problem != FILE_DONE)
		code = copy_explain(walk.copy, path);
	walk.copy->left_out += code != 0;
	return 0;
}

static int on_found(const char *local, const struct stat *status, int kind, struct FTW *place)
{
	const char *below = local + walk.prefix;
	char *path;
	int code = 0;

	(void)place;
	progress_note(COPY_ACT, walk.done++, walk.total);
	while (*below == '/')
		below++;
	path = *below ? copy_join(walk.to, below) : memory_text(walk.to, strlen(walk.to));
	if (kind == FTW_D)
		code = walk_folder(path);
	else if (kind == FTW_DNR || kind == FTW_NS)
		copy_leave_out(walk.copy, "", local, "it cannot be read");
	else if (kind == FTW_SL || kind == FTW_SLN)
		copy_leave_out(walk.copy, "", local, "it is a symbolic link");
	else if (!S_ISREG(status->st_mode))
		copy_leave_out(walk.copy, "", local, "it is no regular file");
	else
		code = walk_file(local, path);
	free(path);
	return code;
}

static int count_found(const char *local, const struct stat *status, int kind, struct FTW *place)
{
	(void)local;
	(void)status;
	(void)kind;
	(void)place;
	walk.total++;
	return 0;
}

/* Into the directory of this name, if there is one; else it is made. */
static char *choose_folder(struct copy *copy, int *ret_code)
{
	char *name = copy_last_part(copy->local);
	char *path;

	copy_question(copy, "list", copy->remote);
	copy_number(copy, 1);
	copy_number(copy, 0);
	copy_number(copy, 0);
	copy_word(copy, "");
	*ret_code = copy_ask(copy, copy->remote, -1, NULL, NULL);
	path = copy->answer.is.problem == FILE_DONE && name
		       ? copy_join(copy->remote, name)
		       : memory_text(copy->remote, strlen(copy->remote));
	free(name);
	return path;
}

static int put_folder(struct copy *copy)
{
	int code;
	char *to = choose_folder(copy, &code);

	walk.copy = copy;
	walk.prefix = strlen(copy->local);
	walk.to = to;
	if (!code && progress_wait_ms() >= 0) /* a line will need the number */
		(void)nftw(copy->local, count_found, FOLDERS_OPEN, FTW_PHYS);
	if (!code && nftw(copy->local, on_found, FOLDERS_OPEN, FTW_PHYS) != 0 && !walk.code)
		walk.code = log_fail(COPY_FAILED, "%s: %s", copy->local, errno_text(errno));
	free(to);
	return code ? code : walk.code;
}

int copy_in(struct copy *copy)
{
	struct stat status;
	int source;
	int code;

	if (strcmp(copy->local, "-") == 0)
		return put_file(copy, STDIN_FILENO, 0644);
	source = open_source(copy->local, 0, &status);
	if (source < 0)
		return log_fail(COPY_FAILED, "%s: %s", copy->local, errno_text(errno));
	if (S_ISDIR(status.st_mode) && copy->is_recursive) {
		fd_close(&source);
		return put_folder(copy);
	}
	if (S_ISREG(status.st_mode))
		code = put_file(copy, source, status.st_mode);
	else
		code = log_fail(COPY_FAILED,
				S_ISDIR(status.st_mode) ? "%s is a directory: copy it with -r"
							: "%s is no regular file",
				copy->local);
	fd_close(&source);
	return code;
}
