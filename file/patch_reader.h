/* SPDX-License-Identifier: Apache-2.0
 *
 * A patch while it is read: its lines, and what they have said so far. Functions that return bool
 * and are named take or add set a fault before they return false, if no other reason stands there.
 */
#ifndef FILE_PATCH_READER_H
#define FILE_PATCH_READER_H

#include "patch.h"

struct source_line {
	const char *text;
	size_t size;
};

struct reader {
	struct source_line *lines;
	size_t count, room;
	size_t at;
	struct patch *patch;
	struct patch_fault *fault;
	bool is_wrapped; /* "*** Begin Patch" came */
	bool is_over;
};

/* Set the fault of the next line; returns false. */
bool reader_set_fault(struct reader *reader, const char *text);

/* Split the patch, whose lines may end with CR LF. */
void reader_split(struct reader *reader, const char *text, size_t size);

/* Return the line at an index; beyond the last, an empty one. */
struct source_line reader_line(const struct reader *reader, size_t at);

/* Return whether the line at an index begins with a word. */
bool reader_begins(const struct reader *reader, size_t at, const char *word);

/* Return the rest of the next line behind `word`, without spaces around it. */
struct source_line reader_rest(const struct reader *reader, const char *word);

/* Return whether a file of a unified diff begins at an index. */
bool reader_is_file_header(const struct reader *reader, size_t at);

/* Return whether a line has only spaces and tabs. */
bool source_is_blank(struct source_line line);

/* Copy a path, without git's quotation marks; the caller frees it. NULL: it is none. */
char *source_copy_path(struct source_line name);

/* Add a file, which owns the path; NULL is a fault. */
bool reader_add_file(struct reader *reader, enum patch_kind kind, char *path);

/* Return the file that was added last. */
struct patch_file *reader_last_file(const struct reader *reader);

/* Add a hunk to the last file. */
struct patch_hunk *reader_add_hunk(struct reader *reader);

/* Take one line of a hunk's body; false, without a fault: it is none. */
bool reader_take_body_line(struct reader *reader, struct patch_hunk *hunk);

/* Take the hunks of the last file. Blank lines between them have no meaning. */
bool reader_take_hunks(struct reader *reader);

/* Take a file that begins with "--- ", or with "diff --git ". */
bool reader_take_unified(struct reader *reader);
bool reader_take_git(struct reader *reader);

#endif
