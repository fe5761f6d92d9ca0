/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "lib/heap/grow.h"

void answer_bytes(const void *bytes, size_t size)
{
	if (fd_write_all(STDOUT_FILENO, bytes, size) != 0)
		_exit(1); /* the reader is gone */
}

void answer_begin(struct file_head head)
{
	head.magic = FILE_MAGIC;
	answer_bytes(&head, sizeof(head));
}

static struct {
	const char *path;
	bool (*undo)(void);
} guard;

void answer_guard(const char *path, bool (*undo)(void))
{
	guard.path = path;
	guard.undo = undo;
}

void answer_end(struct file_head head, const char *text)
{
	if (head.problem != FILE_DONE && guard.undo && !guard.undo())
		head.problem = FILE_TORN;
	head.text_size = (uint32_t)strlen(text);
	answer_begin(head);
	answer_bytes(text, head.text_size);
	if (head.problem != FILE_DONE && guard.path)
		answer_bytes(guard.path, strlen(guard.path));
	_exit(0);
}

void answer_problem(enum file_problem problem)
{
	const struct file_head head = { .problem = problem,
					.error = problem == FILE_ERROR ? (uint32_t)errno : 0 };

	answer_end(head, "");
}

void answer_error(int error)
{
	errno = error;
	answer_problem(FILE_ERROR);
}

void answer_irregular(mode_t mode)
{
	answer_end((struct file_head){ .problem = FILE_NOT_REGULAR, .mode = mode }, "");
}

size_t answer_read(int file, char *room, size_t size, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(file, room, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		_exit(1);
	return (size_t)got;
}

void answer_range(int file, uint64_t offset, uint64_t length)
{
	static char block[65536];
	size_t got;

	for (; length > 0; length -= got, offset += got) {
		got = answer_read(file, block, length < sizeof(block) ? length : sizeof(block),
				  offset);
		if (got == 0)
			return;
		answer_bytes(block, got);
	}
}

void *answer_item(void *list, size_t *room, size_t *count, size_t size)
{
	void *item = grow_item(list, room, count, size);

	if (!item)
		answer_error(ENOMEM);
	return item;
}

/* Read from the standard input, without interruptions. */
static ssize_t read_input(void *room, size_t size)
{
	ssize_t got;

	do
		got = read(STDIN_FILENO, room, size);
	while (got < 0 && errno == EINTR);
	return got;
}

static bool next_piece(uint32_t *ret)
{
	uint8_t *bytes = (uint8_t *)ret;
	size_t done = 0;

	while (done < sizeof(*ret)) {
		const ssize_t got = read_input(bytes + done, sizeof(*ret) - done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return *ret <= FILE_PIECE_MAX;
}

long answer_input(void *room, size_t size)
{
	static uint32_t left; /* bytes of the piece */
	static bool is_over;
	ssize_t got;

	if (left == 0 && !is_over) {
		if (!next_piece(&left))
			return -1;
		is_over = left == 0;
	}
	if (is_over)
		return 0;
	got = read_input(room, size < left ? size : left);
	if (got <= 0)
		return -1;
	left -= (uint32_t)got;
	return (long)got;
}

uint64_t answer_number(const char *text)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || *text < '0' || *text > '9' || *end != '\0')
		answer_problem(FILE_MISUSED);
	return number;
}

/* Find the last directory above a path that exists. False: it is the path's own, or none does. */
static bool find_above(const char *path, char ret[PATH_MAX])
{
	char above[PATH_MAX];

	if (strlen(path) >= sizeof(above))
		return false;
	memcpy(above, path, strlen(path) + 1);
	for (bool is_own = true;; is_own = false) {
		char *slash = strrchr(above, '/');
		const bool is_last = !slash || slash == above;

		if (slash)
			slash[is_last] = '\0';
		if (realpath(slash ? above : ".", ret))
			return !is_own;
		if (is_last)
			return false;
	}
}

void answer_missing(const char *path, int error)
{
	char above[PATH_MAX];

	if (find_above(path, above))
		answer_end(
			(struct file_head){ .problem = FILE_NO_FOLDER, .error = (uint32_t)error },
			above);
	answer_error(error ? EPERM : ENOENT); /* in its own directory no file can be made */
}

/* Answer why a path leads to nothing, and end. */
static void explain_missing(const char *path) __attribute__((noreturn));
static void explain_missing(const char *path)
{
	struct file_head head = { .problem = FILE_DANGLING };
	char target[4096];
	ssize_t size;

	if (errno != ENOENT)
		answer_problem(FILE_ERROR);
	size = readlink(path, target, sizeof(target) - 1);
	if (size < 0)
		answer_missing(path, 0);
	target[size] = '\0';
	answer_end(head, target);
}

int answer_open(const char *path, struct stat *ret)
{
	int file;

	if (stat(path, ret) != 0)
		explain_missing(path);
	if (!S_ISREG(ret->st_mode))
		answer_irregular(ret->st_mode);
	/* The file may have been replaced since stat(): O_NONBLOCK keeps a FIFO from blocking. */
	file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file < 0 || fstat(file, ret) != 0)
		answer_problem(FILE_ERROR);
	if (!S_ISREG(ret->st_mode))
		answer_irregular(ret->st_mode);
	return file;
}
