/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and removal of cgroups, on ordinary directories: rmdir(2) is the same call there.
 */
#include "common/confine/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/msp-cgroup-test-XXXXXX";
static int dir;

static void make_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir, 0);
}

static void remove_folder(void)
{
	(void)unlinkat(dir, "file", 0);
	(void)unlinkat(dir, "s7/keep", AT_REMOVEDIR);
	(void)unlinkat(dir, "s7", AT_REMOVEDIR);
	(void)rmdir(folder);
}

TestSuite(cgroup, .init = make_folder, .fini = remove_folder);

Test(cgroup, paths_are_slot_and_suffix)
{
	struct text path = { .used = 50 };

	cgroup_path(&path, 7, "");
	cr_assert_str_eq(path.bytes, "s7");
	cgroup_path(&path, UINT32_MAX, CGROUP_LEAF);
	cr_assert_str_eq(path.bytes, "s4294967295/e0");
	cgroup_leaf_path(&path, 7, 15, "/cgroup.kill");
	cr_assert_str_eq(path.bytes, "s7/e15/cgroup.kill");
}

Test(cgroup, processes_of_a_leaf_are_counted)
{
	static const struct {
		const char *list;
		uint32_t count;
	} rows[] = { { "", 0 }, { "12\n", 1 }, { "12\n1234567\n3\n", 3 } };

	cr_expect_eq(cgroup_count(dir, 7, 2), 0, "it is gone");
	cr_assert_eq(mkdirat(dir, "s7", 0700), 0);
	cr_assert_eq(mkdirat(dir, "s7/e2", 0700), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int fd = openat(dir, "s7/e2/cgroup.procs",
				      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		cr_assert_geq(dprintf(fd, "%s", rows[i].list), 0);
		(void)close(fd);
		cr_expect_eq(cgroup_count(dir, 7, 2), rows[i].count, "%zu", i);
	}
	(void)unlinkat(dir, "s7/e2/cgroup.procs", 0);
	(void)unlinkat(dir, "s7/e2", AT_REMOVEDIR);
}

Test(cgroup, removal_takes_the_leaf_too)
{
	cr_assert_eq(mkdirat(dir, "s7", 0700), 0);
	cr_assert_eq(mkdirat(dir, "s7/e0", 0700), 0);
	cr_assert(cgroup_remove(dir, 7));
	cr_assert_eq(faccessat(dir, "s7", F_OK, 0), -1);
	cr_assert(cgroup_remove(dir, 7), "gone already is gone");
}

Test(cgroup, what_is_still_in_use_is_told)
{
	cr_assert_eq(mkdirat(dir, "s7", 0700), 0);
	cr_assert_eq(mkdirat(dir, "s7/keep", 0700), 0);
	cr_assert_not(cgroup_remove(dir, 7));
}

/* Their file stands for what the kernel has in each. */
static void make_cgroup(const char *path)
{
	char file[32];
	int fd;

	cr_assert_eq(mkdirat(dir, path, 0700), 0);
	(void)snprintf(file, sizeof(file), "%s/cgroup.kill", path);
	fd = openat(dir, file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	(void)close(fd);
}

static void clear_cgroup(const char *path)
{
	char file[32];

	(void)snprintf(file, sizeof(file), "%s/cgroup.kill", path);
	(void)unlinkat(dir, file, 0);
}

Test(cgroup, emptying_kills_in_each_and_removes_all_leaves)
{
	char content[2] = { 0 };
	int fd;

	make_cgroup("s7");
	cr_assert_eq(mkdirat(dir, "s7/e0", 0700), 0);
	cr_assert_eq(mkdirat(dir, "s7/e15", 0700), 0);
	fd = openat(dir, "s7/cgroup.kill", O_RDONLY | O_CLOEXEC);
	cgroup_empty(dir, 8);
	cr_assert_eq(read(fd, content, sizeof(content)), 1);
	cr_assert_str_eq(content, "1");
	(void)close(fd);
	cr_assert_eq(faccessat(dir, "s7/e15", F_OK, 0), -1);
	cr_assert_eq(faccessat(dir, "s7/e0", F_OK, 0), -1);
	clear_cgroup("s7"); /* in a cgroup it would be no obstacle */
}

Test(cgroup, emptying_leaves_what_is_beyond)
{
	make_cgroup("s7");
	cgroup_empty(dir, 7);
	cr_assert_eq(faccessat(dir, "s7", F_OK, 0), 0);
	clear_cgroup("s7");
}
