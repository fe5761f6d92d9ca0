/* SPDX-License-Identifier: Apache-2.0
 *
 * What msp-file answers (common/file_record.h), and how numbers come to it.
 */
#ifndef FILE_ANSWER_H
#define FILE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/file_record.h"

/* Say the head with a text and end: the exit code is 0 if somebody could be told. */
void answer_end(struct file_head head, const char *text) __attribute__((noreturn));

/* The same for a problem; errno is told with FILE_ERROR. */
void answer_problem(enum file_problem problem) __attribute__((noreturn));

/* Say the head, behind which something follows. */
void answer_begin(struct file_head head);

/* Write to the standard output, or end. */
void answer_bytes(const void *bytes, size_t size);

/* The next bytes of what is to be written: how many; 0: that was all; -1: it was cut off. */
long answer_input(void *room, size_t size);

/* A number without a sign, as digits only; ends with FILE_MISUSED. */
uint64_t answer_number(const char *text);

/* The commands: main.c's table has their arguments. */
void command_read(char **arguments);
void command_write(char **arguments);
void command_put(char **arguments);
void command_edit(char **arguments);
void command_mkdir(char **arguments);
void command_list(char **arguments);

/*
 * Open a regular file for reading, or end with what it is instead. Never blocks, and opens nothing
 * that opening would change: what it is is looked at first.
 */
int answer_open(const char *path, struct stat *ret);

#endif
