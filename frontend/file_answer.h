/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of msp-file (common/records/file_record.h), from a frontend's side. An answer comes
 * through a sandbox, whose workload may have shaped every byte of it: the values returned here are
 * within their bounds, and name nothing outside of the directory that was listed.
 */
#ifndef FRONTEND_FILE_ANSWER_H
#define FRONTEND_FILE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/records/file_record.h"

struct ipc_file_start;

/* --- asking ----------------------------------------------------------------------------------- */

/* The next argument. False: there is no room for it. */
bool file_ask_word(struct ipc_file_start *ask, const char *word, size_t size);
bool file_ask_number(struct ipc_file_start *ask, uint64_t number);

/* --- the answer ------------------------------------------------------------------------------- */

/* The head, and what it says. Texts point into the bytes that were read, and are not terminated. */
struct file_answer {
	struct file_head is;
	const char *text; /* `is.text_size` bytes */
};

/* An entry of a list. The path has neither an empty part nor "." or ".." in it. */
struct file_found {
	struct file_entry is;
	const char *path;
	const char *link; /* `is.link_size` bytes */
};

/* A line of a file; `is.shown` bytes. */
struct file_shown {
	struct file_line is;
	const char *bytes;
};

/* Read the head (an entry, a line) from `size` bytes. Return how many it takes; 0: it is not
 * complete; -EBADMSG: this is none. */
long file_answer_read(const uint8_t *bytes, size_t size, struct file_answer *ret);
long file_found_read(const uint8_t *bytes, size_t size, struct file_found *ret);
long file_shown_read(const uint8_t *bytes, size_t size, struct file_shown *ret);

/* The most that either takes. */
#define FILE_RECORD_MAX (sizeof(struct file_entry) + 2 * (size_t)IPC_PATH_MAX)

#define FILE_PROBLEM_TEXT_MAX 512

/* Write a problem and its remedy, to be read behind the path, in ASCII without control
 * characters; no period at its end. */
void file_problem_text(const struct file_answer *answer, char ret[FILE_PROBLEM_TEXT_MAX]);

/* "directory", "symbolic link", ... */
const char *file_kind_name(uint32_t mode);

/* Return whether a shell would have put the home directory into the path, and why it is refused: a
 * directory "~" is not meant. */
bool file_path_is_of_home(const char *path);

#define FILE_PATH_OF_HOME                                                                          \
	"begins with ~, which has a meaning in a shell only. The home directory is "               \
	"/home/agent; a file of that name is ./~."

#endif
