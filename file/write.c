/* SPDX-License-Identifier: Apache-2.0
 *
 * write PATH create|overwrite|append, put PATH MODE: the file is the old one or the new one, never
 * in between (target.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "common/fd.h"
#include "target.h"

static struct target target;

static bool undo_write(void)
{
	target_drop(&target);
	target_remove_directories();
	return true;
}

static void find_target(const char *path)
{
	answer_guard(NULL, undo_write);
	target_find(&target, path);
}

static void copy_old(int from)
{
	static char bytes[65536];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) != 0) {
		if (got < 0 && errno != EINTR)
			answer_problem(FILE_ERROR);
		if (got > 0)
			target_write(&target, bytes, (size_t)got);
	}
}

static uint64_t copy_input(void)
{
	static char bytes[65536];
	uint64_t copied = 0;
	long got;

	while ((got = answer_input(bytes, sizeof(bytes))) > 0) {
		target_write(&target, bytes, (size_t)got);
		copied += (uint64_t)got;
	}
	if (got < 0)
		answer_problem(FILE_CUT_OFF);
	return copied;
}

void write_finish(uint64_t count, bool is_new)
{
	struct file_head head = { .problem = FILE_DONE, .count = count };
	struct stat status;

	target_set_mode(&target);
	if (fstat(target.file, &status) != 0)
		answer_problem(FILE_ERROR);
	if (!(is_new ? target_create(&target) : target_replace(&target)))
		answer_problem(is_new && errno == EEXIST ? FILE_EXISTS : FILE_ERROR);
	head.mode = status.st_mode;
	head.size = (uint64_t)status.st_size;
	answer_end(head, "");
}

struct target *write_begin(const char *path)
{
	find_target(path);
	target_open(&target);
	return &target;
}

void command_write(char **arguments)
{
	const bool is_new = strcmp(arguments[1], "create") == 0;
	const bool is_append = strcmp(arguments[1], "append") == 0;

	if (!is_new && !is_append && strcmp(arguments[1], "overwrite") != 0)
		answer_problem(FILE_MISUSED);
	find_target(arguments[0]);
	if (is_new && target.was_there)
		answer_problem(FILE_EXISTS);
	target_open(&target);
	if (is_append && target.was_there) {
		int old = answer_open(target.path, &target.old);

		copy_old(old);
		fd_close(&old);
	}
	write_finish(copy_input(), is_new);
}

void command_put(char **arguments)
{
	const uint64_t mode = answer_number(arguments[1]);

	find_target(arguments[0]);
	target_open(&target);
	if (!target.was_there) {
		target.old.st_mode = (mode_t)(mode & 0777);
		target.has_mode = true;
	}
	write_finish(copy_input(), false);
}

void command_mkdir(char **arguments)
{
	struct stat status;

	if (strlen(arguments[0]) >= sizeof(target.path))
		answer_error(ENAMETOOLONG);
	(void)snprintf(target.path, sizeof(target.path), "%s", arguments[0]);
	target_make_parents(target.path);
	if (mkdir(target.path, 0777) != 0 && errno != EEXIST)
		target_answer_missing(target.path);
	if (stat(target.path, &status) != 0)
		answer_problem(FILE_ERROR);
	if (!S_ISDIR(status.st_mode))
		answer_error(ENOTDIR);
	answer_end((struct file_head){ .problem = FILE_DONE, .mode = status.st_mode }, "");
}
