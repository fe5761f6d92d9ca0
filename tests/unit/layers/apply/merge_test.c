/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "rig.h"

static struct rig rig;
static char before[RIG_TEXT_MAX];

#define TARGET (rig.scene.directories.target)
#define LOWEST (rig.scene.uppers[2])

static bool is_opaque(const char *path)
{
	char value = '\0';
	const int fd = openat(TARGET, path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fgetxattr(fd, "user.overlay.opaque", &value, 1);

	(void)close(fd);
	return size == 1 && value == 'y';
}

static bool has_origin(const char *path)
{
	const int fd = openat(TARGET, path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fgetxattr(fd, "user.overlay.origin", NULL, 0);

	(void)close(fd);
	return size == 0;
}

static bool is_whiteout(const char *path)
{
	struct stat status;

	return fstatat(TARGET, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

static bool is_there(const char *path)
{
	struct stat status;

	return fstatat(TARGET, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The merged layer shows over the host what those that it was made from showed: their comparison,
 * by code that knows nothing of merging, is the same. */
static void merge_shows_the_same(void)
{
	struct job_directories *directories = &rig.scene.directories;

	(void)stpcpy(before, scene_compare(&rig.scene));
	cr_assert_str_neq(before, "");
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0, "%s", strerror((int)rig.job.done.error));
	for (uint32_t i = 1; i < directories->layer_count; i++)
		(void)close(directories->layers[i]);
	(void)close(directories->layers[0]);
	directories->layers[0] = dup(TARGET);
	directories->layer_count = 1;
	cr_assert_str_eq(scene_compare(&rig.scene), before);
}

static void end(void)
{
	(void)close(rig.scene.uppers[1]);
	(void)close(rig.scene.uppers[2]);
	rig_end(&rig);
}

Test(merge, shows_what_the_layers_showed)
{
	rig_begin(&rig, 3);
	put_file(HOST, "host", "host");
	put_file(HOST, "gone", "host");
	put_file(HOST, "back", "host");
	put_file(HOST, "hidden/host", "host");
	put_file(HOST, "replaced/host", "host");
	put_file(HOST, "merged/host", "host");
	put_file(HOST, "file-then-folder", "host");
	put_file(LOWEST, "gone", "lowest");
	put_whiteout(LOWEST, "back");
	put_file(LOWEST, "hidden/lowest", "lowest");
	put_file(LOWEST, "merged/lowest", "lowest");
	put_file(LOWEST, "merged/all", "lowest");
	put_whiteout(LOWEST, "file-then-folder");
	put_file(LOWER, "hidden/lower", "lower");
	put_mark(LOWER, "hidden", "user.overlay.opaque", "y");
	put_whiteout(LOWER, "replaced");
	put_file(LOWER, "merged/all", "lower");
	put_file(LOWER, "file-then-folder/in", "in");
	put_whiteout(UPPER, "gone");
	put_file(UPPER, "back", "upper");
	put_file(UPPER, "hidden/upper", "upper");
	put_whiteout(UPPER, "hidden/lower");
	put_file(UPPER, "replaced/upper", "upper");
	put_file(UPPER, "merged/all", "upper");
	put_link(UPPER, "merged/link", "/etc");
	put_file(UPPER, "file-then-folder/more", "more");
	merge_shows_the_same();
	cr_assert(is_whiteout("workspace/gone"), "the host has it");
	cr_assert(is_opaque("workspace/hidden"));
	cr_assert(!is_there("workspace/hidden/lowest"));
	cr_assert(has_origin("workspace/hidden"), "whiteouts over nothing are not listed");
	cr_assert(is_opaque("workspace/replaced"), "the whiteout below it hid the host's");
	cr_assert(is_opaque("workspace/file-then-folder"));
	cr_assert(!is_opaque("workspace/merged"));
	end();
}

Test(merge, takes_every_place_and_nothing_of_overlayfs_own)
{
	rig_begin(&rig, 2);
	put_file(UPPER, "file", "x");
	put_file(rig.scene.directories.layers[0], "home/a", "upper");
	put_file(rig.scene.directories.layers[1], "home/a", "lower");
	put_file(rig.scene.directories.layers[1], "home/b", "lower");
	put_folder(rig.scene.directories.layers[0], "work-home/work");
	put_mode(rig.scene.directories.layers[0], "work-home/work", 0);
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0);
	cr_assert_not_null(strstr(rig_show(&rig, TARGET), "home/a 100644 upper\n"
							  "home/b 100644 lower\n"));
	cr_assert(!is_there("work-home"));
	cr_assert_gt(rig.job.done.inodes, 4);
	cr_assert_gt(rig.job.done.bytes, 0);
	rig_end(&rig);
}

/* The data is the layer's own; and what was one file in it is one. */
Test(merge, links_files_in_place_of_copying_them)
{
	struct stat layer, one, two;

	rig_begin(&rig, 2);
	put_file(LOWER, "one", "linked");
	cr_assert_eq(linkat(LOWER, "one", LOWER, "two", 0), 0);
	put_mode(LOWER, "one", 0440);
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0);
	cr_assert_eq(fstatat(LOWER, "one", &layer, 0), 0);
	cr_assert_eq(fstatat(TARGET, "workspace/one", &one, 0), 0);
	cr_assert_eq(fstatat(TARGET, "workspace/two", &two, 0), 0);
	cr_assert_eq(one.st_ino, layer.st_ino);
	cr_assert_eq(one.st_ino, two.st_ino);
	cr_assert_eq(one.st_nlink, 4);
	rig_end(&rig);
}

Test(merge, gives_directories_what_the_highest_layer_gives_them)
{
	const struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 2000000 } };
	struct stat status;
	char value[8] = "";
	int fd;

	rig_begin(&rig, 2);
	put_file(LOWER, "folder/in", "x");
	put_mode(LOWER, "folder", 0777);
	put_file(UPPER, "folder/more/in", "x");
	put_mark(UPPER, "folder", "user.mine", "value");
	put_mode(UPPER, "folder/more", 0555);
	put_mode(UPPER, "folder", 0500);
	cr_assert_eq(utimensat(UPPER, "folder", times, 0), 0);
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0);
	cr_assert_eq(fstatat(TARGET, "workspace/folder", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 0500U);
	cr_assert_eq(status.st_mtim.tv_sec, 2000000);
	cr_assert_eq(fstatat(TARGET, "workspace/folder/more", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 0555U);
	fd = openat(TARGET, "workspace/folder", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fgetxattr(fd, "user.mine", value, sizeof(value)), 5);
	cr_assert_arr_eq(value, "value", 5);
	(void)close(fd);
	rig_end(&rig);
}

Test(merge, joins_the_bases_lowest_first)
{
	struct job_directories *directories = &rig.scene.directories;
	struct job_directories lower;

	rig_begin(&rig, 2);
	put_file(HOST, "low", "old");
	put_file(HOST, "high", "old");
	put_file(LOWER, "low", "new");
	lower = *directories;
	lower.layers[0] = directories->layers[1];
	lower.layer_count = 1;
	cr_assert_eq(base_note(&lower, UINT64_MAX), 0);
	put_file(UPPER, "high", "new");
	cr_assert_eq(base_note(directories, UINT64_MAX), 0);
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0);
	(void)close(directories->layers[1]);
	(void)close(directories->layers[0]);
	directories->layers[0] = dup(TARGET);
	directories->layer_count = 1;
	/* No conflict with either: both bases are known. */
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	cr_assert_eq(rig.job.done.conflicts, 0);
	cr_assert_eq(rig.job.done.applied, 2);
	(void)close(rig.scene.uppers[1]);
	rig_end(&rig);
}

/* How deep a chain of directories with that name goes; `name` of a file in the last one. */
static int depth_of(int directory, const char *name, const char *file)
{
	int depth = 0;
	int below;

	directory = dup(directory);
	while ((below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		(void)close(directory);
		directory = below;
		depth++;
	}
	cr_assert_eq(faccessat(directory, file, F_OK, 0), 0, "%s", file);
	(void)close(directory);
	return depth;
}

static void put_chain(int directory, const char *name, int levels, const char *file)
{
	directory = dup(directory);
	for (int i = 0; i < levels; i++) {
		int below;

		cr_assert_eq(mkdirat(directory, name, 0755), 0);
		below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(directory);
		directory = below;
	}
	put_file(directory, file, "content");
	(void)close(directory);
}

Test(merge, goes_as_deep_as_the_layers)
{
	char name[201], command[128];

	memset(name, 'd', 200);
	name[200] = '\0';
	rig_begin(&rig, 3);
	put_chain(LOWEST, name, 400, "lowest"); /* 80 kB of path */
	put_chain(LOWER, name, 100, "lower");
	put_chain(LOWER, "short", 100, "lower");
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0, "%s", strerror((int)rig.job.done.error));
	int workspace = openat(TARGET, "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_eq(depth_of(workspace, name, "lowest"), 400);
	cr_assert_eq(depth_of(workspace, "short", "lower"), 100);
	(void)close(workspace);
	(void)snprintf(command, sizeof(command), "rm -rf %s/*", rig.scene.root);
	cr_assert_eq(system(command), 0); /* nftw(3) cannot name it */
	end();
}

Test(merge, takes_what_its_owner_shut)
{
	struct stat status;

	rig_begin(&rig, 3);
	put_file(LOWEST, "shut/deeper/file", "lowest");
	put_mode(LOWEST, "shut/deeper", 0);
	put_mode(LOWEST, "shut", 0);
	cr_assert_eq(rig_do(&rig, job_merge, NULL), 0, "%s", strerror((int)rig.job.done.error));
	cr_assert_eq(fstatat(TARGET, "workspace/shut", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 0);
	put_mode(TARGET, "workspace/shut", 0700);
	cr_assert_eq(fstatat(TARGET, "workspace/shut/deeper", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 0);
	cr_assert_eq(fstatat(LOWEST, "shut", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 0, "the layer is as it was");
	put_mode(LOWEST, "shut", 0700);
	put_mode(TARGET, "workspace/shut/deeper", 0700);
	put_mode(LOWEST, "shut/deeper", 0700);
	cr_assert_eq(faccessat(TARGET, "workspace/shut/deeper/file", F_OK, 0), 0);
	end();
}

Test(merge, refuses_what_only_tools_make)
{
	rig_begin(&rig, 2);
	put_file(LOWER, "folder/in", "x");
	put_mark(LOWER, "folder", "user.overlay.opaque", "x");
	put_file(UPPER, "folder/more", "x");
	cr_assert_eq(rig_do(&rig, job_merge, NULL), -ENOTSUP);
	rig_end(&rig);
}
