/* SPDX-License-Identifier: Apache-2.0
 *
 * Home directories of accounts, without the C library's name services, which would need sockets;
 * and paths beneath directories.
 */
#ifndef LAUNCHER_GIT_HOME_H
#define LAUNCHER_GIT_HOME_H

#include <limits.h>
#include <stdbool.h>

/* Say what the account database has for our own account, which others have asked; "": nothing. */
void home_set_own(const char *path);

/* Return that, for NULL, or the home directory that /etc/passwd has for an account; NULL: none. */
const char *home_listed(const char *name);

/* Write the path that `path` has in a directory: an absolute one is that alone. False: it is too
 * long to be one. */
bool path_join(char ret[PATH_MAX], const char *directory, const char *path);

/* Write the path that `path` has in the directory of `file`, which may be `ret`. False as above. */
bool path_join_beside(char ret[PATH_MAX], const char *file, const char *path);

#endif
