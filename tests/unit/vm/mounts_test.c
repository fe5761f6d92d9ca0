/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of mounts: which directories a machine gets, and tables that are refused.
 */
#include "vm/mounts.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "said.h"

static char folder[] = "/tmp/msp-mounts-XXXXXX";
static struct mounts mounts;

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void tear_down(void)
{
	(void)rmdir("a b");
	(void)rmdir("a,b");
	(void)rmdir("shut");
	(void)rmdir(folder);
}

TestSuite(mounts, .init = set_up, .fini = tear_down);

/* Read a table, in which F is the folder. */
static bool read_table(const char *lines)
{
	char text[65536] = "";
	size_t used = 0;
	FILE *table;
	bool is_good;

	for (; *lines != '\0'; lines++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 *lines == 'F' ? "%s" : "%.1s",
					 *lines == 'F' ? folder : lines);
	table = fmemopen(text, used, "r");
	cr_assert_not_null(table);
	is_good = mounts_read(table, &mounts);
	(void)fclose(table);
	return is_good;
}

Test(mounts, root_is_the_first_and_the_only_one)
{
	cr_assert(read_table("x / x rw 0 0\n"));
	cr_assert_eq(mounts.count, 1);
	cr_expect_str_eq(mounts.list[0].path, "/");
	cr_expect_eq(mounts.list[0].is_writable, access("/", W_OK) == 0);
}

Test(mounts, writable_directories_are_added_once)
{
	cr_assert_eq(mkdir("a b", 0700), 0);
	cr_assert_eq(mkdir("a,b", 0700), 0);
	cr_assert(read_table("x / x ro 0 0\n"
			     "x F x rw,nosuid 0 0\n"
			     "x F x rw 0 0\n"
			     "x F/a\\040b x rw 0 0\n"
			     "x F/a,b x nosuid,rw 0 0\n"));
	cr_assert_eq(mounts.count, 4);
	cr_expect_str_eq(mounts.list[1].path, folder);
	cr_expect_str_eq(strrchr(mounts.list[2].path, '/'), "/a b");
	cr_expect_str_eq(strrchr(mounts.list[3].path, '/'), "/a,b");
	for (uint32_t i = 1; i < mounts.count; i++)
		cr_expect(mounts.list[i].is_writable);
}

Test(mounts, others_are_left_out)
{
	cr_assert_eq(mkdir("shut", 0500), 0);
	cr_assert(read_table("x /proc x rw 0 0\n"
			     "x /proc/sys/a x rw 0 0\n"
			     "x /dev x rw 0 0\n"
			     "x /dev/shm x rw 0 0\n"
			     "x /sys/fs/cgroup x rw 0 0\n"
			     "x F/missing x rw 0 0\n"
			     "x /etc/passwd x rw 0 0\n"
			     "x F x ro 0 0\n"
			     "nonsense\n"
			     "\n"));
	cr_expect_eq(mounts.count, 1);
	cr_assert(read_table("x F/shut x rw 0 0\n"));
	cr_expect_eq(mounts.count, 1U + (access("shut", W_OK) == 0), "root writes everywhere");
}

Test(mounts, names_that_begin_alike_stay)
{
	cr_assert(read_table("x /devices x rw 0 0\nx F x rw 0 0\n"));
	cr_expect_eq(mounts.count, 2);
}

Test(mounts, too_many_are_refused)
{
	char text[8192] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < MOUNTS_MAX; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		cr_assert_eq(mkdir(name, 0700), 0);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "x F/%u x rw 0 0\n", i);
	}
	cr_expect_not(read_table(text));
	cr_expect_not_null(strstr(said, "more than 15 directories"), "%s", said);
	for (uint32_t i = 0; i < MOUNTS_MAX; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		(void)rmdir(name);
	}
}

Test(mounts, own_table_can_be_read)
{
	cr_expect(mounts_find(&mounts), "%s", said);
	cr_expect_geq(mounts.count, 1);
}
