/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U; /* Numerical Recipes' generator: repeatable */
	return *seed >> 8;
}

/* One end of a pair; the other end is not needed. */
static int first_of_pair(int made, int fds[2])
{
	if (made != 0)
		abort();
	(void)close(fds[1]); /* only the kind of the first matters */
	return fds[0];
}

int fd_of_kind(char kind)
{
	int pair[2];
	int fd = -1;

	switch (kind) {
	case 'p':
		return first_of_pair(pipe2(pair, O_CLOEXEC), pair);
	case 's':
		return first_of_pair(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
				     pair);
	case 'm':
		fd = fd_sealed_from_bytes("test", "sealed", 6);
		break;
	case 'f':
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		break;
	case 'd':
		fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		break;
	case 'i':
		fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
		break;
	case 'o':
		fd = open("/usr", O_PATH | O_CLOEXEC);
		break;
	case 't':
		fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
		break;
	default:
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		break;
	}
	if (fd < 0)
		abort();
	return fd;
}

int fd_of_memory(size_t size, void **ret)
{
	const int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		abort();
	*ret = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (*ret == MAP_FAILED)
		abort();
	return fd;
}

size_t fd_count_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	if (!folder)
		abort();
	while (readdir(folder))
		count++;
	(void)closedir(folder); /* read only */
	return count - 3;       /* ".", ".." and the folder itself */
}

int run_forked(int (*child)(void *), void *argument)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid < 0)
		abort();
	if (pid == 0)
		_exit(child(argument));
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return status;
}
