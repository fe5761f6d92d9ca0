/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of lines in the state directory, such as `runs` and `agents`: no sandbox and no broker can
 * write them. A file is locked from its opening until its descriptor is closed.
 */
#ifndef CLI_ASK_STATE_FILE_H
#define CLI_ASK_STATE_FILE_H

#include "lib/heap/buffer.h"

/*
 * Open, make and lock the file, and call `take` for each complete line, which it may change: a
 * writer may have been killed. 0 with the descriptor, the caller's; or -errno and a phrase in
 * `text` (STATE_PLACE_TEXT_MAX), and *ret is -1 or the caller's.
 */
int state_file_open(const char *name, void (*take)(void *context, char *line), void *context,
		    int *ret, char *text);

/* Write all lines in place of those that are there. 0 or -errno. */
int state_file_write(int file, const struct buffer *text);

/* Append a path so that it stays on one line, and undo that in place. */
void state_file_escape(struct buffer *text, const char *path);
void state_file_restore(char *path);

#endif
