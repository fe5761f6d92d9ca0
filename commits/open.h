/* SPDX-License-Identifier: Apache-2.0
 *
 * Open names in a directory that was handed over.
 */
#ifndef COMMITS_OPEN_H
#define COMMITS_OPEN_H

/* Open a regular file for reading, without links and within the mount; it cannot block. A
 * descriptor; -ESTALE: it is no regular file; another -errno. */
int open_beneath(int directory, const char *path);

/* Open a directory for reading its names, without links and within the mount. */
int open_directory(int directory, const char *path);

#endif
