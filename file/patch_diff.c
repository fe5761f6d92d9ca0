/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a unified diff, with or without git's headers.
 */
#include <stdlib.h>
#include <string.h>

#include "patch_reader.h"

/* Git's header of the next file. */
struct git_header {
	struct source_line names; /* behind "diff --git " */
	struct source_line from, to;
	int is_program;
	bool is_new, is_deleted;
};

/* Return the name behind "--- " or "+++ ", up to the tab before a time. */
static struct source_line diff_name(const struct reader *reader, size_t at)
{
	struct source_line name = reader_line(reader, at);
	const char *tab;

	name.text += 4;
	name.size -= 4;
	tab = memchr(name.text, '\t', name.size);
	if (tab)
		name.size = (size_t)(tab - name.text);
	return name;
}

static bool is_null(struct source_line name)
{
	return name.size == 9 && memcmp(name.text, "/dev/null", 9) == 0;
}

/* Copy a name without git's "a/" or "b/"; the other name decides whether it is git's. */
static char *copy_diff_path(struct source_line name, struct source_line other, const char *prefix,
			    const char *other_prefix)
{
	char *path = source_copy_path(name);
	char *other_path = source_copy_path(other);
	const bool is_git = path && other_path && strncmp(path, prefix, 2) == 0 && path[2] &&
			    (is_null(other) || strncmp(other_path, other_prefix, 2) == 0);

	free(other_path);
	if (is_git)
		memmove(path, path + 2, strlen(path + 2) + 1);
	return path;
}

static bool set_names(struct reader *reader, const struct git_header *git, struct source_line old,
		      struct source_line new)
{
	const enum patch_kind kind = is_null(old)   ? PATCH_ADD
				     : is_null(new) ? PATCH_DELETE
						    : PATCH_UPDATE;
	char *from = copy_diff_path(old, new, "a/", "b/");
	char *to = copy_diff_path(new, old, "b/", "a/");
	const bool is_move = kind == PATCH_UPDATE && from && to && strcmp(from, to) != 0;

	if (!reader_add_file(reader, kind, kind == PATCH_ADD ? to : from)) {
		free(kind == PATCH_ADD ? from : to);
		return false;
	}
	reader_last_file(reader)->is_program = git->is_program;
	if (is_move && git->from.size > 0) {
		reader_last_file(reader)->move = to;
		return true;
	}
	free(kind == PATCH_ADD ? from : to);
	return !is_move ||
	       reader_set_fault(reader, "the diff names two files: give both lines the name of "
					"the file, or git's rename lines");
}

static bool take_named(struct reader *reader, const struct git_header *git)
{
	if (!set_names(reader, git, diff_name(reader, reader->at),
		       diff_name(reader, reader->at + 1)))
		return false;
	reader->at += 2;
	if (!reader_begins(reader, reader->at, "@@"))
		return reader_set_fault(reader, "a hunk, @@, must follow the names");
	return reader_take_hunks(reader);
}

/* Take a line of git's header; false: the header is over. */
static bool take_git_line(struct reader *reader, struct git_header *git)
{
	static const char *const others[] = { "index ", "similarity index ", "dissimilarity index ",
					      "old mode " };
	static const char *const modes[] = { "new file mode ", "new mode " };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct source_line mode;

		if (!reader_begins(reader, reader->at, modes[i]))
			continue;
		mode = reader_rest(reader, modes[i]);
		git->is_new |= i == 0;
		if (mode.size != 6 || memcmp(mode.text, "100", 3) != 0)
			return reader_set_fault(
				reader, "only regular files can be patched: make links with "
					"run_command");
		git->is_program = mode.text[3] == '7';
		return true;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (reader_begins(reader, reader->at, others[i]))
			return true;
	}
	if (reader_begins(reader, reader->at, "deleted file mode "))
		git->is_deleted = true;
	else if (reader_begins(reader, reader->at, "rename from "))
		git->from = reader_rest(reader, "rename from ");
	else if (reader_begins(reader, reader->at, "rename to "))
		git->to = reader_rest(reader, "rename to ");
	else
		return false;
	return true;
}

/* Copy the name that "diff --git" has twice. NULL: the names differ, or are none. */
static char *copy_git_path(struct source_line names)
{
	const size_t half = names.size / 2;
	const struct source_line old = { names.text, half };
	const struct source_line new = { names.text + half + 1, half };
	char *from = NULL;
	char *to = NULL;

	if (names.size % 2 == 1 && names.text[half] == ' ') {
		from = copy_diff_path(old, new, "a/", "b/");
		to = copy_diff_path(new, old, "b/", "a/");
	}
	if (from && (!to || strcmp(from, to) != 0)) {
		free(from);
		from = NULL;
	}
	free(to);
	return from;
}

/* Add a file of which git's header says everything. */
static bool add_git_file(struct reader *reader, const struct git_header *git)
{
	const enum patch_kind kind = git->is_new       ? PATCH_ADD
				     : git->is_deleted ? PATCH_DELETE
						       : PATCH_UPDATE;
	char *path = git->from.size > 0 ? source_copy_path(git->from) : copy_git_path(git->names);

	if (!reader_add_file(reader, kind, path))
		return false;
	reader_last_file(reader)->is_program = git->is_program;
	if (git->to.size > 0)
		reader_last_file(reader)->move = source_copy_path(git->to);
	return (git->is_program >= 0 || git->is_deleted || reader_last_file(reader)->move) ||
	       reader_set_fault(reader, "this part of the diff changes nothing");
}

bool reader_take_git(struct reader *reader)
{
	struct git_header git = { .names = reader_rest(reader, "diff --git "), .is_program = -1 };

	reader->at++;
	while (take_git_line(reader, &git))
		reader->at++;
	if (reader->fault->text)
		return false;
	if (reader_begins(reader, reader->at, "Binary files ") ||
	    reader_begins(reader, reader->at, "GIT binary patch"))
		return reader_set_fault(reader, "a binary file cannot be patched: write it with "
						"write_sandbox_file, encoding base64");
	return reader_is_file_header(reader, reader->at) ? take_named(reader, &git)
							 : add_git_file(reader, &git);
}

bool reader_take_unified(struct reader *reader)
{
	static const struct git_header none = { .is_program = -1 };

	return take_named(reader, &none);
}
