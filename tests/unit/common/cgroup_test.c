/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and removal of cgroups, on ordinary directories: rmdir(2) is the same call there.
 */
#include "common/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
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
}

Test(cgroup, values_are_written_whole)
{
	char content[16] = { 0 };
	int fd = openat(dir, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(cgroup_write(dir, "file", "max 100"), 0);
	cr_assert_eq(read(fd, content, sizeof(content)), 7);
	cr_assert_str_eq(content, "max 100");
	(void)close(fd);
	cr_assert_eq(cgroup_write(dir, "missing", "1"), -ENOENT);
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
