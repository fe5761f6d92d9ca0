/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration file of a client: found, read, and replaced as a whole or not at all.
 */
#ifndef CLI_CLIENT_CLIENT_FILE_H
#define CLI_CLIENT_CLIENT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "client/client.h"
#include "common/limits.h"
#include "lib/heap/buffer.h"

#define CLIENT_FILE_TEXT_MAX (IPC_PATH_MAX + 256)
#define CLIENT_FILE_BYTES_MAX ((size_t)16 << 20)

struct client_file {
	char path[IPC_PATH_MAX]; /* the file itself, behind links */
	bool is_there;
	mode_t mode;
	gid_t group;
	struct buffer text; /* the caller's to free */
};

/* Find the file that a client reads, of the user or, for some clients, of the project in the
 * working directory. False with a line in `text`: the user has no home directory. */
bool client_file_place(const struct client *client, char ret[IPC_PATH_MAX],
		       char text[CLIENT_FILE_TEXT_MAX]);

/* Read a file, or note that there is none. False with a line in `text` if it is not the user's own
 * regular file, or if a link leads from a project's file out of the working directory. */
bool client_file_read(const char *path, bool is_projects, struct client_file *ret,
		      char text[CLIENT_FILE_TEXT_MAX]);

/* Replace the file that was read, which keeps its mode and group, or make it with its directory. 0,
 * or -errno with a line in `text` and the file as it was: -EAGAIN if it is no longer what was read.
 */
int client_file_replace(const struct client_file *file, const struct buffer *now,
			char text[CLIENT_FILE_TEXT_MAX]);

#endif
