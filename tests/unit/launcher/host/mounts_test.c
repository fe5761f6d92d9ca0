/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/mounts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static const char table[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			    "23 22 0:21 / /proc rw - proc proc rw\n"
			    "24 22 8:2 / /home rw shared:2 master:3 - ext4 /dev/sda2 rw\n"
			    "25 22 8:2 /user/.ssh /mnt/keys rw - ext4 /dev/sda2 rw\n"
			    "26 22 8:1 /srv/data /mnt/with\\040space rw - ext4 /dev/sda1 rw\n"
			    "27 22 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

static struct mounts mounts;

static void begin(void)
{
	cr_assert_eq(mounts_parse(strdup(table), &mounts), 0);
}

static void end(void)
{
	mounts_done(&mounts);
}

TestSuite(mounts, .init = begin, .fini = end);

Test(mounts, lines)
{
	cr_expect_eq(mounts.count, 6U);
	cr_expect_str_eq(mounts.list[0].point, "/");
	cr_expect_str_eq(mounts.list[2].device, "8:2");
	cr_expect_str_eq(mounts.list[3].root, "/user/.ssh");
	cr_expect_str_eq(mounts.list[4].point, "/mnt/with space");
	cr_expect_str_eq(mounts.list[5].type, "cgroup2");
}

Test(mounts, a_line_that_cannot_be_read_spoils_the_table)
{
	struct mounts other;

	cr_expect_eq(mounts_parse(strdup("22 1 8:1 / /\n"), &other), -EBADMSG);
	cr_expect_eq(mounts_parse(strdup("22 1 8:1 / / rw shared:1\n"), &other), -EBADMSG);
	cr_expect_eq(mounts_parse(strdup("nonsense"), &other), -EBADMSG);
}

Test(mounts, of_this_process)
{
	struct mounts own;

	cr_assert_eq(mounts_read(&own), 0);
	cr_expect_gt(own.count, 0U);
	mounts_done(&own);
}

Test(mounts, inside)
{
	cr_expect_str_eq(mounts_inside(&mounts, "/mnt"), "/mnt/keys");
	cr_expect_str_eq(mounts_inside(&mounts, "/sys"), "/sys/fs/cgroup");
	cr_expect_null(mounts_inside(&mounts, "/home"), "a mount point itself is fine");
	cr_expect_null(mounts_inside(&mounts, "/mn"), "a name that only begins the same");
	cr_expect_null(mounts_inside(&mounts, "/srv/data"));
}

static const char *other_name(size_t index, const char *path)
{
	static char name[256];

	return mounts_other_name(&mounts, index, path, name, sizeof(name)) ? name : NULL;
}

Test(mounts, other_names_of_a_bind)
{
	cr_expect_str_eq(other_name(2, "/mnt/keys/id"), "/home/user/.ssh/id");
	cr_expect_str_eq(other_name(2, "/mnt/keys"), "/home/user/.ssh");
	cr_expect_str_eq(other_name(3, "/home/user/.ssh/id"), "/mnt/keys/id");
	cr_expect_str_eq(other_name(3, "/home/user/.ssh"), "/mnt/keys");
	cr_expect_str_eq(other_name(0, "/mnt/with space/x"), "/srv/data/x");
	cr_expect_str_eq(other_name(4, "/srv/data"), "/mnt/with space");
}

Test(mounts, no_other_names)
{
	cr_expect_null(other_name(3, "/home/user"), "above what is bound");
	cr_expect_null(other_name(3, "/home/user/.sshx"), "only begins the same");
	cr_expect_null(other_name(2, "/srv/data"), "another device");
	cr_expect_null(other_name(0, "/srv/data"), "its own mount");
}

Test(mounts, a_name_that_does_not_fit)
{
	char name[8];

	cr_expect_not(mounts_other_name(&mounts, 2, "/mnt/keys/id", name, sizeof(name)));
}

Test(mounts, path_is_within)
{
	cr_expect(path_is_within("/a", "/a"));
	cr_expect(path_is_within("/a/b", "/a"));
	cr_expect(path_is_within("/a", "/"));
	cr_expect(path_is_within("/", "/"));
	cr_expect_not(path_is_within("/ab", "/a"));
	cr_expect_not(path_is_within("/", "/a"));
}
