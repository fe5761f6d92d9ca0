/* SPDX-License-Identifier: Apache-2.0
 *
 * Names beneath a directory that was handed over. Nothing in here follows a symbolic link, leaves
 * the directory or its mount, waits for the other end of a FIFO, or opens a device.
 */
#ifndef LAYERS_BASE_BENEATH_H
#define LAYERS_BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/limits.h"
#include "common/sha256.h"

/* Content beyond it is not read: such a file counts as changed. It is far above what a profile lets
 * a workload write, but a sparse file costs nothing to make and its size in time to read. */
#define BENEATH_CONTENT_MAX ((off_t)16 << 30)

/* A directory, a regular file for reading. -ESTALE: it is something else. */
int beneath_directory(int root, const char *path);
int beneath_file(int root, const char *path, struct stat *ret);

/* O_PATH of anything, also of a link. A descriptor or -errno. */
int beneath_path(int root, const char *path);

/* Look at a path, links not followed; st_mode 0 and 0: no file. 0 or -errno. */
int beneath_look(int root, const char *path, struct stat *ret);

/* Return when the file of a path was made, as a number that only equals itself: seconds and 30 bits
 * of nanoseconds. 0: its file system does not say. */
uint64_t beneath_born(int root, const char *path);

/* Return such a number in nanoseconds, as times of the real clock are. */
uint64_t beneath_born_ns(uint64_t born);

/* Read a symbolic link's target, terminated. Its length or -errno. */
int beneath_link(int root, const char *path, char ret[IPC_PATH_MAX]);

/* Read as many bytes as there are, up to `most`, in spite of short reads; or -errno. */
ssize_t beneath_read(int file, void *bytes, size_t most, off_t at);

/* Read all of a regular file of at most `most` bytes. 0, and the caller frees the bytes, which have
 * a NUL behind them; -ENOENT also without a directory (-1); -EFBIG; another -errno. */
int beneath_text(int root, const char *path, size_t most, char **ret, size_t *ret_size);

/* Read an open file in the same way, and close it. An -errno in place of a file is returned. */
int beneath_text_of(int file, size_t most, char **ret, size_t *ret_size);

/* Have two files the same content? 1, 0, or -errno. */
int beneath_same(int left, int right);

/* SHA-256 of a file's content. 0 or -errno; -EFBIG beyond BENEATH_CONTENT_MAX. */
int beneath_hash(int file, uint8_t ret[SHA256_BYTES]);

/* SHA-256 of a symbolic link's target. 0 or -errno. */
int beneath_hash_link(int root, const char *path, uint8_t ret[SHA256_BYTES]);

/* Names in a directory, sorted by their bytes, each once; "." and ".." left out. */
struct beneath_names {
	char *bytes; /* NUL after each */
	size_t used, room;
	const char **names; /* after beneath_names_sort() */
	size_t count;
};

/* Add those of an open directory: all, or those that are or may be directories and symbolic links.
 * 0 or -errno. */
int beneath_names_add(struct beneath_names *names, int directory, bool is_all);

int beneath_names_sort(struct beneath_names *names);

/* Read and sort all names of an open directory: 0 or -errno. The caller frees them in any case. */
int beneath_names_read(struct beneath_names *names, int directory);

void beneath_names_free(struct beneath_names *names);

#endif
