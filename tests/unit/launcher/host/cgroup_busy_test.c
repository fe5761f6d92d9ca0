/* SPDX-License-Identifier: Apache-2.0
 *
 * A cgroup that a process is still leaving, while msp gives it controllers.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "launcher/host/cgroup.h"

static int failures; /* writes that fail, from the first one on */
static int failure;
static int writes;

/* The linker puts it in the place of text_write_file(). */
int __wrap_text_write_file(int dir, const char *path, const char *value);
int __wrap_text_write_file(int dir, const char *path, const char *value)
{
	cr_assert_str_eq(path, "cgroup.subtree_control");
	cr_assert_str_eq(value, "+cpu +memory +pids");
	return writes++ < failures ? -failure : 0;
}

static int enable(int count, int error)
{
	failures = count;
	failure = error;
	writes = 0;
	return cgroup_enable(7, 0);
}

Test(cgroup_busy, a_busy_cgroup_is_tried_again)
{
	cr_expect_eq(enable(0, EBUSY), 0);
	cr_expect_eq(writes, 1);
	cr_expect_eq(enable(3, EBUSY), 0);
	cr_expect_eq(writes, 4);
}

Test(cgroup_busy, the_wait_has_an_end)
{
	cr_expect_eq(enable(1000000, EBUSY), -EBUSY);
	cr_expect_gt(writes, 100);
}

Test(cgroup_busy, another_error_is_final)
{
	cr_expect_eq(enable(1, EACCES), -EACCES);
	cr_expect_eq(writes, 1);
}
