/* SPDX-License-Identifier: Apache-2.0 */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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
