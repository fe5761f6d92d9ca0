/* SPDX-License-Identifier: Apache-2.0
 *
 * The limit of entries, near which earlier layers have brought the count: a million real entries
 * are for `./dev test --all`.
 */
#include "image/unpack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/ahead.h"
#include "image/refuse.h"

#define BLOCK 512U

static char folder[] = "/tmp/msp-unpack-XXXXXX";
static int root = -1;

/* Write the header of an empty file. */
static void write_header(int fd, const char *name)
{
	char header[BLOCK] = { 0 };
	unsigned int sum = 0;

	(void)snprintf(header, 100, "%s", name);
	memcpy(header + 100, "0000644", 8);
	memcpy(header + 124, "00000000000", 12);
	memcpy(header + 136, "00000000000", 12);
	memset(header + 148, ' ', 8);
	header[156] = '0';
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
	cr_assert_eq(write(fd, header, BLOCK), BLOCK);
}

/* The whole test has one thread more, and no filter. */
static void not_confined(void)
{
}

/* Make a directory with a layer of the files a, b and c, and one for what it becomes. */
static void set_up(void)
{
	static const char end[2 * BLOCK];
	int top, fd;

	cr_assert_not_null(mkdtemp(folder));
	top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(top, "layer.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	write_header(fd, "a");
	write_header(fd, "b");
	write_header(fd, "c");
	cr_assert_eq(write(fd, end, sizeof(end)), sizeof(end));
	(void)close(fd);
	ahead_start(not_confined);
	(void)close(top);
}

static void tear_down(void)
{
	static const char *const names[] = { "root/a", "root/b", "root/c", "layer.tar" };
	const int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(top, names[i], 0);
	(void)unlinkat(top, "root", AT_REMOVEDIR);
	(void)close(top);
	(void)rmdir(folder);
}

static bool is_there(const char *name)
{
	return faccessat(root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Unpack the layer behind so many entries of others. */
static int unpack_behind(uint64_t entries)
{
	struct room room = { .entries = entries, .most_bytes = 1 << 20 };
	struct input input = { .fd = -1 };
	const int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stream stream;
	int result;

	cr_assert_eq(
		input_begin(&input, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1, 1 << 20),
		0);
	cr_assert_eq(stream_begin(&stream, &input, "layer.tar", 1 << 20), 0);
	result = unpack_layer(&room, &stream, top, "root");
	stream_end(&stream);
	input_end(&input);
	root = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)close(top);
	return result;
}

TestSuite(unpack, .init = set_up, .fini = tear_down);

Test(unpack, the_last_entry_that_is_allowed)
{
	cr_expect_eq(unpack_behind(ROOM_ENTRIES_MAX - 3), 0, "%s", report.text);
	cr_expect(is_there("c"));
}

Test(unpack, one_entry_more)
{
	cr_expect_eq(ROOM_ENTRIES_MAX, 1000000);
	cr_expect_eq(unpack_behind(ROOM_ENTRIES_MAX - 2), -1);
	cr_expect_not_null(strstr(report.text, "'c': the layers have more than 1000000 entries"),
			   "%s", report.text);
	cr_expect(is_there("b"), "the entries before it are counted and made");
	cr_expect_not(is_there("c"));
}
