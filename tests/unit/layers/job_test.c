/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/job.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "frontend/changes.h"
#include "scene.h"

static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };

static void choose(const char *paths, size_t size)
{
	job.chosen = paths;
	job.chosen_size = size;
}

Test(job, chosen_are_paths_and_what_is_beneath_them)
{
	static const char paths[] = "src\0docs/\0a b\0x/y";

	cr_assert(job_is_chosen(&job, "anything"));
	choose(paths, sizeof(paths));
	cr_assert(job_is_chosen(&job, "src"));
	cr_assert(job_is_chosen(&job, "src/main.c"));
	cr_assert(job_is_chosen(&job, "docs"));
	cr_assert(job_is_chosen(&job, "docs/x/y"));
	cr_assert(job_is_chosen(&job, "a b"));
	cr_assert(job_is_chosen(&job, "x/y"));
	cr_assert_not(job_is_chosen(&job, "src-evil"));
	cr_assert_not(job_is_chosen(&job, "srcs/main.c"));
	cr_assert_not(job_is_chosen(&job, "x"));
	cr_assert_not(job_is_chosen(&job, "deep/src"));
	choose(".", 2);
	cr_assert(job_is_chosen(&job, "anything"));
}

static bool is_right(uint32_t operation)
{
	ask.operation = operation;
	return job_is_right(&job);
}

Test(job, what_an_operation_needs_must_be_there)
{
	job.directories.host = job.directories.journal = job.directories.target = -1;
	for (uint32_t operation = 0; operation < LAYERS_OPERATION_COUNT + 2; operation++)
		cr_assert_not(is_right(operation), "%u", operation);
	job.directories.layer_count = 1;
	cr_assert(is_right(LAYERS_SCAN));
	cr_assert(is_right(LAYERS_DIFF));
	cr_assert_not(is_right(LAYERS_PREVIEW));
	cr_assert_not(is_right(LAYERS_APPLY));
	job.directories.host = 0;
	cr_assert(is_right(LAYERS_PREVIEW));
	cr_assert_not(is_right(LAYERS_APPLY));
	job.directories.journal = 0;
	cr_assert(is_right(LAYERS_APPLY));
	cr_assert(is_right(LAYERS_UNDO));
	cr_assert_not(is_right(LAYERS_REMOVE));
	job.directories.target = 0;
	cr_assert(is_right(LAYERS_REMOVE));
	cr_assert(is_right(LAYERS_MERGE));
}

Test(job, nonsense_is_refused)
{
	job.directories.layer_count = 1;
	cr_assert(is_right(LAYERS_DIFF));
	ask.conflict = CONFLICT_COUNT;
	cr_assert_not(is_right(LAYERS_DIFF));
	ask.conflict = 0;
	ask.flags = CHANGES_FILES | CHANGES_UMASK | CHANGES_UMASK_BITS;
	cr_assert(is_right(LAYERS_DIFF));
	for (uint32_t bit = 2 * CHANGES_FILES; bit != 0; bit <<= 1) {
		ask.flags = bit;
		cr_assert_eq(is_right(LAYERS_DIFF), (bit & CHANGES_UMASK_BITS) != 0);
	}
	ask.flags = 0;
	choose("a\0\0b", 5);
	cr_assert_not(is_right(LAYERS_DIFF));
	choose("\0a", 3);
	cr_assert_not(is_right(LAYERS_DIFF));
	choose("no end", 6);
	cr_assert_not(is_right(LAYERS_DIFF));
	choose("a", 2);
	cr_assert(is_right(LAYERS_DIFF));
	ask.held_size = 2;
	memcpy(ask.held, "xy", 2);
	cr_assert_not(is_right(LAYERS_DIFF));
}

/* What is told, read back by the frontends' own reader. */
static size_t read_back(int output, struct change *changes, size_t room)
{
	static uint8_t bytes[1 << 20];
	const ssize_t size = pread(output, bytes, sizeof(bytes), 0);
	size_t count = 0;

	cr_assert(size >= 0);
	for (size_t at = 0; at < (size_t)size && count < room; count++) {
		const long used = changes_read(bytes + at, (size_t)size - at, &changes[count]);

		cr_assert_gt(used, 0);
		at += (size_t)used;
	}
	return count;
}

Test(job, records_can_be_read_back)
{
	struct difference difference = {
		.kind = CHANGE_RENAMED, .flags = CHANGE_IS_HELD, .path = "new", .old_path = "old"
	};
	static uint8_t buffer[JOB_BUFFER_BYTES], large[JOB_BUFFER_BYTES + 1];
	struct change changes[8];

	difference.old.st_mode = S_IFREG | 0644;
	difference.old.st_size = 5;
	job.output = memfd_create("told", MFD_CLOEXEC);
	cr_assert_eq(job_tell(&job, &difference, NULL, (const uint8_t *)"patch", 5), 0);
	job.buffer = buffer;
	difference.kind = CHANGE_SYMLINK;
	difference.old_path[0] = '\0';
	for (int i = 0; i < 3; i++)
		cr_assert_eq(
			job_tell(&job, &difference, "target", large, i == 1 ? sizeof(large) : 0),
			0);
	cr_assert_eq(read_back(job.output, changes, 8), 3, "the last one waits");
	cr_assert_eq(changes[0].is.kind, CHANGE_RENAMED);
	cr_assert_eq(changes[0].is.old_mode, S_IFREG | 0644);
	cr_assert_eq(changes[0].is.old_size, 5);
	cr_assert_eq(changes[0].is.new_mode, 0);
	cr_assert_eq(memcmp(changes[0].old_path, "old", 3), 0);
	cr_assert_eq(memcmp(changes[0].patch, "patch", 5), 0);
	cr_assert_eq(memcmp(changes[1].link, "target", 6), 0);
	cr_assert_eq(changes[2].is.patch_size, sizeof(large));
	fd_close(&job.output);
}

static struct scene scene;

static int do_diff(struct change *changes, size_t room, size_t *ret)
{
	static uint8_t buffer[JOB_BUFFER_BYTES];
	int error;

	job.directories = scene.directories;
	job.output = memfd_create("told", MFD_CLOEXEC);
	job.buffer = buffer;
	memset(&job.done, 0, sizeof(job.done));
	ask.operation = LAYERS_DIFF;
	error = job_run(&job);
	*ret = read_back(job.output, changes, room);
	fd_close(&job.output);
	return error;
}

Test(job, a_page_of_the_changes)
{
	struct change changes[8];
	size_t count;

	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "a", "1");
	put_file(scene.uppers[0], "b", "22");
	put_file(scene.uppers[0], "c", "333");
	put_file(scene.uppers[0], ".envrc", "4444");
	ask.skip = 1;
	ask.most = 2;
	cr_assert_eq(do_diff(changes, 8, &count), 0);
	cr_assert_eq(count, 2);
	cr_assert_eq(changes[0].path[0], 'a');
	cr_assert_eq(changes[1].path[0], 'b');
	cr_assert_eq(job.done.total, 4);
	cr_assert_eq(job.done.held, 1, "also of what is not on the page");
	ask.skip = 4;
	cr_assert_eq(do_diff(changes, 8, &count), 0);
	cr_assert_eq(count, 0);
	ask.skip = UINT64_MAX;
	ask.most = UINT64_MAX;
	cr_assert_eq(do_diff(changes, 8, &count), 0);
	cr_assert_eq(count, 0);
	ask.skip = ask.most = 0;
	choose("b", 2);
	cr_assert_eq(do_diff(changes, 8, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(job.done.total, 1);
	scene_end(&scene);
}

Test(job, nobody_reads_any_more)
{
	int ends[2];

	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "a", "1");
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	fd_close(&ends[0]);
	cr_assert_neq(signal(SIGPIPE, SIG_IGN), SIG_ERR);
	job.directories = scene.directories;
	job.output = ends[1];
	ask.operation = LAYERS_DIFF;
	cr_assert_eq(job_run(&job), -EPIPE);
	cr_assert_eq(job.done.error, EPIPE);
	cr_assert_eq(job.done.step, CHANGES_STEP_OUTPUT);
	fd_close(&ends[1]);
	scene_end(&scene);
}
