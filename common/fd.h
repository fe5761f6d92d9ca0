/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors: what kind they are, closing them, sealed memory files.
 */
#ifndef COMMON_FD_H
#define COMMON_FD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Close *fd when it is one and set it to -1. Keeps errno. */
void fd_close(int *fd);

/* Close `count` descriptors and set them to -1. */
void fd_close_all(int *fds, size_t count);

/* Return *fd, which becomes -1: the descriptor has a new owner. */
static inline int fd_take(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

/* Close *fd when it is one, and have `next` in its place. */
void fd_replace(int *fd, int next);

/* Return the descriptor that a call returned, or -errno if it returned none. */
static inline int fd_result(int fd)
{
	return fd < 0 ? -errno : fd;
}

/* Return `fd`; after an error (-errno) close it and return the error. */
static inline int fd_unless(int error, int fd)
{
	if (error)
		fd_close(&fd);
	return error ? error : fd;
}

/* In `int fd FD_OWNED = -1;`: the descriptor is closed at the end of the block. */
#define FD_OWNED __attribute__((cleanup(fd_close)))

/* Is `fd` of the kind that this letter of ipc_messages.def means? */
bool fd_is_kind(int fd, char kind);

/* Write all of `data`; 0 or -errno. For files and memfds, not for sockets. */
int fd_write_all(int fd, const void *data, size_t size);

/* Copy the whole of a regular file, from its start, to the end of `to`; 0 or -errno. */
int fd_copy(int from, int to);

/* Make a memfd one that nobody can change any more (FD_SEALS): 0 or -errno; EBUSY: somebody has it
 * mapped for writing. */
int fd_seal(int fd);

/*
 * A memfd that nobody can change any more (F_SEAL_WRITE, GROW, SHRINK, SEAL), close-on-exec,
 * holding a copy of `data`. Returns the descriptor, owned by the caller, or -errno.
 */
int fd_sealed_from_bytes(const char *name, const void *data, size_t size);

/* Copy a regular file into a sealed memfd, as fd_sealed_from_bytes(). The file's offset is not
 * used. */
int fd_sealed_from_file(const char *name, int file);

/* Allow this process as many descriptors as the system lets it; else it is as it was. */
void fd_raise_limit(void);

/*
 * Make the descriptors the numbers `places` (each below FD_PLACES_MAX, at most 64; NULL: 0, 1, 2
 * and so on) and close everything above the highest of them; bit n of `keep_mask` leaves the n-th
 * open over an exec. All are moved out of the way first, so none is lost to another's move. 0 or
 * -errno; after an error the table is in between and the process must end.
 */
#define FD_PLACES_MAX 60
int fd_place(const int *fds, const int *places, size_t count, uint64_t keep_mask);

#endif
