/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of msp-file (common/records/file_record.h), and how it reads numbers and its input.
 */
#ifndef FILE_ANSWER_H
#define FILE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/records/file_record.h"

/* Set an undo for an answer of a problem, and the path that stands behind the answer; either may be
 * NULL. If the undo returns false, the problem is FILE_TORN. */
void answer_guard(const char *path, bool (*undo)(void));

/* Write the head with a text and exit: with 0, or 1 if the reader is gone. */
void answer_end(struct file_head head, const char *text) __attribute__((noreturn));

/* Write a problem and exit. With FILE_ERROR the answer has errno. */
void answer_problem(enum file_problem problem) __attribute__((noreturn));

/* Write FILE_ERROR with this errno, or FILE_NOT_REGULAR with the type of a file, and exit. */
void answer_error(int error) __attribute__((noreturn));
void answer_irregular(mode_t mode) __attribute__((noreturn));

/* Write the head; the caller writes more behind it. */
void answer_begin(struct file_head head);

/* Write to the standard output, or exit if the reader is gone. */
void answer_bytes(const void *bytes, size_t size);

/* Write a range of a file behind the head; fewer bytes if it has fewer. An error ends this process:
 * the answer is incomplete, and its reader sees that. */
void answer_range(int file, uint64_t offset, uint64_t length);

/* Read at an offset in the same way: the number of bytes; 0: the end. */
size_t answer_read(int file, char *room, size_t size, uint64_t offset);

/* Append an item of zeros as grow_item() does; without memory answer so and exit. */
void *answer_item(void *list, size_t *room, size_t *count, size_t size);

/* Read the next bytes of the file's new content. Their number; 0: the end; -1: it was cut off. */
long answer_input(void *room, size_t size);

/* Parse a number of digits without a sign. On any other text, answer FILE_MISUSED and exit. */
uint64_t answer_number(const char *text);

/* Run a command. The table in main.c has the arguments. */
void command_read(char **arguments);
void command_show(char **arguments);
void command_write(char **arguments);
void command_put(char **arguments);
void command_edit(char **arguments);
void command_mkdir(char **arguments);
void command_list(char **arguments);
void command_patch(char **arguments);

/* Answer that a path leads to nothing, and end. `error` says why directories above it could not be
 * made; 0: none were to be. */
void answer_missing(const char *path, int error) __attribute__((noreturn));

/*
 * Open a regular file for reading; for any other file answer its type and exit. It never blocks.
 * It checks the type before open(), because opening a device can have effects.
 */
int answer_open(const char *path, struct stat *ret);

#endif
