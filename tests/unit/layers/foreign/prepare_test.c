/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounds of the search for foreign files. Only root can make such files: tests/root has the
 * rest.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc/ipc_changes.h"
#include "layers/base/job.h"
#include "rig.h"

#define NS_PER_S 1000000000L
#define NS_PER_MS 1000000L

/* The bound of names. */
#define NAMES_MAX 50000U

static struct rig rig;

/* Nanoseconds that pass from one look at the clock to the next one. */
static long step_ns;

/* The C library's, in a machine as slow as the test says. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static long passed_ns;

	if (syscall(SYS_clock_gettime, clock, ret) != 0)
		return -1;
	passed_ns += step_ns;
	ret->tv_sec += (passed_ns + ret->tv_nsec) / NS_PER_S;
	ret->tv_nsec = (passed_ns + ret->tv_nsec) % NS_PER_S;
	return 0;
}

static void begin(void)
{
	rig_begin(&rig, 1);
}

static void end(void)
{
	step_ns = 0;
	rig_end(&rig);
}

TestSuite(prepare, .init = begin, .fini = end, .timeout = 120);

/* Put so many names into a directory of the host. */
static void put_names(const char *folder, unsigned int count)
{
	int directory;

	put_folder(rig.scene.directories.host, folder);
	directory = openat(rig.scene.directories.host, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(directory, 0);
	for (unsigned int i = 0; i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		cr_assert_eq(symlinkat("to", directory, name), 0);
	}
	cr_assert_eq(close(directory), 0);
}

static void search(void)
{
	cr_assert_eq(rig_do(&rig, job_prepare, NULL), 0);
	cr_assert_eq(rig.job.done.total, 0);
	cr_assert_str_empty(rig.told);
}

/* On a busy machine 10,000 names take a second. */
Test(prepare, a_slow_machine_leaves_no_name_of_a_small_project_out)
{
	put_names("a", 4999);
	put_names("b", 4999);
	step_ns = NS_PER_MS / 20;
	search();
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_NONE);
	cr_assert_eq(rig.job.done.ignored, 10000);
}

Test(prepare, slow_storage_ends_the_search)
{
	put_names("a", 5000);
	step_ns = NS_PER_MS;
	search();
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_READ);
	cr_assert(rig.job.done.ignored > 500 && rig.job.done.ignored < 2000, "%lu",
		  rig.job.done.ignored);
}

Test(prepare, as_many_names_as_there_may_be_are_searched)
{
	put_names("a", NAMES_MAX - 1);
	search();
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_NONE);
	cr_assert_eq(rig.job.done.ignored, NAMES_MAX);
}

Test(prepare, one_name_more_ends_the_search)
{
	put_names("a", NAMES_MAX);
	search();
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_READ);
	cr_assert_eq(rig.job.done.ignored, NAMES_MAX);
}
