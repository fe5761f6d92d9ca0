/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's mkdirat(2) is ours here: the linker takes the test program's before the C
 * library's.
 */
#include "fake_cgroup.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const files[] = {
	"cgroup.kill",     "cpu.max",     "cpu.stat",         "cpu.weight",
	"memory.events",   "memory.max",  "memory.oom.group", "memory.peak",
	"memory.swap.max", "pids.events", "pids.max",
};

static char folder[] = "/tmp/msp-cgroup-test-XXXXXX";
static int root = -1;
static const char *lacking;
static const char *deaf;
static bool is_bare;

static void write_file(int dir, const char *path, const char *text, int flags)
{
	const int fd = openat(dir, path, O_WRONLY | O_TRUNC | O_CLOEXEC | flags, 0600);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd); /* written */
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	int made;

	if (syscall(SYS_mkdirat, dir, path, mode) != 0)
		return -1;
	made = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(made, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !is_bare; i++) {
		if (deaf && strcmp(files[i], deaf) == 0)
			cr_assert_eq(symlinkat("/dev/null", made, files[i]), 0);
		else if (!lacking || strcmp(files[i], lacking) != 0)
			write_file(made, files[i], "", O_CREAT);
	}
	(void)close(made); /* nothing was written to it */
	return 0;
}

int fake_cgroup_open(void)
{
	cr_assert_not_null(mkdtemp(folder));
	root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root, 0);
	return root;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	return remove(path);
}

void fake_cgroup_close(void)
{
	(void)close(root); /* only read */
	(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void fake_cgroup_lacks(const char *file)
{
	lacking = file;
}

void fake_cgroup_is_deaf(const char *file)
{
	deaf = file;
}

void fake_cgroup_is_bare(void)
{
	is_bare = true;
}

void fake_cgroup_say(const char *path, const char *text)
{
	write_file(root, path, text, O_CREAT);
}

const char *fake_cgroup_hear(const char *path)
{
	static char content[256];
	const int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	cr_assert_geq(fd, 0, "%s", path);
	size = read(fd, content, sizeof(content) - 1);
	cr_assert_geq(size, 0);
	content[size] = '\0';
	(void)close(fd); /* only read */
	return content;
}

void fake_cgroup_clear(const char *path)
{
	const int dir = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(dir, 0, "%s", path);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(dir, files[i], 0); /* ENOENT: it lacks this one */
	(void)close(dir);                         /* only read */
}

int fake_cgroup_has(const char *path)
{
	return faccessat(root, path, F_OK, 0) == 0;
}
