/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/kernel.h"

void fd_close(int *fd)
{
	const int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* the descriptor is gone whatever close says */
	*fd = -1;
	errno = saved;
}

void fd_replace(int *fd, int next)
{
	fd_close(fd);
	*fd = next;
}

void fd_close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
}

static bool is_unix_socket(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

/* Each waits up to 75 ms. */
#define SEAL_TRIES 20

/* A file that cannot be sealed has -1 for its seals, which has every bit. */
static bool is_sealed(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & FD_SEALS) == FD_SEALS;
}

/* An O_PATH descriptor names a file but is not one that can be read or written. */
static bool is_opened(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_PATH);
}

/* Only a pidfd can be signalled at all; 0 is no signal. */
static bool is_pidfd(int fd)
{
	return kernel_pidfd_send_signal(fd, 0) == 0 || errno != EBADF;
}

bool fd_is_kind(int fd, char kind)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	switch (kind) {
	case 'p':
		return S_ISFIFO(status.st_mode) && is_opened(fd);
	case 'm':
		return S_ISREG(status.st_mode) && is_sealed(fd);
	case 'f':
		return S_ISREG(status.st_mode) && is_opened(fd);
	case 'd':
		return S_ISDIR(status.st_mode) && is_opened(fd);
	case 's':
		return S_ISSOCK(status.st_mode) && is_unix_socket(fd);
	case 'i':
		return is_pidfd(fd);
	case 'o':
		return !is_opened(fd);
	case 't':
		return S_ISCHR(status.st_mode) && isatty(fd);
	default:
		return kind == 'a'; /* any */
	}
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		const ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/* EBUSY: the kernel moves or counts one of its pages, for whose end it has waited. */
int fd_seal(int fd)
{
	int error = EBUSY;

	for (int i = 0; i < SEAL_TRIES && error == EBUSY; i++)
		error = fcntl(fd, F_ADD_SEALS, FD_SEALS) == 0 ? 0 : errno;
	return -error;
}

/* Seal a new memfd, whether writing it succeeded or not. */
static int finish_sealed(int fd, int error)
{
	return fd_unless(error ? error : fd_seal(fd), fd);
}

int fd_sealed_from_bytes(const char *name, const void *data, size_t size)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : finish_sealed(fd, fd_write_all(fd, data, size));
}

int fd_copy(int from, int to)
{
	struct stat status;
	off_t offset = 0;

	if (fstat(from, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	while (offset < status.st_size) {
		const ssize_t sent = sendfile(to, from, &offset, (size_t)(status.st_size - offset));

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return sent < 0 ? -errno : -EIO;
	}
	return 0;
}

int fd_sealed_from_file(const char *name, int file)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : finish_sealed(fd, fd_copy(file, fd));
}

static int place_of(const int *places, size_t index)
{
	return places ? places[index] : (int)index;
}

int fd_place(const int *fds, const int *places, size_t count, uint64_t keep_mask)
{
	int moved[FD_PLACES_MAX];
	int highest = 0;

	if (count > FD_PLACES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		highest = place_of(places, i) > highest ? place_of(places, i) : highest;
	for (size_t i = 0; i < count; i++) {
		moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, highest + 1);
		if (moved[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < count; i++)
		if (dup3(moved[i], place_of(places, i), keep_mask >> i & 1 ? 0 : O_CLOEXEC) < 0)
			return -errno;
	return kernel_close_range((unsigned int)highest + 1, ~0U) == 0 ? 0 : -errno;
}

void fd_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* then it is as it was */
}
