/* SPDX-License-Identifier: Apache-2.0
 *
 * write PATH create|overwrite|append, put PATH MODE, edit PATH OLD_SIZE: the file is the old one or
 * the new one, never in between (target.h).
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

/* Give the new file its mode and its name, answer, and exit. */
static void finish_file(uint64_t count, bool is_new) __attribute__((noreturn));
static void finish_file(uint64_t count, bool is_new)
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
	finish_file(copy_input(), is_new);
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
	finish_file(copy_input(), false);
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
	char *given = target_read_all(-1, &given_size);
	char *text;
	int file;

	if (old_size == 0 || old_size > given_size)
		answer_problem(FILE_MISUSED);
	file = answer_open(arguments[0], &target.old);
	text = target_read_all(file, &size);
	fd_close(&file);
	head.count = find_all(text, size, given, old_size, &at);
	if (head.count != 1) {
		head.problem = head.count == 0 ? FILE_NO_MATCH : FILE_AMBIGUOUS;
		answer_end(head, "");
	}
	find_target(arguments[0]);
	target_open(&target);
	target_write(&target, text, (size_t)(at - text));
	target_write(&target, given + old_size, given_size - old_size);
	target_write(&target, at + old_size, size - (size_t)(at - text) - old_size);
	finish_file(given_size - old_size, false);
}
