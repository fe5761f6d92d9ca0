/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of tokens. It keeps its inode for ever: a running broker holds a descriptor of it and
 * can open nothing, so what it shall see must be written into this very file. Whoever changes it
 * holds its lock, flock(2); who only reads it need not.
 *
 * A token is added in place of one that was revoked, or at the end, and revoked by overwriting its
 * line with a comment of the same length: nothing ever moves. Each change has a later
 * time of modification than the one before it.
 */
#ifndef LAUNCHER_HOST_TOKEN_FILE_H
#define LAUNCHER_HOST_TOKEN_FILE_H

#include <stdbool.h>

#include "common/limits.h"
#include "launcher/host/tokens.h"

#define TOKEN_FILE_TEXT_MAX 1024

const char *token_file_set_path(void *member, const char *value); /* const char * */

/* Find the default file: msp/tokens in XDG_CONFIG_HOME, where that is a folder of ours, or
 * in ~/.config. `is_made`: make the folders that are missing, for us alone. False, and a line in
 * `text`: there is no such place. */
bool token_file_find(bool is_made, char ret[IPC_PATH_MAX], char text[TOKEN_FILE_TEXT_MAX]);

enum token_file_use {
	TOKEN_FILE_READ,
	TOKEN_FILE_CHANGE, /* it must be there */
	TOKEN_FILE_MAKE,   /* it is made, for us alone, when it is not there */
};

/* Open it if it is a regular file of ours that nobody else can read or write, and not too large. A
 * descriptor, close-on-exec; -ENOENT or another -errno, with a line in `text`. */
int token_file_open(const char *path, enum token_file_use use, char text[TOKEN_FILE_TEXT_MAX]);

/* Wait for the lock; it goes with the last copy of the descriptor. 0 or -errno. */
int token_file_lock(int fd, bool is_exclusive);

/* All of it. 0, -EFBIG or another -errno. */
int token_file_read(int fd, struct tokens *ret);

/* With the lock held and what was read since: add a token, or revoke one. What is on disk
 * afterwards is complete. 0; -EUSERS: there are as many as there may be; -EFBIG: no room; another
 * -errno. */
int token_file_add(int fd, const struct tokens *tokens, const char *name, const char *digest);
int token_file_revoke(int fd, const struct token_line *line);

#endif
