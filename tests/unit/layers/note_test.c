/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/job.h"
#include "scene.h"

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };

static int count(void)
{
	job.directories = scene.directories;
	job.directories.host = -1;
	memset(&job.done, 0, sizeof(job.done));
	return job_note(&job);
}

Test(note, all_places_of_all_layers_count)
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

Test(note, blocks_count_and_not_lengths)
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

Test(note, a_file_with_many_names_counts_once)
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

Test(note, what_is_shut_counts_and_stays_shut)
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

Test(note, what_cannot_be_counted_is_an_error)
{
	char name[256];
	int directory;

	scene_begin(&scene, 1);
	memset(name, 'd', 200);
	name[200] = '\0';
	directory = dup(scene.uppers[0]);
	for (int i = 0; i < 30; i++) {
		int below;

		cr_assert_eq(mkdirat(directory, name, 0755), 0);
		below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(&directory);
		directory = below;
	}
	fd_close(&directory);
	put_file(scene.uppers[0], "other", "content");
	cr_assert_eq(count(), -ENAMETOOLONG);
	cr_assert_eq(job.done.error, ENAMETOOLONG);
	cr_assert_geq(job.done.inodes, 20, "as far as it can be");
	(void)snprintf(name, sizeof(name), "rm -rf %s", scene.root);
	cr_assert_eq(system(name), 0);
}
