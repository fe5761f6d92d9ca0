/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_HOST_DIRECTORY_H
#define LAUNCHER_HOST_DIRECTORY_H

#include <stdbool.h>

/* Return whether the path names a directory, also through a symbolic link. */
bool directory_is_at(const char *path);

/* Remove a directory in `parent` with the files in it; there may be none. 0 or -errno. */
int directory_remove(int parent, const char *name);

#endif
