/* SPDX-License-Identifier: Apache-2.0
 *
 * Open names in a directory that was handed over.
 */
#ifndef LAYERS_READER_OPEN_H
#define LAYERS_READER_OPEN_H

#include <stddef.h>

/* Open a regular file for reading, without links and within the mount; it cannot block. A
 * descriptor; -ESTALE: it is no regular file; another -errno. */
int open_beneath(int directory, const char *path);

/* Open a directory for reading its names, without links and within the mount. */
int open_directory(int directory, const char *path);

/* Read a whole file of at most so many bytes. 0, and the text with a NUL behind it is the caller's;
 * -ENOENT also without a directory (-1); -EFBIG; another -errno. */
int open_text(int directory, const char *path, size_t most, char **ret, size_t *ret_size);

#endif
