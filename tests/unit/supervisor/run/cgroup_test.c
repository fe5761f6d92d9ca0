/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that are written and texts that are read, in a directory that stands for a cgroup.
 */
#include "run/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "fake_cgroup.h"
#include "rig.h"
#include "support.h"

static const struct plan_profile profile = {
	.memory_bytes = 64 << 20, .pids = 10, .cpu_percent = 150, .cpu_weight = 42
};

static void open_cgroup(void)
{
	supervisor.cgroup = fake_cgroup_open();
}

TestSuite(cgroup, .init = open_cgroup, .fini = fake_cgroup_close);

Test(cgroup, the_profiles_limits_are_written)
{
	int sandbox = -1;
	int leaf = -1;

	cr_assert_eq(cgroup_create(7, &profile, &sandbox, &leaf), 0);
	cr_assert_str_eq(fake_cgroup_hear("s7/memory.max"), "67108864");
	cr_assert_str_eq(fake_cgroup_hear("s7/memory.swap.max"), "0");
	cr_assert_str_eq(fake_cgroup_hear("s7/memory.oom.group"), "1");
	cr_assert_str_eq(fake_cgroup_hear("s7/pids.max"), "11", "and the init");
	cr_assert_str_eq(fake_cgroup_hear("s7/cpu.weight"), "42");
	cr_assert_str_eq(fake_cgroup_hear("s7/cpu.max"), "150000 100000");
	cr_assert_str_eq(fake_cgroup_hear("s7/e0/memory.max"), "", "the limits are the parent's");
	cr_assert(fd_is_kind(sandbox, 'd'));
	cr_assert_eq(faccessat(sandbox, "e0", F_OK, 0), 0);
	cr_assert(fd_is_kind(leaf, 'd'));
	cr_assert_neq(faccessat(leaf, "e0", F_OK, 0), 0);
}

Test(cgroup, no_cpu_limit_is_none)
{
	struct plan_profile free = profile;
	int sandbox;
	int leaf;

	free.cpu_percent = 0;
	cr_assert_eq(cgroup_create(7, &free, &sandbox, &leaf), 0);
	cr_assert_str_eq(fake_cgroup_hear("s7/cpu.max"), "");
	cr_assert_str_eq(fake_cgroup_hear("s7/cpu.weight"), "42");
}

Test(cgroup, a_kernel_without_swap_needs_no_swap_limit)
{
	int sandbox;
	int leaf;

	fake_cgroup_lacks("memory.swap.max");
	cr_assert_eq(cgroup_create(7, &profile, &sandbox, &leaf), 0);
	cr_assert_str_eq(fake_cgroup_hear("s7/pids.max"), "11");
}

/* Each controller that is missing is an error, or its limit would silently be none. */
Test(cgroup, a_limit_that_cannot_be_written_is_an_error)
{
	static const char *const needed[] = { "memory.max", "memory.oom.group", "pids.max",
					      "cpu.weight", "cpu.max" };
	const size_t before = fd_count_open();

	for (uint32_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int sandbox = -1;
		int leaf = -1;

		fake_cgroup_lacks(needed[i]);
		cr_expect_eq(cgroup_create(i, &profile, &sandbox, &leaf), -ENOENT, "%s", needed[i]);
		cr_expect_eq(sandbox, -1, "untouched");
		cr_expect_eq(leaf, -1);
	}
	cr_assert_eq(fd_count_open(), before);
}

Test(cgroup, what_could_not_be_made_is_removed)
{
	int sandbox;
	int leaf;

	fake_cgroup_is_bare();
	cr_assert_eq(cgroup_create(7, &profile, &sandbox, &leaf), -ENOENT);
	cr_assert_not(fake_cgroup_has("s7"));
}

Test(cgroup, one_that_exists_is_not_used)
{
	int sandbox;
	int leaf;

	cr_assert_eq(mkdirat(supervisor.cgroup, "s7", 0700), 0);
	cr_assert_eq(cgroup_create(7, &profile, &sandbox, &leaf), -EEXIST);
	cr_assert_str_eq(fake_cgroup_hear("s7/memory.max"), "");
}

Test(cgroup, killing_is_for_the_leaf)
{
	int sandbox;
	int leaf;

	cr_assert_eq(cgroup_create(7, &profile, &sandbox, &leaf), 0);
	cgroup_kill(7, 0);
	cr_assert_str_eq(fake_cgroup_hear("s7/e0/cgroup.kill"), "1");
	cr_assert_str_eq(fake_cgroup_hear("s7/cgroup.kill"), "", "the init lives there");
	cgroup_kill(8, 0); /* nothing there, nothing happens */
}

Test(cgroup, usage_is_read)
{
	struct cgroup_usage usage;

	cr_assert_eq(mkdirat(supervisor.cgroup, "s3", 0700), 0);
	fake_cgroup_say("s3/cpu.stat",
			"usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n");
	fake_cgroup_say("s3/memory.peak", "67108864\n");
	fake_cgroup_say("s3/memory.events",
			"low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 0\n");
	fake_cgroup_say("s3/pids.events", "max 2\n");
	cgroup_read(3, &usage);
	cr_assert_eq(usage.cpu_us, 1234567);
	cr_assert_eq(usage.peak_bytes, 67108864);
	cr_assert(usage.oom_kills > 0);
	cr_assert(usage.forks_refused > 0);
}

Test(cgroup, only_a_kill_is_out_of_memory)
{
	struct cgroup_usage usage;

	cr_assert_eq(mkdirat(supervisor.cgroup, "s3", 0700), 0);
	fake_cgroup_say("s3/memory.events",
			"low 1\nhigh 1\nmax 12\noom 5\noom_kill 0\noom_group_kill 1\n");
	fake_cgroup_say("s3/pids.events", "max 0\n");
	cgroup_read(3, &usage);
	cr_assert_not(usage.oom_kills > 0);
	cr_assert_not(usage.forks_refused > 0);
}

Test(cgroup, large_numbers_are_read_whole)
{
	struct cgroup_usage usage;

	cr_assert_eq(mkdirat(supervisor.cgroup, "s3", 0700), 0);
	fake_cgroup_say("s3/cpu.stat", "usage_usec 9223372036854775807\n");
	fake_cgroup_say("s3/memory.peak", "18446744073709551615");
	cgroup_read(3, &usage);
	cr_assert_eq(usage.cpu_us, INT64_MAX);
	cr_assert_eq(usage.peak_bytes, UINT64_MAX, "no newline is needed");
}

static void expect_nothing(const char *text)
{
	struct cgroup_usage usage;

	fake_cgroup_say("s3/cpu.stat", text);
	fake_cgroup_say("s3/memory.peak", text);
	fake_cgroup_say("s3/memory.events", text);
	fake_cgroup_say("s3/pids.events", text);
	cgroup_read(3, &usage);
	cr_expect_eq(usage.cpu_us, 0, "%s", text);
	cr_expect_eq(usage.peak_bytes, 0, "%s", text);
	cr_expect_not(usage.oom_kills > 0, "%s", text);
	cr_expect_not(usage.forks_refused > 0, "%s", text);
}

Test(cgroup, what_is_no_number_counts_as_none)
{
	struct cgroup_usage missing;

	cgroup_read(3, &missing);
	cr_assert_eq(missing.cpu_us, 0);
	cr_assert_eq(missing.peak_bytes, 0);
	cr_assert_not(missing.oom_kills > 0);
	cr_assert_not(missing.forks_refused > 0);
	cr_assert_eq(mkdirat(supervisor.cgroup, "s3", 0700), 0);
	expect_nothing("");
	expect_nothing("\n");
	expect_nothing("max\n");
	expect_nothing("usage_usec -5\noom_kill -1\nmax -1\n");
	expect_nothing("usage_usec five\noom_kill one\nmax many\n");
	expect_nothing("usage_usec");
}

Test(cgroup, reading_leaves_nothing_open)
{
	const size_t before = fd_count_open();
	struct cgroup_usage usage;

	cr_assert_eq(mkdirat(supervisor.cgroup, "s3", 0700), 0);
	expect_nothing("\n");
	cgroup_read(4, &usage);
	cr_assert_eq(fd_count_open(), before);
}
