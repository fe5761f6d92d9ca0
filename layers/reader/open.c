/* SPDX-License-Identifier: Apache-2.0 */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"

#define RESOLVE_ALL                                                                                \
	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

static int open_as(int directory, const char *path, uint64_t flags)
{
	const int fd = kernel_openat2(
		directory, path, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		RESOLVE_ALL);

	return fd < 0 ? -errno : fd;
}

int open_beneath(int directory, const char *path)
{
	int fd = open_as(directory, path, 0);
	struct stat status;

	if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
		return fd;
	fd_close(&fd);
	return -ESTALE;
}

int open_directory(int directory, const char *path)
{
	return open_as(directory, path, O_DIRECTORY);
}

int open_text(int directory, const char *path, size_t most, char **ret, size_t *ret_size)
{
	int file = directory < 0 ? -ENOENT : open_beneath(directory, path);
	struct stat status;
	char *text = NULL;
	ssize_t size = -1;
	int error = file < 0 ? file : fstat(file, &status) != 0 ? -errno : 0;

	if (!error && (uint64_t)status.st_size > most)
		error = -EFBIG;
	if (!error && !(text = malloc((size_t)status.st_size + 1)))
		error = -ENOMEM;
	if (!error) {
		size = pread(file, text, (size_t)status.st_size, 0);
		error = size < 0 ? -errno : 0;
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
