/* SPDX-License-Identifier: Apache-2.0
 *
 * Files beneath a directory that was handed over, by descriptors: no path leads out, over a
 * symbolic link or into another mount, whatever is made of it meanwhile.
 */
#ifndef LAYERS_BASE_FILES_H
#define LAYERS_BASE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "layers/base/journal.h"

/* linux/fs.h; the C library of the static programs has no renameat2 */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
#define RENAME_EXCHANGE 2U
#endif

/* Open beneath `root`; a link at the end only with O_PATH | O_NOFOLLOW. A descriptor,
 * close-on-exec, or -errno. */
int files_open(int root, const char *path, uint64_t flags);

/* O_PATH of the directory that has `path`, or -errno; *ret_name is its last part. */
int files_parent(int root, const char *path, const char **ret_name);

/* renameat2(), for any file system's answer. 0 or -errno. */
int files_rename(int from, const char *old, int to, const char *name, unsigned int flags);

/* Set the permissions of what is called so and is no link. 0 or -errno. */
int files_chmod(int directory, const char *name, uint32_t mode);

/* Is the directory of that name without entries? 1, 0 or -errno. */
int files_is_empty(int directory, const char *name);

/*
 * Copy a regular file from its beginning, holes as holes; `to` -1: only read. Sets the side's hash,
 * over what is there and where, so that a terabyte of nothing costs nothing. -ESTALE: it became
 * shorter meanwhile; 0 or another -errno.
 */
int files_copy(int from, int to, uint8_t ret_hash[SHA256_BYTES]);

/* Read exactly these bytes; -ESTALE: the file is shorter. Write them all. 0 or -errno. */
int files_read(int fd, void *bytes, size_t size, off_t at);
int files_write(int fd, const void *bytes, size_t size, off_t at);

/* Make a file in memory of these bytes: a descriptor or -errno. */
int files_from_bytes(const void *bytes, size_t size);

/* Hash a file of these bytes in the same way. */
void files_hash(const uint8_t *bytes, size_t size, uint8_t ret[SHA256_BYTES]);

/* A side as stat tells it, without the hash; and whether a file still is the one of a side. */
void files_side(const struct stat *status, struct journal_side *ret);
bool files_is(const struct journal_side *side, const struct stat *status);

/* Are all of these bytes zero? */
bool files_is_zero(const void *bytes, size_t size);

/* In a umask: it is known. */
#define FILES_UMASK_KNOWN 01000U

/* Return the mode, with its type, that an apply by somebody with this umask (0: not known) gives a
 * file or directory which has the mode `now` in the sandbox, and `old` on the host; 0: it is new.
 */
uint32_t files_applied_mode(uint32_t umask, uint32_t old, uint32_t now);

#endif
