/* SPDX-License-Identifier: Apache-2.0 */
#include "store_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t fault_sync_ns;
uint64_t fault_syncs;

static int left; /* calls until it happens; 0: it has, or will not */
static int failing;

void fault_fail(int number, int error)
{
	left = number;
	failing = error;
}

void fault_die(int number)
{
	fault_fail(number, 0);
}

int fault_is_over(void)
{
	return left == 0;
}

static int is_failing(void)
{
	if (failing == 0 || left == 0 || --left > 0)
		return 0;
	errno = failing;
	return 1;
}

static void die_if_due(void)
{
	if (failing == 0 && left > 0 && --left == 0)
		_exit(FAULT_DIED);
}

#define CALL(type, name, parameters, arguments)                                                    \
	type fault_##name parameters;                                                              \
	type fault_##name parameters                                                               \
	{                                                                                          \
		type result;                                                                       \
		if (is_failing())                                                                  \
			return -1;                                                                 \
		result = name arguments;                                                           \
		die_if_due();                                                                      \
		return result;                                                                     \
	}

CALL(int, mkdirat, (int dir, const char *name, mode_t mode), (dir, name, mode))
CALL(int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
CALL(int, unlinkat, (int dir, const char *name, int flags), (dir, name, flags))
CALL(int, flock, (int fd, int operation), (fd, operation))
CALL(int, fstat, (int fd, struct stat *status), (fd, status))
CALL(int, fstatat, (int dir, const char *name, struct stat *status, int flags),
     (dir, name, status, flags))
CALL(ssize_t, pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
CALL(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
CALL(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
CALL(ssize_t, getrandom, (void *bytes, size_t size, unsigned int flags), (bytes, size, flags))
CALL(int, futimens, (int fd, const struct timespec times[2]), (fd, times))

int fault_openat(int dir, const char *name, int flags, ...);
int fault_openat(int dir, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list rest;
	int fd;

	va_start(rest, flags);
	if (flags & O_CREAT)
		mode = va_arg(rest, mode_t);
	va_end(rest);
	if (is_failing())
		return -1;
	fd = openat(dir, name, flags, mode);
	die_if_due();
	return fd;
}

/* It is getdents64 alone. */
long fault_syscall(long number, ...);
long fault_syscall(long number, ...)
{
	va_list rest;
	void *bytes;
	size_t size;
	long got;
	int fd;

	va_start(rest, number);
	fd = va_arg(rest, int);
	bytes = va_arg(rest, void *);
	size = va_arg(rest, size_t);
	va_end(rest);
	if (is_failing())
		return -1;
	got = syscall(number, fd, bytes, size);
	die_if_due();
	return got;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int fault_fsync(int fd);
int fault_fsync(int fd)
{
	const uint64_t start = now_ns();
	int result;

	if (is_failing())
		return -1;
	result = fsync(fd);
	fault_sync_ns += now_ns() - start;
	fault_syncs++;
	die_if_due();
	return result;
}
