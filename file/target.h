/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is written or removed. Its new content has no name until it is complete, if the file
 * system has O_TMPFILE, so that nothing is left if this process is killed. Then it gets a temporary
 * name beside the target, and is renamed to the target. Functions that return nothing answer a
 * problem and end the program.
 */
#ifndef FILE_TARGET_H
#define FILE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct target {
	char path[PATH_MAX];   /* the final path, with symbolic links resolved */
	char beside[PATH_MAX]; /* the temporary file's path */
	bool is_named;         /* a file has the name `beside` */
	struct stat old;
	bool was_there;
	bool has_mode; /* `old` has the mode of the new file */
	int file;      /* the new content; -1: none */
};

/* Answer why a file or directory to be written is not there, as errno says, and end. */
void target_answer_missing(const char *path) __attribute__((noreturn));

/* Find a regular file, or make the directories of a new one. */
void target_find(struct target *target, const char *path);

/* Find a regular file or a link that is to be removed. */
void target_find_link(struct target *target, const char *path);

/* Make the directories above a path, where that is allowed; remove those that this program made, if
 * they are empty. */
void target_make_parents(char *path);
void target_remove_directories(void);

/* Open the new content; write to it; give it the mode of `old`. */
void target_open(struct target *target);
void target_write(struct target *target, const char *bytes, size_t size);
void target_set_mode(struct target *target);

/* Give the new content its temporary name; the target's name, which must be free, or is replaced.
 * False: errno says why not. */
bool target_name(struct target *target);
bool target_create(struct target *target);
bool target_replace(struct target *target);

/* Exchange the target and the file with the temporary name. */
bool target_exchange(struct target *target);

/* Give the target the temporary name, or its own again. */
bool target_put_aside(struct target *target);
bool target_put_back(struct target *target);

/* Remove the file with the temporary name. */
void target_drop(struct target *target);

/* Begin the new file of the one that a path leads to, for a command that changes one file alone.
 * The target is write.c's. */
struct target *write_begin(const char *path);

/* Give that file, or a new one, its mode and its name, answer with this count, and exit. */
void write_finish(uint64_t count, bool is_new) __attribute__((noreturn));

/* Read a whole file, or the whole input if `from` is -1, into memory of the caller. */
char *target_read_all(int from, size_t *ret_size);

#endif
