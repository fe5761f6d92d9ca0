/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "layers/base/base.h"
#include "layers/base/job.h"
#include "scene.h"

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };

static int count(void)
{
	job.directories = scene.directories;
	job.directories.host = -1;
	memset(&job.done, 0, sizeof(job.done));
	return job_scan(&job);
}

Test(scan, all_places_of_all_layers_count)
{
	scene_begin(&scene, 2);
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 4, "two layers with an empty place each");
	put_file(scene.uppers[0], "folder/a", "content");
	put_file(scene.directories.layers[0], "home/b", "content");
	put_file(scene.uppers[1], "c", "content");
	put_whiteout(scene.uppers[1], "gone");
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 4 + 6);
	scene_end(&scene);
}

Test(scan, blocks_count_and_not_lengths)
{
	uint64_t before;
	int file;

	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "sparse", "");
	cr_assert_eq(count(), 0);
	before = job.done.bytes;
	file = openat(scene.uppers[0], "sparse", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(ftruncate(file, (off_t)1 << 40), 0);
	cr_assert_eq(count(), 0);
	cr_assert_leq(job.done.bytes, before + 65536);
	cr_assert_eq(fallocate(file, 0, 0, 1 << 20), 0);
	cr_assert_eq(count(), 0);
	cr_assert_geq(job.done.bytes, before + (1 << 20));
	fd_close(&file);
	scene_end(&scene);
}

Test(scan, a_file_with_many_names_counts_once)
{
	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "a", "content");
	put_file(scene.uppers[0], "b", "content");
	for (int i = 0; i < 1000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", i);
		cr_assert_eq(linkat(scene.uppers[0], i % 2 ? "a" : "b", scene.uppers[0], name, 0),
			     0);
	}
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 4);
	scene_end(&scene);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	cr_assert_eq(fstatat(scene.uppers[0], path, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_mode & 07777;
}

Test(scan, what_is_shut_counts_and_stays_shut)
{
	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "shut/deeper/file", "content");
	put_mode(scene.uppers[0], "shut/deeper", 0);
	put_mode(scene.uppers[0], "shut", 0444);
	put_folder(scene.directories.layers[0], "work-workspace/work");
	put_mode(scene.directories.layers[0], "work-workspace/work", 0);
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 2 + 3 + 2);
	cr_assert_eq(mode_of("shut"), 0444);
	put_mode(scene.uppers[0], "shut", 0755);
	cr_assert_eq(mode_of("shut/deeper"), 0);
	scene_end(&scene);
}

/* Make a chain of directories, and a file in the last one. */
static void put_chain(int directory, int levels, const char *name)
{
	directory = dup(directory);
	for (int i = 0; i < levels; i++) {
		int below;

		cr_assert_eq(mkdirat(directory, name, 0755), 0);
		below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert(below >= 0);
		fd_close(&directory);
		directory = below;
	}
	put_file(directory, "file", "content");
	fd_close(&directory);
}

/* With a library's nftw() scene_end() could not name what is in there. */
static void end_deep(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", scene.root,
		       scene.root);
	cr_assert_eq(system(command), 0);
}

static void counts_a_chain(int levels, size_t size)
{
	char name[256];

	scene_begin(&scene, 1);
	memset(name, 'd', size);
	name[size] = '\0';
	put_chain(scene.uppers[0], levels, name);
	put_file(scene.uppers[0], "other", "content");
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, (uint64_t)levels + 4);
	end_deep();
}

Test(scan, no_path_is_too_long)
{
	counts_a_chain(30, 200);
	counts_a_chain(300, 255); /* 75 kB */
}

/* A call for each level would take more than that stack. */
Test(scan, no_depth_is_too_deep)
{
	struct rlimit limits;

	cr_assert_eq(getrlimit(RLIMIT_STACK, &limits), 0);
	limits.rlim_cur = 512 << 10;
	cr_assert_eq(setrlimit(RLIMIT_STACK, &limits), 0);
	counts_a_chain(8000, 1);
}

/* Wide at the end of a long chain: the levels above are no longer open by then. */
Test(scan, wide_and_deep)
{
	char name[16];

	scene_begin(&scene, 1);
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		put_folder(scene.uppers[0], name);
		int folder = openat(scene.uppers[0], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		put_chain(folder, 200, name);
		put_file(folder, "beside", "content");
		fd_close(&folder);
	}
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 2 + 12 * 203);
	end_deep();
}

static void limit_descriptors(rlim_t limit)
{
	struct rlimit limits;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limits), 0);
	limits.rlim_cur = limit;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limits), 0);
}

Test(scan, more_is_shut_than_descriptors_can_hold)
{
	char name[16];

	scene_begin(&scene, 1);
	put_chain(scene.uppers[0], 300, "s");
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		put_file(scene.uppers[0], "file", "content");
		put_folder(scene.uppers[0], name);
		put_mode(scene.uppers[0], name, 0);
	}
	limit_descriptors(150);
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 2 + 300 + 1 + 300 + 1);
	cr_assert_eq(mode_of("s7"), 0);
	limit_descriptors(512);
	end_deep();
}

Test(scan, a_machine_that_cannot_is_told_from_a_tree_that_cannot_be)
{
	scene_begin(&scene, 1);
	put_chain(scene.uppers[0], 100, "d");
	limit_descriptors(40);
	cr_assert_eq(count(), -EMFILE);
	cr_assert_eq(job.done.step, LAYERS_SCAN_MACHINE);
	limit_descriptors(512);
	cr_assert_eq(count(), 0, "the control");
	cr_assert_eq(job.done.step, CHANGES_STEP_NONE);
	end_deep();
}

Test(scan, what_cannot_be_noted_is_counted)
{
	struct base_head head = { BASE_MAGIC, sizeof(struct base_record), BASE_BYTES_MAX + 8 };
	int base;

	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "file", "content");
	base = openat(scene.directories.layers[0], BASE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(write(base, &head, sizeof(head)), (ssize_t)sizeof(head));
	cr_assert_eq(ftruncate(base, (off_t)BASE_BYTES_MAX + 64), 0);
	job.directories = scene.directories;
	memset(&job.done, 0, sizeof(job.done));
	cr_assert_eq(job_scan(&job), -EFBIG);
	cr_assert_eq(job.done.step, LAYERS_SCAN_BASES);
	cr_assert_eq(job.done.inodes, 4);
	fd_close(&base);
	cr_assert_eq(unlinkat(scene.directories.layers[0], BASE_NAME, 0), 0);
	memset(&job.done, 0, sizeof(job.done));
	cr_assert_eq(job_scan(&job), 0, "the control");
	scene_end(&scene);
}

/* A directory changes its place all the time, so that the way back from it leads elsewhere. */
Test(scan, what_is_moved_meanwhile_ends)
{
	pid_t mover;
	int status;

	scene_begin(&scene, 1);
	put_chain(scene.uppers[0], 200, "d");
	put_folder(scene.uppers[0], "d/d/d/d/other");
	mover = fork();
	if (mover == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* also if a claim fails */
	for (int i = 0; mover == 0; i++)
		(void)renameat(scene.uppers[0], i % 2 ? "d/d/d/d/other/x" : "d/d/d/d/d",
			       scene.uppers[0], i % 2 ? "d/d/d/d/d" : "d/d/d/d/other/x");
	for (int i = 0; i < 200; i++) {
		status = count();
		cr_assert(status == 0 || status == -ESTALE, "%d", status);
		cr_assert(status == 0 || job.done.step == LAYERS_SCAN_TREE);
	}
	cr_assert_eq(kill(mover, SIGKILL), 0);
	cr_assert_eq(waitpid(mover, &status, 0), mover);
	cr_assert_eq(count(), 0);
	cr_assert_eq(job.done.inodes, 2 + 200 + 1 + 1);
	end_deep();
}
