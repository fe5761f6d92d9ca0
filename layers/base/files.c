/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "layers/base/beneath.h"

#define RESOLVE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* A side's hash counts blocks of this size that are not all zero. */
#define BLOCK (128U << 10)

/* asm/unistd_64.h, Linux 6.6 */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

int files_open(int root, const char *path, uint64_t flags)
{
	const int fd = kernel_openat2(root, path, flags | O_CLOEXEC, RESOLVE);

	return fd < 0 ? -errno : fd;
}

int files_parent(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const size_t size = slash ? (size_t)(slash - path) : 0;
	char parent[IPC_PATH_MAX] = ".";
	int fd;

	if (size >= sizeof(parent))
		return -ENAMETOOLONG;
	if (slash) {
		memcpy(parent, path, size);
		parent[size] = '\0';
	}
	fd = files_open(root, parent, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		*ret_name = slash ? slash + 1 : path;
	return fd;
}

int files_rename(int from, const char *old, int to, const char *name, unsigned int flags)
{
	return syscall(SYS_renameat2, from, old, to, name, flags) == 0 ? 0 : -errno;
}

int files_chmod(int directory, const char *name, uint32_t mode)
{
	int fd, error;

	if (syscall(SYS_fchmodat2, directory, name, mode, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	fd = files_open(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	error = fchmod(fd, mode) == 0 ? 0 : -errno;
	fd_close(&fd);
	return error;
}

int files_is_empty(int directory, const char *name)
{
	struct beneath_names names = { 0 };
	int fd = beneath_directory(directory, name);
	int error = fd < 0 ? fd : beneath_names_add(&names, fd, true);
	const int is_empty = names.count == 0;

	beneath_names_free(&names);
	fd_close(&fd);
	return error ? error : is_empty;
}

/* The next place with data at or behind `at`, at a block's beginning; `size`: none. */
static off_t next_data(int fd, off_t at, off_t size)
{
	const off_t data = size - at <= (off_t)BLOCK ? at : lseek(fd, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at; /* or it cannot tell */
	return data - data % (off_t)BLOCK;
}

int files_read(int fd, void *bytes, size_t size, off_t at)
{
	const ssize_t got = beneath_read(fd, bytes, size, at);

	return got < 0 ? (int)got : (size_t)got < size ? -ESTALE : 0;
}

int files_write(int fd, const void *bytes, size_t size, off_t at)
{
	if (lseek(fd, at, SEEK_SET) != at)
		return -errno;
	return fd_write_all(fd, bytes, size);
}

bool files_is_zero(const void *bytes, size_t size)
{
	const uint8_t *block = bytes;

	return size == 0 || (block[0] == 0 && memcmp(block, block + 1, size - 1) == 0);
}

static void hash_block(struct sha256 *hash, const uint8_t *block, size_t size, off_t at)
{
	sha256_add(hash, &at, sizeof(at));
	sha256_add(hash, block, size);
}

static void hash_end(struct sha256 *hash, off_t size, uint8_t ret[SHA256_BYTES])
{
	sha256_add(hash, &size, sizeof(size));
	sha256_end(hash, ret);
}

int files_from_bytes(const void *bytes, size_t size)
{
	int file = memfd_create("content", MFD_CLOEXEC);
	int error = file < 0 ? -errno : fd_write_all(file, bytes, size);

	if (error)
		fd_close(&file);
	return error ? error : file;
}

void files_hash(const uint8_t *bytes, size_t size, uint8_t ret[SHA256_BYTES])
{
	struct sha256 hash;

	sha256_begin(&hash);
	for (size_t at = 0; at < size; at += BLOCK) {
		const size_t block = size - at < BLOCK ? size - at : BLOCK;

		if (!files_is_zero(bytes + at, block))
			hash_block(&hash, bytes + at, block, (off_t)at);
	}
	hash_end(&hash, (off_t)size, ret);
}

int files_copy(int from, int to, uint8_t ret_hash[SHA256_BYTES])
{
	static uint8_t block[BLOCK];
	struct sha256 hash;
	struct stat status;
	off_t written = 0; /* all behind it is a hole */
	int error = 0;

	if (fstat(from, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	sha256_begin(&hash);
	for (off_t at = next_data(from, 0, status.st_size); at < status.st_size && error == 0;
	     at = next_data(from, at + (off_t)BLOCK, status.st_size)) {
		const off_t left = status.st_size - at;
		const size_t size = left < (off_t)BLOCK ? (size_t)left : BLOCK;

		error = files_read(from, block, size, at);
		if (error || files_is_zero(block, size))
			continue;
		hash_block(&hash, block, size, at);
		if (to >= 0)
			error = files_write(to, block, size, at);
		written = at + (off_t)size;
	}
	if (error == 0 && to >= 0 && written < status.st_size && ftruncate(to, status.st_size) != 0)
		error = -errno;
	if (error == 0)
		hash_end(&hash, status.st_size, ret_hash);
	return error;
}

void files_side(const struct stat *status, struct journal_side *ret)
{
	*ret = (struct journal_side){
		.mode = status->st_mode & (S_IFMT | 0777U),
		.inode = status->st_ino,
	};
	/* Each use changes the time of a directory or FIFO. */
	if (!S_ISREG(status->st_mode) && !S_ISLNK(status->st_mode))
		return;
	ret->size = (uint64_t)status->st_size;
	ret->mtime_s = status->st_mtim.tv_sec;
	ret->mtime_ns = (uint32_t)status->st_mtim.tv_nsec;
}

bool files_is(const struct journal_side *side, const struct stat *status)
{
	struct journal_side now;

	files_side(status, &now);
	return (now.mode & (uint32_t)S_IFMT) == (side->mode & (uint32_t)S_IFMT) &&
	       now.inode == side->inode && now.size == side->size && now.mtime_s == side->mtime_s &&
	       now.mtime_ns == side->mtime_ns;
}

/* The umask of sandboxes. */
#define SANDBOX_UMASK 022U

uint32_t files_applied_mode(uint32_t umask, uint32_t old, uint32_t now)
{
	const uint32_t type = now & S_IFMT;
	uint32_t made = now & ~(umask & 0777U);

	if (!(umask & FILES_UMASK_KNOWN) || now == old || (type != S_IFREG && type != S_IFDIR))
		return now;
	/* No program chose this mode: with another umask its group might write, too. */
	if ((now & 0777U) == (0666U & ~SANDBOX_UMASK) || (now & 0777U) == (0777U & ~SANDBOX_UMASK))
		made |= S_IWGRP & ~umask;
	/* An editor may have made a file of the host anew; another mode was set on purpose. */
	return (old & S_IFMT) != type || made == old ? made : now;
}
