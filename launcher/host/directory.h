/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_HOST_DIRECTORY_H
#define LAUNCHER_HOST_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Return whether the path names a directory, also through a symbolic link. */
bool directory_is_at(const char *path);

/* Find a program in the absolute ones of these folders, with ':' between them (NULL: none), as the
 * path `ret`. */
bool directory_find_program(const char *folders, const char *name, char *ret, size_t room);

/* Remove a directory in `parent` with the files in it; there may be none. 0 or -errno. */
int directory_remove(int parent, const char *name);

#endif
