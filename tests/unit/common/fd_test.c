/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of descriptors, and that a sealed memory file cannot be changed by any way in.
 */
#include "common/fd.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define UNPREPARED 200

static const char kinds[] = "pmfdsiot";

/* 'f' is any regular file and a sealed memfd is one. */
static bool is_acceptable(char wanted, char made)
{
	return wanted == made || (wanted == 'f' && made == 'm');
}

Test(fd, kinds_are_told_apart)
{
	for (const char *made = kinds; *made; made++) {
		int fd = fd_of_kind(*made);

		for (const char *wanted = kinds; *wanted; wanted++)
			cr_expect_eq(fd_is_kind(fd, *wanted), is_acceptable(*wanted, *made),
				     "a '%c' as '%c'", *made, *wanted);
		cr_assert(fd_is_kind(fd, 'a'));
		cr_assert_not(fd_is_kind(fd, '?'), "an unknown letter is no kind");
		fd_close(&fd);
	}
}

Test(fd, no_descriptor_has_no_kind)
{
	for (const char *kind = kinds; *kind; kind++) {
		cr_assert_not(fd_is_kind(-1, *kind));
		cr_assert_not(fd_is_kind(1000, *kind));
	}
	cr_assert_not(fd_is_kind(-1, 'a'));
}

static void expect_kind(const char *what, int fd, char kind, bool is)
{
	cr_assert_geq(fd, 0, "%s", what);
	cr_expect_eq(fd_is_kind(fd, kind), is, "%s as '%c'", what, kind);
	fd_close(&fd);
}

Test(fd, look_alikes_are_refused)
{
	expect_kind("an unsealed memfd", memfd_create("t", MFD_ALLOW_SEALING | MFD_CLOEXEC), 'm',
		    false);
	expect_kind("a memfd that takes no seals", memfd_create("t", MFD_CLOEXEC), 'm', false);
	expect_kind("a regular file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 'm', false);
	expect_kind("an O_PATH file", open("/proc/self/exe", O_PATH | O_CLOEXEC), 'm', false);
	expect_kind("an eventfd", eventfd(0, EFD_CLOEXEC), 'i', false);
	expect_kind("a regular file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 'i', false);
	expect_kind("an INET socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 's', false);
	expect_kind("/dev/null", open("/dev/null", O_RDWR | O_CLOEXEC), 't', false);
}

Test(fd, partly_sealed_is_not_sealed)
{
	const int each[] = { F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE };
	const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	for (size_t i = 0; i < 4; i++) {
		const int fd = memfd_create("t", MFD_ALLOW_SEALING | MFD_CLOEXEC);

		cr_assert_eq(fcntl(fd, F_ADD_SEALS, all & ~each[i]), 0);
		expect_kind("a memfd without one of the seals", fd, 'm', false);
	}
}

/* The memory file cannot be changed through `fd` or through a new opening of it. */
static void check_sealed(int fd, const char *content, size_t size)
{
	char link[64];
	char *copy = malloc(size + 1);

	cr_assert_not_null(copy);
	cr_assert(fd_is_kind(fd, 'm'));
	cr_assert_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	cr_assert_eq(pread(fd, copy, size + 1, 0), (ssize_t)size);
	cr_assert_eq(memcmp(copy, content, size), 0);
	free(copy);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int again = open(link, O_RDWR | O_CLOEXEC);
	const int ways[] = { fd, again };

	cr_assert_geq(again, 0);
	for (size_t i = 0; i < 2; i++) {
		cr_assert_eq(pwrite(ways[i], "X", 1, 0), -1);
		cr_assert_eq(errno, EPERM);
		cr_assert_eq(pwrite(ways[i], "X", 1, (off_t)size), -1, "growing");
		cr_assert_eq(ftruncate(ways[i], (off_t)size + 1), -1);
		if (size > 0)
			cr_assert_eq(ftruncate(ways[i], 0), -1);
		cr_assert_eq(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, ways[i], 0),
			     MAP_FAILED);
		cr_assert_eq(fcntl(ways[i], F_ADD_SEALS, F_SEAL_SEAL), -1);
		cr_assert_eq(fallocate(ways[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1),
			     -1);
	}
	if (size > 0)
		cr_assert_eq(open(link, O_RDWR | O_TRUNC | O_CLOEXEC), -1);
	fd_close(&again);
}

Test(fd, sealed_bytes_cannot_be_changed)
{
	static char large[300000];
	int fd = fd_sealed_from_bytes("small", "hello", 5);

	check_sealed(fd, "hello", 5);
	fd_close(&fd);
	memset(large, 'L', sizeof(large));
	fd = fd_sealed_from_bytes("large", large, sizeof(large));
	check_sealed(fd, large, sizeof(large));
	fd_close(&fd);
	fd = fd_sealed_from_bytes("empty", "", 0);
	check_sealed(fd, "", 0);
	fd_close(&fd);
}

Test(fd, what_is_mapped_for_writing_is_not_sealed)
{
	const int fd = memfd_create("t", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	void *bytes;

	cr_assert_eq(ftruncate(fd, 1), 0);
	bytes = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(bytes, MAP_FAILED);
	cr_assert_eq(fd_seal(fd), -EBUSY);
	cr_assert(!fd_is_kind(fd, 'm'));
	cr_assert_eq(munmap(bytes, 1), 0);
	cr_assert_eq(fd_seal(fd), 0);
	check_sealed(fd, "", 1);
	(void)close(fd);
	cr_assert_eq(fd_seal(fd), -EBADF);
}

Test(fd, sealed_file_is_a_copy_of_the_whole)
{
	char name[] = "/tmp/msp-fd-test-XXXXXX";
	int file = mkstemp(name);
	int fd;

	cr_assert_geq(file, 0);
	(void)unlink(name);
	cr_assert_eq(fd_write_all(file, "content", 7), 0);
	fd = fd_sealed_from_file("copy", file); /* its offset stands at the end */
	check_sealed(fd, "content", 7);
	cr_assert_eq(pwrite(file, "CHANGED", 7, 0), 7);
	check_sealed(fd, "content", 7);
	fd_close(&fd);
	fd_close(&file);
}

Test(fd, sealed_file_of_what_is_no_file)
{
	int folder = fd_of_kind('d');
	int pipe_end = fd_of_kind('p');

	cr_assert_eq(fd_sealed_from_file("none", -1), -EBADF);
	cr_assert_eq(fd_sealed_from_file("folder", folder), -EINVAL);
	cr_assert_eq(fd_sealed_from_file("pipe", pipe_end), -EINVAL);
	fd_close(&folder);
	fd_close(&pipe_end);
}

Test(fd, copying_starts_at_the_beginning_and_appends)
{
	char content[32] = { 0 };
	int from = memfd_create("from", MFD_CLOEXEC);
	int to = memfd_create("to", MFD_CLOEXEC);

	cr_assert_eq(fd_write_all(from, "abc", 3), 0);
	cr_assert_eq(fd_write_all(to, "12", 2), 0);
	cr_assert_eq(fd_copy(from, to), 0);
	cr_assert_eq(pread(to, content, sizeof(content), 0), 5);
	cr_assert_str_eq(content, "12abc");
	cr_assert_eq(fd_copy(from, -1), -EBADF);
	fd_close(&from);
	fd_close(&to);
}

Test(fd, closing_forgets_and_keeps_errno)
{
	int fds[] = { fd_of_kind('p'), -1, fd_of_kind('f') };
	const size_t before = fd_count_open();

	errno = EDOM;
	fd_close_all(fds, 3);
	cr_assert_eq(errno, EDOM);
	cr_assert_eq(fd_count_open(), before - 2);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(fds[i], -1);
	{
		int scoped FD_OWNED = fd_of_kind('f');
		cr_assert_geq(scoped, 0);
	}
	cr_assert_eq(fd_count_open(), before - 2);
}

Test(fd, write_all_reports_errors)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(fd_write_all(file, "x", 1), -EBADF);
	cr_assert_eq(fd_write_all(file, "x", 0), 0, "nothing to write");
	fd_close(&file);
	file = open("/dev/full", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(fd_write_all(file, "x", 1), -ENOSPC);
	fd_close(&file);
}

/* Four descriptors whose numbers are the others' places: each must arrive all the same. */
static int place_crosswise(void *unused)
{
	const char kinds_here[] = { 'p', 'm', 'd', 's' };
	const int places[] = { 3, 0, 2, 1 };
	int fds[4];

	(void)unused;
	for (int i = 0; i < 4; i++) {
		const int made = fd_of_kind(kinds_here[i]);

		fds[i] = i;
		if (dup2(made, i) != i)
			return UNPREPARED;
	}
	for (int i = 0; i < 30; i++)
		(void)fd_of_kind('f');
	if (fd_place(fds, places, 4, 1U << 1 | 1U << 2) != 0)
		return 1;
	for (int i = 0; i < 4; i++) {
		if (!fd_is_kind(places[i], kinds_here[i]))
			return 2;
	}
	if (fcntl(0, F_GETFD) != 0 || fcntl(2, F_GETFD) != 0)
		return 3; /* the kept ones */
	if (fcntl(1, F_GETFD) != FD_CLOEXEC || fcntl(3, F_GETFD) != FD_CLOEXEC)
		return 4;
	for (int i = 4; i < 1024; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			return i == 4 ? 5 : 6;
	}
	return 0;
}

Test(fd, placing_moves_all_and_closes_the_rest)
{
	const int status = run_forked(place_crosswise, NULL);

	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "%d", WEXITSTATUS(status));
}

Test(fd, placing_what_is_not_open_fails)
{
	const int fds[] = { -1 };
	const int places[FD_PLACES_MAX + 1] = { 0 };

	cr_assert_eq(fd_place(fds, places, 1, 0), -EBADF);
	cr_assert_eq(fd_place(fds, places, FD_PLACES_MAX + 1, 0), -EINVAL);
}
