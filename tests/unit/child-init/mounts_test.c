/* SPDX-License-Identifier: Apache-2.0
 *
 * Building base trees: each kind of record, and what is refused.
 */
#include "mounts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/ipc/ipc_factory.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "isolated.h"
#include "look.h"

#define BASE PLAN_PHASE_BASE
#define BASE_TREE "/base/0"
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* What shall come of it; the act looks at its own copy. */
static struct plan plan;
static struct shown shown;
static int expected_error;
static uint32_t expected_stage = STAGE_BASE;
static int (*look)(void);

static void prepare(void)
{
	(void)look_folder_make();
	hand_plan_begin();
}

TestSuite(mounts, .init = prepare, .fini = look_folder_remove, .timeout = 60);

static struct plan_mount *add(uint32_t kind, const char *target, const char *source)
{
	struct plan_mount *mount = hand_plan_add(kind, BASE, target, source);

	mount->attributes = kind == PLAN_BIND ? READ_ONLY : 0;
	return mount;
}

static int build(void *unused)
{
	uint32_t stage = STAGE_NONE;
	const int host = mounts_stage();
	int error;

	CHECK(host >= 0);
	error = mounts_build_base(&plan, 0, host, &shown, &stage);
	if (error != expected_error || (error && stage != expected_stage)) {
		(void)fprintf(stderr, "%s: %s\n", stage_text(stage), strerror(-error));
		return ACT_FAILED;
	}
	return look ? look() : ACT_PASSED;
}

static void expect(int error)
{
	expected_error = error;
	hand_plan_open(&plan);
	isolated_test(CLONE_NEWNS, build, NULL);
}

static void expect_tree(int (*looks)(void))
{
	look = looks;
	expect(0);
}

static struct pin *add_pinned(uint32_t kind, const char *target, const char *source)
{
	struct plan_mount *mount = add(kind, target, source);
	struct pin *pin = &shown.pins[0][shown.pin_counts[0]++];

	mount->flags = PLAN_PINNED;
	cr_assert_eq(stat(source, &pin->meant), 0);
	pin->is.mount = hand_plan.profile.mount_count - 1;
	return pin;
}

/* A bind of the operator's, as the launcher opened it. */
static struct pin *add_bind(const char *host_path, const char *inside_path)
{
	struct pin *pin = add_pinned(PLAN_BIND, inside_path, host_path);

	hand_plan.mounts[pin->is.mount].attributes |= MOUNT_ATTR_RDONLY;
	return pin;
}

static int stage_twice(void *unused)
{
	struct stat root;
	struct stat host;
	const int fd = mounts_stage();

	CHECK(fd >= 0);
	CHECK(look_holds("/", "base host"));
	CHECK(look_holds("/base", ""));
	CHECK(look_mode("/host/usr/bin") != 0);
	CHECK(fstat(fd, &host) == 0 && stat("/host", &root) == 0);
	CHECK(host.st_dev == root.st_dev && host.st_ino == root.st_ino);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK((fcntl(fd, F_GETFL) & O_PATH) != 0);
	return ACT_PASSED;
}

Test(mounts, staging_leaves_the_host_and_room_for_trees)
{
	isolated_test(CLONE_NEWNS, stage_twice, NULL);
}

static int look_at_plain(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed bin etc var"));
	CHECK(look_holds(BASE_TREE "/etc", "copied hosts secret"));
	CHECK(look_holds(BASE_TREE "/var", "a"));
	CHECK(look_mode(BASE_TREE "/etc") == (S_IFDIR | 0755));
	CHECK(look_mode(BASE_TREE "/var/a/b") == (S_IFDIR | 0500));
	CHECK(look_mode(BASE_TREE "/bin") == (S_IFLNK | 0777));
	CHECK(look_mode(BASE_TREE "/etc/hosts") == (S_IFREG | 0444));
	CHECK(look_says(BASE_TREE "/etc/hosts", "127.0.0.1 localhost\n"));
	CHECK(look_mode(BASE_TREE "/etc/secret") == (S_IFREG | 0400));
	CHECK(look_says(BASE_TREE "/etc/secret", ""));
	CHECK(look_mode(BASE_TREE "/etc/copied") == (S_IFREG | 0440));
	CHECK(look_says(BASE_TREE "/etc/copied", "of the host"));
	return ACT_PASSED;
}

Test(mounts, the_tree_holds_the_records_and_nothing_else)
{
	add(PLAN_DIRECTORY, "/etc", NULL);
	add(PLAN_DIRECTORY, "/var/a/b", NULL)->mode = 0500;
	add(PLAN_SYMLINK, "/bin", "usr/bin");
	add(PLAN_FILE, "/etc/hosts", "127.0.0.1 localhost\n")->mode = 0444;
	add(PLAN_FILE, "/etc/secret", "")->mode = 0400;
	add(PLAN_COPY, "/etc/copied", look_folder("file"))->mode = 0440;
	hand_plan_add(PLAN_DIRECTORY, PLAN_PHASE_SANDBOX, "/later", NULL);
	expect_tree(look_at_plain);
}

static int look_at_bound(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed bound one"));
	CHECK(look_holds(BASE_TREE "/bound", "inner sub"));
	CHECK(look_says(BASE_TREE "/bound/inner", "inner text"));
	CHECK(look_says(BASE_TREE "/one", "of the host"));
	CHECK(look_write(BASE_TREE "/one") == EROFS);
	CHECK(look_create(BASE_TREE "/bound/new") == EROFS);
	CHECK(look_flags(BASE_TREE "/bound", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_write("/host/dev/null") == 0);
	return ACT_PASSED;
}

Test(mounts, the_hosts_files_are_bound_with_their_attributes)
{
	add(PLAN_BIND, "/bound", look_folder("folder"));
	add(PLAN_BIND, "/one", look_folder("file"));
	expect_tree(look_at_bound);
}

static int look_at_read_only(void)
{
	CHECK(look_create(BASE_TREE "/new") == EROFS);
	CHECK(look_create(BASE_TREE "/etc/new") == EROFS);
	CHECK(look_create(BASE_TREE "/bound/new") == EROFS);
	CHECK(look_flags(BASE_TREE, ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC));
	CHECK(look_flags(BASE_TREE "/null", ST_RDONLY));
	CHECK(look_create("/new") == 0);
	return ACT_PASSED;
}

Test(mounts, the_whole_is_read_only_at_the_end)
{
	add(PLAN_DIRECTORY, "/etc", NULL);
	add(PLAN_BIND, "/bound", look_folder("folder"));
	add(PLAN_DEVICE, "/null", "/dev/null")->device = makedev(1, 3); /* no attributes */
	expect_tree(look_at_read_only);
}

static int look_at_device(void)
{
	struct stat status;

	CHECK(stat(BASE_TREE "/dev/null", &status) == 0);
	CHECK(S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3));
	return ACT_PASSED;
}

Test(mounts, a_device_is_the_one_that_is_meant)
{
	add(PLAN_DEVICE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	expect_tree(look_at_device);
}

Test(mounts, another_device_of_that_name_is_refused)
{
	add(PLAN_DEVICE, "/dev/null", "/dev/null")->device = makedev(1, 5);
	expect(-ENODEV);
}

Test(mounts, what_is_no_device_is_refused)
{
	add(PLAN_DEVICE, "/dev/null", look_folder("file"))->device = 0;
	expect(-ENODEV);
}

static int look_at_none(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed last"));
	return ACT_PASSED;
}

Test(mounts, what_is_optional_may_be_missing)
{
	add(PLAN_COPY, "/copy", look_folder("missing"))->flags = PLAN_OPTIONAL;
	add(PLAN_BIND, "/bind", look_folder("missing"))->flags = PLAN_OPTIONAL;
	add(PLAN_DEVICE, "/device", look_folder("missing"))->flags = PLAN_OPTIONAL;
	add(PLAN_MASK, "/mask", NULL)->flags = PLAN_OPTIONAL;
	add(PLAN_DIRECTORY, "/last", NULL);
	expect_tree(look_at_none);
}

Test(mounts, a_required_bind_may_not_be_missing)
{
	add(PLAN_BIND, "/bind", look_folder("missing"));
	expect(-ENOENT);
}

Test(mounts, a_required_copy_may_not_be_missing)
{
	add(PLAN_COPY, "/copy", look_folder("missing"));
	expect(-ENOENT);
}

Test(mounts, a_required_device_may_not_be_missing)
{
	add(PLAN_DEVICE, "/device", look_folder("missing"));
	expect(-ENOENT);
}

Test(mounts, a_required_mask_needs_its_target)
{
	add(PLAN_MASK, "/mask", NULL);
	expect(-ENOENT);
}

/* Only what is missing may be left out: an optional device of the wrong kind is no device. */
Test(mounts, optional_is_not_careless)
{
	add(PLAN_DEVICE, "/dev/null", look_folder("file"))->flags = PLAN_OPTIONAL;
	expect(-ENODEV);
}

static int look_at_modes(void)
{
	CHECK(look_mode(BASE_TREE "/a") == (S_IFDIR | 0700));
	CHECK(look_mode(BASE_TREE "/b") == (S_IFDIR | 0755));
	CHECK(look_mode(BASE_TREE "/b/c") == (S_IFDIR | 0500));
	return ACT_PASSED;
}

Test(mounts, a_directory_keeps_its_mode)
{
	add(PLAN_DIRECTORY, "/a", NULL)->mode = 0700;
	add(PLAN_DIRECTORY, "/a", NULL)->mode = 0755;
	add(PLAN_DIRECTORY, "/b/c", NULL)->mode = 0500;
	expect_tree(look_at_modes);
}

Test(mounts, a_file_is_not_made_where_a_link_points)
{
	add(PLAN_SYMLINK, "/link", "dangling");
	add(PLAN_FILE, "/link", "text");
	expect(-EEXIST);
}

Test(mounts, a_file_is_not_made_over_a_directory)
{
	add(PLAN_DIRECTORY, "/etc", NULL);
	add(PLAN_FILE, "/etc", "text");
	expect(-EEXIST);
}

Test(mounts, a_file_is_not_made_through_a_link_that_leads_out)
{
	add(PLAN_SYMLINK, "/link", "../../nonexistent");
	add(PLAN_FILE, "/link/file", "text");
	expect(-ENOENT);
}

Test(mounts, two_records_for_one_file_are_refused)
{
	add(PLAN_FILE, "/file", "first");
	add(PLAN_COPY, "/file", look_folder("file"));
	expect(-EEXIST);
}

Test(mounts, a_target_may_not_lead_out_of_the_tree)
{
	add(PLAN_BIND, "/..", look_folder("folder"));
	expect(-EINVAL);
}

static int look_beside(void)
{
	CHECK(look_holds("/base", "0"));
	CHECK(look_holds(BASE_TREE, ".sealed base link"));
	CHECK(look_holds(BASE_TREE "/base", "made"));
	return ACT_PASSED;
}

Test(mounts, a_link_of_the_tree_does_not_lead_out)
{
	add(PLAN_DIRECTORY, "/base", NULL);
	add(PLAN_SYMLINK, "/link", "../../base");
	add(PLAN_DIRECTORY, "/link/made", NULL);
	expect_tree(look_beside);
}

Test(mounts, a_file_system_that_does_not_exist_is_an_error)
{
	add(PLAN_TMPFS, "/tmp", "nosuchfs");
	expect(-ENODEV);
}

Test(mounts, options_that_do_not_exist_are_an_error)
{
	struct plan_mount *mount = add(PLAN_TMPFS, "/tmp", "tmpfs");

	mount->options = hand_plan_put("nosuch\0value", sizeof("nosuch\0value"));
	mount->options_size = sizeof("nosuch\0value");
	expect(-EINVAL);
}

static int look_at_binds(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed data one"));
	CHECK(look_holds(BASE_TREE "/data/in", "inner sub"));
	CHECK(look_says(BASE_TREE "/one", "of the host"));
	CHECK(look_flags(BASE_TREE "/data/in", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_create(BASE_TREE "/data/in/new") == EROFS);
	CHECK(look_create(BASE_TREE "/data/new") == EROFS);
	return ACT_PASSED;
}

Test(mounts, an_operators_bind_is_read_only)
{
	add_bind(look_folder("folder"), "/data/in");
	add_bind(look_folder("file"), "/one");
	expect_tree(look_at_binds);
}

static int look_for_no_bind(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed one"));
	return ACT_PASSED;
}

Test(mounts, a_bind_of_the_other_phase_waits)
{
	hand_plan.mounts[add_bind(look_folder("folder"), "/data")->is.mount].phase =
		PLAN_PHASE_SANDBOX;
	add_bind(look_folder("file"), "/one");
	expect_tree(look_for_no_bind);
}

Test(mounts, a_bind_that_is_another_inode_now_is_refused)
{
	add_bind(look_folder("file"), "/one")->meant.st_ino++;
	expected_stage = STAGE_BIND;
	expect(-ESTALE);
}

Test(mounts, a_bind_that_is_on_another_device_now_is_refused)
{
	add_bind(look_folder("file"), "/one")->meant.st_dev++;
	expected_stage = STAGE_BIND;
	expect(-ESTALE);
}

Test(mounts, a_bind_that_was_replaced_is_refused)
{
	add_bind(look_folder("file"), "/one");
	cr_assert_eq(rename(look_folder("folder/inner"), look_folder("file")), 0);
	expected_stage = STAGE_BIND;
	expect(-ESTALE);
}

Test(mounts, a_bind_that_is_gone_is_refused)
{
	add_bind(look_folder("file"), "/one");
	cr_assert_eq(unlink(look_folder("file")), 0);
	expected_stage = STAGE_BIND;
	expect(-ESTALE);
}

/* The launcher resolved all links: one that is there now was put there since. */
Test(mounts, a_bind_through_a_link_is_refused)
{
	add_bind(look_folder("link/inner"), "/one");
	expected_stage = STAGE_BIND;
	expect(-ELOOP);
}

Test(mounts, a_bind_that_is_a_link_is_refused)
{
	add_bind(look_folder("link"), "/data");
	expected_stage = STAGE_BIND;
	expect(-ELOOP);
}

static int build_again(void)
{
	uint32_t stage;

	CHECK(mounts_build_base(&plan, 0, -1, &shown, &stage) == -EEXIST);
	CHECK(stage == STAGE_BASE);
	CHECK(look_holds(BASE_TREE, ".sealed etc"));
	return ACT_PASSED;
}

Test(mounts, a_base_is_built_once)
{
	add(PLAN_DIRECTORY, "/etc", NULL);
	expect_tree(build_again);
}

/* A record of the operator's, as the launcher opened it. */
static struct plan_mount *record_of(const struct pin *pin)
{
	return &hand_plan.mounts[pin->is.mount];
}

static void expect_pin_refused(int error)
{
	expected_stage = STAGE_BIND;
	expect(error);
}

static int look_at_pinned(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed copied data one"));
	CHECK(look_holds(BASE_TREE "/data", "inner sub"));
	CHECK(look_says(BASE_TREE "/one", "of the host"));
	CHECK(look_says(BASE_TREE "/copied", "of the host"));
	CHECK(look_flags(BASE_TREE "/data", ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC));
	CHECK(look_create(BASE_TREE "/data/new") == EROFS);
	CHECK(look_write(BASE_TREE "/one") == EROFS);
	return ACT_PASSED;
}

Test(mounts, what_is_pinned_is_shown)
{
	record_of(add_pinned(PLAN_BIND, "/data", look_folder("folder")))->attributes |=
		MOUNT_ATTR_NOEXEC;
	(void)add_pinned(PLAN_BIND, "/one", look_folder("file"));
	(void)add_pinned(PLAN_COPY, "/copied", look_folder("file"));
	expect_tree(look_at_pinned);
}

static int look_at_writable(void)
{
	CHECK(look_create(BASE_TREE "/data/new") == 0);
	CHECK(look_write(BASE_TREE "/data/inner") == 0);
	CHECK(look_write(BASE_TREE "/one") == 0);
	CHECK(look_flags(BASE_TREE "/data", ST_NOSUID | ST_NODEV));
	CHECK(!look_flags(BASE_TREE "/data", ST_RDONLY));
	CHECK(look_create(BASE_TREE "/new") == EROFS);
	CHECK(look_create(BASE_TREE "/etc/new") == EROFS);
	CHECK(look_create(BASE_TREE "/other/x") == EROFS);
	return ACT_PASSED;
}

Test(mounts, what_may_be_written_does_not_open_the_rest)
{
	add(PLAN_DIRECTORY, "/etc", NULL);
	record_of(add_pinned(PLAN_BIND, "/data", look_folder("folder")))->attributes &=
		~(uint64_t)MOUNT_ATTR_RDONLY;
	record_of(add_pinned(PLAN_BIND, "/one", look_folder("file")))->attributes &=
		~(uint64_t)MOUNT_ATTR_RDONLY;
	add_pinned(PLAN_BIND, "/other", look_folder("folder"));
	expect_tree(look_at_writable);
	cr_expect_eq(look_mode(look_folder("folder/new")), (mode_t)(S_IFREG | 0600));
}

/* A mount point of another's that is missing in it would come to be on the host. */
Test(mounts, nothing_is_made_in_what_may_be_written)
{
	record_of(add_pinned(PLAN_BIND, "/data", look_folder("folder")))->attributes &=
		~(uint64_t)MOUNT_ATTR_RDONLY;
	add_bind(look_folder("file"), "/data/new");
	expected_stage = STAGE_BIND;
	expect(-EROFS);
	cr_expect_eq(look_mode(look_folder("folder/new")), (mode_t)0);
}

Test(mounts, what_the_launcher_did_not_open_is_not_shown)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder"));
	shown.pin_counts[0] = 0;
	expect_pin_refused(-ENOENT);
}

Test(mounts, nor_by_a_pin_of_another_record_or_profile)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder"))->is.profile = 1;
	shown.pins[0][1] = shown.pins[0][0];
	shown.pins[0][1].is = (struct ipc_factory_pin){ 0, 0, 1 };
	shown.pin_counts[0] = 2;
	expect_pin_refused(-ENOENT);
}

static int look_for_none(void)
{
	CHECK(look_holds(BASE_TREE, ".sealed"));
	return ACT_PASSED;
}

Test(mounts, what_may_be_missing_and_was_is_left_out)
{
	record_of(add_pinned(PLAN_BIND, "/data", look_folder("folder")))->flags |= PLAN_OPTIONAL;
	shown.pin_counts[0] = 0;
	expect_tree(look_for_none);
}

Test(mounts, what_was_there_and_is_gone_is_not_left_out)
{
	record_of(add_pinned(PLAN_BIND, "/one", look_folder("file")))->flags |= PLAN_OPTIONAL;
	cr_assert_eq(unlink(look_folder("file")), 0);
	expect_pin_refused(-ESTALE);
}

Test(mounts, a_pinned_path_that_leads_elsewhere_now)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder"));
	cr_assert_eq(rename(look_folder("folder"), look_folder("away")), 0);
	cr_assert_eq(mkdir(look_folder("folder"), 0755), 0);
	expect_pin_refused(-ESTALE);
}

Test(mounts, a_pinned_path_that_is_a_link_now)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder"));
	cr_assert_eq(rename(look_folder("folder"), look_folder("away")), 0);
	cr_assert_eq(symlink("away", look_folder("folder")), 0); /* to the very same */
	expect_pin_refused(-ELOOP);
}

Test(mounts, a_pinned_path_with_a_link_above_it_now)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder/sub"));
	cr_assert_eq(rename(look_folder("folder"), look_folder("away")), 0);
	cr_assert_eq(symlink("away", look_folder("folder")), 0);
	expect_pin_refused(-ELOOP);
}

Test(mounts, a_copy_of_another_file_than_was_meant)
{
	add_pinned(PLAN_COPY, "/copied", look_folder("file"))->meant.st_ino++;
	expect_pin_refused(-ESTALE);
}

static int build_at_last(void)
{
	uint32_t stage;
	const int host = open("/host", O_PATH | O_CLOEXEC);

	CHECK(look_holds("/base", ""));
	shown.pins[0][0].meant.st_ino--;
	CHECK(mounts_build_base(&plan, 0, host, &shown, &stage) == 0);
	CHECK(look_holds(BASE_TREE "/data", "inner sub"));
	return ACT_PASSED;
}

Test(mounts, a_failure_leaves_nothing_and_can_be_repeated)
{
	add_pinned(PLAN_BIND, "/data", look_folder("folder"))->meant.st_ino++;
	look = build_at_last;
	expect_pin_refused(-ESTALE);
}
