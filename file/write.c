/* SPDX-License-Identifier: Apache-2.0
 *
 * write PATH create|overwrite|append, put PATH MODE, edit PATH OLD_SIZE: the file is the old one or
 * the new one, never in between. While it is written, the new file has no name if the file system
 * has O_TMPFILE, so that nothing is left if this process is killed. Then it gets a temporary name
 * beside the target, and is renamed to the target.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "common/fd.h"

#define NOREPLACE 1U /* RENAME_NOREPLACE of linux/fs.h, since Linux 3.15 */

/* The mode of a file that did not exist, before the umask. */
#define NEW_MODE 0666

/* The file to write, and the temporary file beside it. */
static struct {
	char path[PATH_MAX];   /* the final path, with symbolic links resolved */
	char beside[PATH_MAX]; /* the temporary file's path; empty: there is none */
	bool is_unnamed;       /* no file has the name `beside` yet: it is an O_TMPFILE */
	struct stat old;
	bool was_there;
	bool has_mode; /* `old` has the mode of the new file */
} target;

static void give_up(enum file_problem problem) __attribute__((noreturn));
static void give_up(enum file_problem problem)
{
	const int error = errno;

	if (target.beside[0] && !target.is_unnamed)
		(void)unlink(target.beside); /* the name is random, so the file is ours */
	errno = error;
	answer_problem(problem);
}

/* Make the directories that the path needs. */
static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			answer_problem(FILE_ERROR);
		*slash = '/'; /* if a directory is still missing, open() of the file reports it */
	}
}

static void find_target(const char *path)
{
	if (strlen(path) >= sizeof(target.path)) {
		errno = ENAMETOOLONG;
		answer_problem(FILE_ERROR);
	}
	if (realpath(path, target.path)) {
		if (stat(target.path, &target.old) != 0)
			answer_problem(FILE_ERROR);
		target.was_there = target.has_mode = true;
		if (!S_ISREG(target.old.st_mode))
			answer_end((struct file_head){ .problem = FILE_NOT_REGULAR,
						       .mode = target.old.st_mode },
				   "");
		return;
	}
	if (errno != ENOENT)
		answer_problem(FILE_ERROR);
	(void)snprintf(target.path, sizeof(target.path), "%s", path);
	if (lstat(path, &target.old) == 0)
		(void)answer_open(path, &target.old); /* a dangling link: answers so and exits */
	make_parents(target.path);
}

/* Open an unnamed file in the first `folder` bytes of the path. Some file systems cannot. */
static int open_unnamed(int folder)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.*s", folder > 0 ? folder : 1,
		       folder > 0 ? target.path : ".");
	return open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, NEW_MODE);
}

static int open_beside(void)
{
	const char *slash = strrchr(target.path, '/');
	const int folder = slash ? (int)(slash - target.path) + 1 : 0;
	unsigned long long number;
	int file;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		answer_problem(FILE_ERROR);
	if (snprintf(target.beside, sizeof(target.beside), "%.*s.msp-%016llx", folder, target.path,
		     number) >= (int)sizeof(target.beside)) {
		target.beside[0] = '\0';
		errno = ENAMETOOLONG;
		answer_problem(FILE_ERROR);
	}
	file = open_unnamed(folder);
	target.is_unnamed = file >= 0;
	if (file < 0)
		file = open(target.beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    NEW_MODE);
	if (file < 0) {
		target.beside[0] = '\0';
		answer_problem(FILE_ERROR);
	}
	return file;
}

static void write_beside(int to, const char *bytes, size_t size)
{
	errno = -fd_write_all(to, bytes, size);
	if (errno != 0)
		give_up(FILE_ERROR);
}

static void copy_old(int from, int to)
{
	static char bytes[65536];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) != 0) {
		if (got < 0 && errno != EINTR)
			give_up(FILE_ERROR);
		if (got > 0)
			write_beside(to, bytes, (size_t)got);
	}
}

static uint64_t copy_input(int to)
{
	static char bytes[65536];
	uint64_t copied = 0;
	long got;

	while ((got = answer_input(bytes, sizeof(bytes))) > 0) {
		write_beside(to, bytes, (size_t)got);
		copied += (uint64_t)got;
	}
	if (got < 0)
		give_up(FILE_CUT_OFF);
	return copied;
}

static bool take_name(int file, bool is_new)
{
	char path[32];

	if (target.is_unnamed) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		if (linkat(AT_FDCWD, path, AT_FDCWD, is_new ? target.path : target.beside,
			   AT_SYMLINK_FOLLOW) != 0)
			return false;
		if (is_new)
			return true;
		target.is_unnamed = false;
	}
	return syscall(SYS_renameat2, AT_FDCWD, target.beside, AT_FDCWD, target.path,
		       is_new ? NOREPLACE : 0) == 0;
}

/* Give the new file its mode and its name, answer, and exit. */
static void finish_file(int file, uint64_t count, bool is_new) __attribute__((noreturn));
static void finish_file(int file, uint64_t count, bool is_new)
{
	struct file_head head = { .problem = FILE_DONE, .count = count };
	struct stat status;

	if ((target.has_mode && fchmod(file, target.old.st_mode & 0777) != 0) ||
	    fstat(file, &status) != 0)
		give_up(FILE_ERROR);
	if (!take_name(file, is_new))
		give_up(is_new && errno == EEXIST ? FILE_EXISTS : FILE_ERROR);
	head.mode = status.st_mode;
	head.size = (uint64_t)status.st_size;
	answer_end(head, "");
}

void command_write(char **arguments)
{
	const bool is_new = strcmp(arguments[1], "create") == 0;
	const bool is_append = strcmp(arguments[1], "append") == 0;
	int file;

	if (!is_new && !is_append && strcmp(arguments[1], "overwrite") != 0)
		answer_problem(FILE_MISUSED);
	find_target(arguments[0]);
	if (is_new && target.was_there)
		answer_problem(FILE_EXISTS);
	file = open_beside();
	if (is_append && target.was_there) {
		int old = answer_open(target.path, &target.old);

		copy_old(old, file);
		fd_close(&old);
	}
	finish_file(file, copy_input(file), is_new);
}

void command_put(char **arguments)
{
	const uint64_t mode = answer_number(arguments[1]);
	int file;

	find_target(arguments[0]);
	file = open_beside();
	if (!target.was_there) {
		target.old.st_mode = (mode_t)(mode & 0777);
		target.has_mode = true;
	}
	finish_file(file, copy_input(file), false);
}

void command_mkdir(char **arguments)
{
	struct stat status;

	if (strlen(arguments[0]) >= sizeof(target.path)) {
		errno = ENAMETOOLONG;
		answer_problem(FILE_ERROR);
	}
	(void)snprintf(target.path, sizeof(target.path), "%s", arguments[0]);
	make_parents(target.path);
	if (mkdir(target.path, 0777) != 0 && errno != EEXIST)
		answer_problem(FILE_ERROR);
	if (stat(target.path, &status) != 0)
		answer_problem(FILE_ERROR);
	if (!S_ISDIR(status.st_mode)) {
		errno = ENOTDIR;
		answer_problem(FILE_ERROR);
	}
	answer_end((struct file_head){ .problem = FILE_DONE, .mode = status.st_mode }, "");
}

/* Read a whole file, or the whole input if `from` is -1, with a NUL behind it. */
static char *read_all(int from, size_t *ret_size)
{
	size_t size = 0;
	char *bytes = malloc(FILE_EDIT_MAX + 2);

	if (!bytes)
		answer_problem(FILE_ERROR);
	while (size <= FILE_EDIT_MAX) {
		const size_t room = FILE_EDIT_MAX + 1 - size;
		const long got = from < 0 ? answer_input(bytes + size, room)
					  : (long)read(from, bytes + size, room);

		if (got < 0 && from >= 0 && errno == EINTR)
			continue;
		if (got < 0)
			answer_problem(from < 0 ? FILE_CUT_OFF : FILE_ERROR);
		if (got == 0)
			break;
		size += (size_t)got;
	}
	if (size > FILE_EDIT_MAX)
		answer_end((struct file_head){ .problem = FILE_TOO_LARGE, .size = size }, "");
	*ret_size = size;
	return bytes;
}

/* Count the occurrences of `old`, which may overlap, and find the first. */
static uint64_t find_all(const char *text, size_t size, const char *old, size_t old_size,
			 const char **ret_first)
{
	uint64_t count = 0;
	const char *at = text;

	while ((at = memmem(at, size - (size_t)(at - text), old, old_size))) {
		if (count++ == 0)
			*ret_first = at;
		at++;
	}
	return count;
}

void command_edit(char **arguments)
{
	const uint64_t old_size = answer_number(arguments[1]);
	struct file_head head = { .problem = FILE_NO_MATCH };
	const char *at = NULL;
	size_t given_size;
	size_t size;
	char *given = read_all(-1, &given_size);
	char *text;
	int file;

	if (old_size == 0 || old_size > given_size)
		answer_problem(FILE_MISUSED);
	file = answer_open(arguments[0], &target.old);
	text = read_all(file, &size);
	fd_close(&file);
	head.count = find_all(text, size, given, old_size, &at);
	if (head.count != 1) {
		head.problem = head.count == 0 ? FILE_NO_MATCH : FILE_AMBIGUOUS;
		answer_end(head, "");
	}
	find_target(arguments[0]);
	file = open_beside();
	write_beside(file, text, (size_t)(at - text));
	write_beside(file, given + old_size, given_size - old_size);
	write_beside(file, at + old_size, size - (size_t)(at - text) - old_size);
	finish_file(file, given_size - old_size, false);
}
