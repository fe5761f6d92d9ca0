/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text for kernel files and mount options, for the processes without stdio and heap.
 */
#ifndef COMMON_TEXT_TEXT_H
#define COMMON_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Longest number: 20 digits and the NUL. */
#define TEXT_NUMBER_MAX 21

struct text {
	char bytes[1024]; /* as the layers of an overlay need: common/confine/mount.c */
	size_t used;
};

/* Append; what does not fit is a bug and ends the process. */
void text_add(struct text *text, const char *string);
void text_add_number(struct text *text, uint64_t number);

/* The number behind `key` in the kernel's file `path` beneath `dir`, or behind its start for key
 * ""; spaces in between are skipped. 0 when there is none. */
uint64_t text_read_number(int dir, const char *path, const char *key);

/* Read at most room-1 bytes of a file beneath `directory` (AT_FDCWD for none) and terminate them;
 * a trailing newline is taken off. How many, or -errno. */
int text_read_file(int directory, const char *path, char *text, size_t room);

/* Write `value` to the file `path` beneath `dir`, which is there; 0 or -errno. */
int text_write_file(int dir, const char *path, const char *value);

#endif
