/* SPDX-License-Identifier: Apache-2.0
 *
 * Files, descriptors, output.
 */
#include "hog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What one write asks for. */
#define CHUNK 65536
#define FILE_MIB 4

static char chunk[CHUNK];

static int fill_file(int fd, long size)
{
	while (size > 0) {
		const ssize_t written = write(fd, chunk, size < CHUNK ? (size_t)size : CHUNK);

		if (written <= 0)
			return written == 0 ? ENOSPC : errno;
		size -= written;
	}
	return 0;
}

/* Files of 4 MiB, `amount` MiB of them. */
static int fill(const char *directory, long amount)
{
	for (; hog_taken < amount; hog_taken += FILE_MIB) {
		char path[64];
		int error;
		int fd;

		(void)snprintf(path, sizeof(path), "%s/file-%ld", directory, hog_taken);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		error = fd < 0 ? errno : fill_file(fd, FILE_MIB * MIB);
		if (error)
			return error;
		(void)close(fd); /* in memory: nothing can be left to write */
	}
	hog_hold();
	return 0;
}

static int fill_tmp(long amount)
{
	return fill("/tmp", amount);
}

static int fill_shm(long amount)
{
	return fill("/dev/shm", amount);
}

static int fill_home(long amount)
{
	return fill("/home/agent", amount);
}

static int fill_workspace(long amount)
{
	return fill("/workspace", amount);
}

/* All of them: none is full by itself. */
static int fill_everywhere(long amount)
{
	static const char *const places[] = { "/tmp", "/dev/shm", "/home/agent", "/workspace" };
	int error = 0;

	for (size_t i = 0; i < 4 && !error; i++) {
		hog_taken = 0;
		error = fill(places[i], amount / 4);
	}
	return error;
}

static int take_inodes(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		char path[64];
		int fd;

		(void)snprintf(path, sizeof(path), "/workspace/inode-%ld", hog_taken);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return errno;
		(void)close(fd); /* empty */
	}
	return 0;
}

static int take_depth(long amount)
{
	if (chdir("/workspace") != 0)
		return errno;
	for (; hog_taken < amount; hog_taken++) {
		if (mkdir("d", 0700) != 0 || chdir("d") != 0)
			return errno;
	}
	return 0;
}

/* `amount` MiB without a block. */
static int take_sparse(long amount)
{
	const int fd = open("/workspace/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, amount * MIB) != 0)
		return errno;
	hog_taken = amount;
	return 0;
}

static int take_one_file(long amount)
{
	const int fd = open("/workspace/large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? errno : fill_file(fd, amount * MIB);
}

static int take_descriptors(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		if (open("/dev/null", O_RDONLY) < 0)
			return errno;
	}
	return 0;
}

static int take_pipes(long amount)
{
	for (; hog_taken < amount; hog_taken++) {
		int ends[2];

		if (pipe(ends) != 0)
			return errno;
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
		while (write(ends[1], chunk, CHUNK) > 0)
			continue;
	}
	return 0;
}

static int send_itself(int to, int fd)
{
	char byte = 'x';
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(to, &message, MSG_DONTWAIT) == 1 ? 0 : errno;
}

/* Descriptors that no process has open: they wait in sockets, which wait in sockets. */
static int take_in_flight(long amount)
{
	int error = 0;

	while (hog_taken < amount && (!error || error == EAGAIN)) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
			return errno;
		for (error = 0; !error && hog_taken < amount; hog_taken += !error)
			error = send_itself(ends[0], ends[1]);
	}
	if (error == EAGAIN)
		error = 0;
	if (error)
		hog_hold();
	return error;
}

/* Written back at once, again and again. */
static int flood_disk(long amount)
{
	const int fd = open("/workspace/flood", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	for (; amount == 0 || hog_taken < amount; hog_taken++) {
		if (pwrite(fd, chunk, CHUNK, (hog_taken % 32) * CHUNK) < 0 || fsync(fd) != 0)
			return errno;
	}
	return 0;
}

/* Lines on both streams. */
static int flood_output(long amount)
{
	memset(chunk, 'x', sizeof(chunk));
	for (size_t i = 79; i < sizeof(chunk); i += 80)
		chunk[i] = '\n';
	for (long left = amount * MIB; left > 0; left -= 2 * CHUNK) {
		if (fill_file(STDOUT_FILENO, CHUNK) != 0 || fill_file(STDERR_FILENO, CHUNK) != 0)
			return errno;
	}
	return 0;
}

static int write_line(long amount)
{
	memset(chunk, 'x', sizeof(chunk));
	return fill_file(STDOUT_FILENO, amount * MIB);
}

/* As large a core as may be, in the working directory. */
static int dump_core(long amount)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return errno;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_CORE, &limit) != 0 || !hog_map((size_t)(amount * MIB), MAP_PRIVATE))
		return errno;
	abort();
}

static const struct mode list[] = {
	{ "fill-tmp", fill_tmp },
	{ "fill-shm", fill_shm },
	{ "fill-home", fill_home },
	{ "fill-workspace", fill_workspace },
	{ "fill-everywhere", fill_everywhere },
	{ "inodes", take_inodes },
	{ "depth", take_depth },
	{ "sparse", take_sparse },
	{ "large-file", take_one_file },
	{ "descriptors", take_descriptors },
	{ "pipes", take_pipes },
	{ "in-flight", take_in_flight },
	{ "disk-flood", flood_disk },
	{ "output", flood_output },
	{ "line", write_line },
	{ "core", dump_core },
};
const struct modes file_modes = MODES(list);
