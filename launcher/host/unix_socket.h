/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening on a unix socket that has a file: in a folder that nobody else may write to, for its
 * owner alone, and in place of one that a process which was killed left behind.
 */
#ifndef LAUNCHER_HOST_UNIX_SOCKET_H
#define LAUNCHER_HOST_UNIX_SOCKET_H

#include <stdbool.h>

struct sockaddr_un;

#define UNIX_SOCKET_TEXT_MAX 768

/* The last part of a path: an address must hold it behind /proc/self/fd/N (unix(7)). */
#define UNIX_SOCKET_NAME_MAX 64

/* Open the folder of a socket (O_PATH) if it is ours and only we can write to it. A descriptor;
 * -ENOENT; another -errno; with a line in `text`. */
int unix_socket_open_folder(const char *path, char text[UNIX_SOCKET_TEXT_MAX]);

/* The address of `name` (shorter than UNIX_SOCKET_NAME_MAX) in such a folder: through the
 * descriptor, so that what was checked is what is used, and the path's length does not matter. */
void unix_socket_address(int folder, const char *name, struct sockaddr_un *ret);

struct unix_socket_kind {
	int type; /* SOCK_STREAM, ... */
	int backlog;
	/* Does nobody listen there? Asked while no other msp replaces the socket. */
	bool (*is_free)(void *context);
	void *context;
};

/* Listen on `name` in `folder`, mode 0600. The socket, close-on-exec; -EADDRINUSE when it is not
 * free; -EEXIST when something else has that name; another -errno. Beside it, NAME.lock stays. */
int unix_socket_listen(int folder, const char *name, const struct unix_socket_kind *kind);

#endif
