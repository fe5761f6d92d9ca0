/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "lib/heap/grow.h"

#define RESOLVE_ALL                                                                                \
	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
#define MOVED_TRIES 16 /* an entry can move while it is opened; a mount stays */
#define BLOCK_BYTES ((size_t)64 << 10)

/* Open with the given flags; empty path: the directory itself. A descriptor or -errno. */
static int open_beneath(int root, const char *path, uint64_t flags)
{
	int fd, tries = 0;

	do {
		fd = kernel_openat2(root, path[0] ? path : ".",
				    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				    RESOLVE_ALL);
	} while (fd < 0 && errno == EXDEV && ++tries < MOVED_TRIES);
	return fd < 0 ? -errno : fd;
}

int beneath_directory(int root, const char *path)
{
	const int fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY);

	return fd == -ENOTDIR || fd == -ELOOP ? -ESTALE : fd;
}

int beneath_file(int root, const char *path, struct stat *ret)
{
	int fd = open_beneath(root, path, O_RDONLY);

	if (fd == -ELOOP || fd == -ENXIO) /* a link; a socket or a device without a driver */
		return -ESTALE;
	if (fd < 0)
		return fd;
	if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
		return fd;
	fd_close(&fd);
	return -ESTALE;
}

int beneath_path(int root, const char *path)
{
	const int fd = kernel_openat2(root, path[0] ? path : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC,
				      RESOLVE_ALL); /* so a link at the end is itself opened */

	return fd < 0 ? -errno : fd;
}

int beneath_look(int root, const char *path, struct stat *ret)
{
	int fd = beneath_path(root, path);
	int error = 0;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	if (fstat(fd, ret) != 0)
		error = -errno;
	fd_close(&fd);
	return error;
}

uint64_t beneath_born(int root, const char *path)
{
	struct statx status = { .stx_mask = 0 };
	int fd = beneath_path(root, path);

	(void)statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status); /* else it stays 0 */
	fd_close(&fd);
	return (uint64_t)status.stx_btime.tv_sec << 30 | status.stx_btime.tv_nsec;
}

uint64_t beneath_born_ns(uint64_t born)
{
	return (born >> 30) * 1000000000 + (born & ((1U << 30) - 1));
}

int beneath_link(int root, const char *path, char ret[IPC_PATH_MAX])
{
	int fd = beneath_path(root, path);
	ssize_t size;

	if (fd < 0)
		return fd;
	size = readlinkat(fd, "", ret, IPC_PATH_MAX);
	if (size < 0)
		size = errno == ENOENT || errno == EINVAL ? -ESTALE : -errno;
	fd_close(&fd);
	if (size >= IPC_PATH_MAX)
		return -ENAMETOOLONG;
	if (size >= 0)
		ret[size] = '\0';
	return (int)size;
}

ssize_t beneath_read(int file, void *bytes, size_t most, off_t at)
{
	size_t used = 0;

	while (used < most) {
		const ssize_t size =
			pread(file, (uint8_t *)bytes + used, most - used, at + (off_t)used);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (size == 0)
			break;
		used += (size_t)size;
	}
	return (ssize_t)used;
}

int beneath_text_of(int file, size_t most, char **ret, size_t *ret_size)
{
	char *text = NULL;
	ssize_t size = -1;
	struct stat status;
	int error = file < 0 ? file : fstat(file, &status) != 0 ? -errno : 0;

	if (!error && (uint64_t)status.st_size > most)
		error = -EFBIG;
	if (!error && !(text = malloc((size_t)status.st_size + 1)))
		error = -ENOMEM;
	if (!error) {
		size = beneath_read(file, text, (size_t)status.st_size, 0);
		error = size < 0 ? (int)size : 0;
	}
	fd_close(&file);
	if (error) {
		free(text);
		return error;
	}
	text[size] = '\0';
	*ret = text;
	*ret_size = (size_t)size;
	return 0;
}

int beneath_text(int root, const char *path, size_t most, char **ret, size_t *ret_size)
{
	struct stat status;

	return beneath_text_of(root < 0 ? -ENOENT : beneath_file(root, path, &status), most, ret,
			       ret_size);
}

int beneath_same(int left, int right)
{
	static uint8_t blocks[2][BLOCK_BYTES];

	for (off_t at = 0; at < BENEATH_CONTENT_MAX; at += (off_t)BLOCK_BYTES) {
		const ssize_t size = beneath_read(left, blocks[0], BLOCK_BYTES, at);
		const ssize_t other = beneath_read(right, blocks[1], BLOCK_BYTES, at);

		if (size < 0 || other < 0)
			return (int)(size < 0 ? size : other);
		if (size != other || memcmp(blocks[0], blocks[1], (size_t)size) != 0)
			return 0;
		if ((size_t)size < BLOCK_BYTES)
			return 1;
	}
	return 0;
}

int beneath_hash_link(int root, const char *path, uint8_t ret[SHA256_BYTES])
{
	char target[IPC_PATH_MAX];
	const int size = beneath_link(root, path, target);

	if (size >= 0)
		sha256(target, (size_t)size, ret);
	return size < 0 ? size : 0;
}

int beneath_hash(int file, uint8_t ret[SHA256_BYTES])
{
	static uint8_t block[BLOCK_BYTES];
	struct sha256 state;
	struct stat status;

	sha256_begin(&state);
	for (off_t at = 0; at < BENEATH_CONTENT_MAX; at += (off_t)BLOCK_BYTES) {
		const ssize_t size = beneath_read(file, block, BLOCK_BYTES, at);

		if (size < 0)
			return (int)size;
		sha256_add(&state, block, (size_t)size);
		if ((size_t)size < BLOCK_BYTES) {
			sha256_end(&state, ret);
			return 0;
		}
		/* Most files have one block, and need no look at their size. */
		if (at == 0 && fstat(file, &status) != 0)
			return -errno;
		if (at == 0 && status.st_size >= BENEATH_CONTENT_MAX)
			return -EFBIG;
	}
	return -EFBIG;
}

#define LEADING ((1U << DT_DIR) | (1U << DT_LNK) | (1U << DT_UNKNOWN)) /* it need not be told */

int beneath_names_add(struct beneath_names *names, int directory, bool is_all)
{
	static _Alignas(struct dirent64) char buffer[BLOCK_BYTES];

	for (;;) {
		const ssize_t size = getdents64(directory, buffer, sizeof(buffer));

		if (size < 0)
			return errno == ENOENT ? 0 : -errno; /* it has just been removed */
		if (size == 0)
			return 0;
		for (ssize_t at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			    (!is_all && !(LEADING & (1U << entry->d_type))))
				continue;
			if (!grow_bytes(&names->bytes, &names->room, &names->used, entry->d_name,
					strlen(entry->d_name) + 1))
				return -ENOMEM;
			names->count++;
		}
	}
}

int beneath_names_sort(struct beneath_names *names)
{
	const char *name = names->bytes;
	size_t unique = 0;

	free(names->names);
	names->names = calloc(names->count + 1, sizeof(*names->names));
	if (!names->names)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++, name += strlen(name) + 1)
		names->names[i] = name;
	list_sort(names->names, names->count, sizeof(*names->names));
	for (size_t i = 0; i < names->count; i++) {
		if (i == 0 || strcmp(names->names[i], names->names[unique - 1]) != 0)
			names->names[unique++] = names->names[i];
	}
	names->count = unique;
	return 0;
}

int beneath_names_read(struct beneath_names *names, int directory)
{
	const int error = beneath_names_add(names, directory, true);

	return error ? error : beneath_names_sort(names);
}

void beneath_names_free(struct beneath_names *names)
{
	free(names->bytes);
	free(names->names);
	memset(names, 0, sizeof(*names));
}
