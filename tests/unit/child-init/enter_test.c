/* SPDX-License-Identifier: Apache-2.0
 *
 * Entering a sandbox's own tree, in nested namespaces as an init does it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/identity.h"
#include "common/fd.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "isolated.h"
#include "look.h"
#include "mounts.h"

#define BASE PLAN_PHASE_BASE
#define SANDBOX PLAN_PHASE_SANDBOX
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define READ_WRITE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define NESTED (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)

static struct plan plan;
static struct shown shown;
static struct places places; /* none */
static int expected_error;
static uint32_t expected_stage;
static int (*look)(void);

static void add_tmpfs(const char *target, const char *mode)
{
	struct plan_mount *mount = hand_plan_add(PLAN_TMPFS, SANDBOX, target, "tmpfs");
	char options[32];
	const int size = snprintf(options, sizeof(options), "mode%c%s", '\0', mode) + 1;

	mount->attributes = READ_WRITE;
	mount->options = hand_plan_put(options, (size_t)size);
	mount->options_size = (uint32_t)size;
}

/* The base that every test has; tests add to it. */
static void prepare(void)
{
	(void)look_folder_make();
	hand_plan_begin();
	hand_plan_add(PLAN_DIRECTORY, BASE, "/var/empty", NULL)->mode = 0555;
	hand_plan_add(PLAN_DIRECTORY, BASE, "/tmp", NULL);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/proc", NULL);
	hand_plan_add(PLAN_FILE, BASE, "/etc/hosts", "localhost\n")->mode = 0444;
	hand_plan_add(PLAN_BIND, BASE, "/bound", look_folder("folder"))->attributes = READ_ONLY;
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	add_tmpfs("/tmp", "1777");
}

TestSuite(enter, .init = prepare, .fini = look_folder_remove, .timeout = 60);

static int enter(void)
{
	uint32_t stage = STAGE_NONE;
	const int error = mounts_enter(&plan, 0, &shown, &places, &stage);

	if (error != expected_error || (error && stage != expected_stage)) {
		(void)fprintf(stderr, "%s: %s\n", stage_text(stage), strerror(-error));
		return ACT_FAILED;
	}
	return error ? ACT_PASSED : look();
}

/* As the factory clones an init: all namespaces at once, then its maps. */
static int nest(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int status = -1;
	pid_t pid;

	CHECK(unshare(NESTED) == 0);
	CHECK(identity_map("/host/proc", true, uid, uid, gid) == 0);
	pid = fork();
	if (pid == 0)
		_exit(enter());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int stage_and_nest(void *unused)
{
	uint32_t stage;
	int host = mounts_stage();

	CHECK(host >= 0);
	CHECK(mounts_build_base(&plan, 0, host, &shown, &stage) == 0);
	fd_close(&host);
	return nest();
}

static void expect_inside(int (*looks)(void))
{
	look = looks;
	hand_plan_open(&plan);
	isolated_test(CLONE_NEWNS, stage_and_nest, NULL);
}

static void expect_failure(int error, uint32_t stage)
{
	expected_error = error;
	expected_stage = stage;
	expect_inside(NULL);
}

static int look_around(void)
{
	CHECK(look_holds("/", ".sealed bound dev etc proc tmp var"));
	CHECK(look_holds("/bound", "inner sub"));
	CHECK(look_holds("/dev", "null"));
	CHECK(look_holds("/etc", "hosts"));
	CHECK(look_holds("/proc", ""));
	CHECK(look_holds("/tmp", ""));
	CHECK(look_holds("/var", "empty"));
	CHECK(look_holds("/..", ".sealed bound dev etc proc tmp var"));
	CHECK(look_holds(".", ".sealed bound dev etc proc tmp var"));
	CHECK(look_mode("/tmp") == (S_IFDIR | S_ISVTX | 0777));
	return ACT_PASSED;
}

Test(enter, the_tree_is_all_there_is)
{
	expect_inside(look_around);
}

static int look_at_locks(void)
{
	CHECK(look_create("/new") == EROFS);
	CHECK(look_create("/etc/new") == EROFS);
	CHECK(look_create("/bound/new") == EROFS);
	CHECK(look_write("/bound/inner") == EROFS);
	CHECK(look_create("/tmp/new") == 0);
	CHECK(look_write("/dev/null") == 0);
	CHECK(look_flags("/", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_flags("/bound", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_flags("/tmp", ST_NOSUID | ST_NODEV));
	CHECK(look_remount("/") == EPERM);
	CHECK(look_remount("/bound") == EPERM);
	return ACT_PASSED;
}

Test(enter, the_base_stays_read_only)
{
	expect_inside(look_at_locks);
}

static int look_at_masks(void)
{
	struct stat status;

	CHECK(look_holds("/bound/sub", ""));
	CHECK(look_create("/bound/sub/new") == EROFS);
	CHECK(stat("/etc/hosts", &status) == 0 && S_ISCHR(status.st_mode));
	CHECK(look_says("/etc/hosts", ""));
	CHECK(look_says("/bound/inner", "inner text"));
	return ACT_PASSED;
}

Test(enter, masks_hide)
{
	hand_plan_add(PLAN_MASK, SANDBOX, "/bound/sub", NULL);
	hand_plan_add(PLAN_MASK, SANDBOX, "/etc/hosts", NULL);
	hand_plan_add(PLAN_MASK, SANDBOX, "/etc/missing", NULL)->flags = PLAN_OPTIONAL;
	expect_inside(look_at_masks);
}

Test(enter, a_mask_needs_its_target)
{
	hand_plan_add(PLAN_MASK, SANDBOX, "/etc/missing", NULL);
	expect_failure(-ENOENT, STAGE_MOUNTS);
}

/* Nothing can be made in the read-only base: a mount point must have been there. */
Test(enter, a_mount_point_must_be_in_the_base)
{
	add_tmpfs("/new", "0755");
	expect_failure(-EROFS, STAGE_MOUNTS);
}

static int look_at_proc(void)
{
	char self[16] = "";

	CHECK(readlink("/proc/self", self, sizeof(self) - 1) == 1);
	CHECK(strcmp(self, "1") == 0);
	CHECK(look_mode("/proc/2") == 0);
	CHECK(look_flags("/proc", ST_NOSUID | ST_NODEV | ST_NOEXEC));
	return ACT_PASSED;
}

Test(enter, proc_is_of_the_own_pid_namespace)
{
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc")->attributes =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	expect_inside(look_at_proc);
}

static struct pin *add_bind(const char *inside_path)
{
	struct plan_mount *mount =
		hand_plan_add(PLAN_BIND, SANDBOX, inside_path, look_folder("folder"));
	struct pin *pin = &shown.pins[0][shown.pin_counts[0]++];

	mount->flags = PLAN_PINNED;
	mount->attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	pin->is.mount = hand_plan.profile.mount_count - 1;
	cr_assert_eq(stat(look_folder("folder"), &pin->meant), 0);
	return pin;
}

static int look_at_bind(void)
{
	CHECK(look_holds("/tmp", "in"));
	CHECK(look_holds("/tmp/in", "inner sub"));
	CHECK(look_create("/tmp/in/new") == EROFS);
	CHECK(look_flags("/tmp/in", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_create("/tmp/new") == 0);
	return ACT_PASSED;
}

Test(enter, a_bind_in_a_tmpfs_is_made_in_each_sandbox)
{
	add_bind("/tmp/in");
	expect_inside(look_at_bind);
}

Test(enter, a_bind_that_changed_since_is_refused)
{
	add_bind("/tmp/in")->meant.st_ino++;
	expect_failure(-ESTALE, STAGE_BIND);
}

/* A record of kind overlay with a pin; the tmpfs above it has these options. */
static struct plan_mount *add_overlay(const char *source, const char *options, size_t size)
{
	struct plan_mount *mount;

	hand_plan_add(PLAN_DIRECTORY, BASE, "/cow", NULL);
	mount = hand_plan_add(PLAN_OVERLAY, SANDBOX, "/cow", source);
	mount->flags = PLAN_PINNED;
	mount->attributes = READ_WRITE;
	mount->options = hand_plan_put(options, size);
	mount->options_size = (uint32_t)size;
	cr_assert_eq(stat(source, &shown.pins[0][0].meant), 0);
	shown.pins[0][0].is.mount = hand_plan.profile.mount_count - 1;
	shown.pin_counts[0] = 1;
	return mount;
}

#define SMALL                                                                                      \
	"size\0"                                                                                   \
	"256k\0"                                                                                   \
	"nr_inodes\0"                                                                              \
	"32\0"                                                                                     \
	"mode\0"                                                                                   \
	"0755"

static int count_mounts_at(const char *place)
{
	char line[512];
	char name[64];
	int count = 0;
	FILE *file = fopen("/proc/self/mountinfo", "re");

	(void)snprintf(name, sizeof(name), " %s ", place);
	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, name) != NULL;
	return file && fclose(file) == 0 ? count : -1;
}

static int look_at_overlay(void)
{
	CHECK(look_holds("/cow", "inner sub"));
	CHECK(look_says("/cow/inner", "inner text"));
	CHECK(look_mode("/cow") == (S_IFDIR | 0755));
	CHECK(look_create("/cow/new") == 0);
	CHECK(look_create("/cow/sub/new") == 0);
	CHECK(unlink("/cow/inner") == 0);
	CHECK(unlink("/cow/sub/deep") == 0);
	CHECK(mkdir("/cow/inner", 0700) == 0);
	CHECK(look_holds("/cow", "inner new sub"));
	CHECK(look_holds("/cow/sub", "new"));
	CHECK(look_flags("/cow", ST_NOSUID | ST_NODEV | ST_NOEXEC));
	CHECK(count_mounts_at("/cow") == 1);
	CHECK(look_create("/new") == EROFS);
	return ACT_PASSED;
}

static void add_proc(void)
{
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc");
}

Test(enter, what_is_written_to_an_overlay_stays_in_the_sandbox)
{
	add_proc();
	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL))->attributes |= MOUNT_ATTR_NOEXEC;
	expect_inside(look_at_overlay);
	cr_expect(look_holds(look_folder("folder"), "inner sub"));
	cr_expect(look_holds(look_folder("folder/sub"), "deep"));
	cr_expect(look_says(look_folder("folder/inner"), "inner text"));
}

static int fill_overlay(void)
{
	char path[32];
	int error = 0;

	for (int i = 0; i < 40 && !error; i++) {
		(void)snprintf(path, sizeof(path), "/cow/%d", i);
		error = look_create(path);
	}
	CHECK(error == ENOSPC);
	return ACT_PASSED;
}

Test(enter, an_overlay_has_no_more_inodes_than_the_plan_says)
{
	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL));
	expect_inside(fill_overlay);
}

static int fill_overlay_with_bytes(void)
{
	static char block[65536];
	const int fd = open("/cow/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct statvfs status;
	ssize_t size = 1;

	for (int i = 0; i < 8 && size > 0; i++)
		size = write(fd, block, sizeof(block));
	CHECK(size < 0 && errno == ENOSPC);
	CHECK(close(fd) == 0);
	CHECK(statvfs("/cow", &status) == 0 && status.f_bfree == 0);
	return ACT_PASSED;
}

Test(enter, an_overlay_has_no_more_bytes_than_the_plan_says)
{
	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL));
	expect_inside(fill_overlay_with_bytes);
}

Test(enter, an_overlay_of_another_folder_than_was_meant)
{
	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL));
	shown.pins[0][0].meant.st_ino++;
	expect_failure(-ESTALE, STAGE_BIND);
}

Test(enter, an_overlay_of_a_file)
{
	add_overlay(look_folder("file"), SMALL, sizeof(SMALL));
	expect_failure(-ENOTDIR, STAGE_BIND);
}

static int hide_and_enter(void *unused)
{
	/* What is mounted there hides what lies beneath, which the overlay would show. */
	CHECK(mount("none", look_folder("folder/sub"), "tmpfs", 0, NULL) == 0);
	return stage_and_nest(NULL);
}

Test(enter, an_overlay_of_a_folder_with_a_mount_inside)
{
	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL));
	expected_error = -EINVAL;
	expected_stage = STAGE_BIND;
	hand_plan_open(&plan);
	isolated_test(CLONE_NEWNS, hide_and_enter, NULL);
}

static int look_at_two(void)
{
	CHECK(look_create("/cow/new") == 0);
	CHECK(look_holds("/again", "inner sub"));
	CHECK(look_create("/again/other") == 0);
	CHECK(look_holds("/cow", "inner new sub"));
	CHECK(look_holds("/host", "?") && look_holds("/base", "?"));
	return ACT_PASSED;
}

Test(enter, two_overlays_of_one_folder)
{
	struct plan_mount *second;

	add_overlay(look_folder("folder"), SMALL, sizeof(SMALL));
	hand_plan_add(PLAN_DIRECTORY, BASE, "/again", NULL);
	second = hand_plan_add(PLAN_OVERLAY, SANDBOX, "/again", look_folder("folder"));
	second->flags = PLAN_PINNED;
	second->attributes = READ_WRITE;
	second->options = hand_plan_put(SMALL, sizeof(SMALL));
	second->options_size = sizeof(SMALL);
	shown.pins[0][1] = shown.pins[0][0];
	shown.pins[0][1].is.mount = hand_plan.profile.mount_count - 1;
	shown.pin_counts[0] = 2;
	expect_inside(look_at_two);
}

static int enter_nothing(void *unused)
{
	uint32_t stage = STAGE_NONE;

	CHECK(mounts_stage() >= 0);
	CHECK(mounts_enter(&plan, 0, &shown, &places, &stage) == -ENOENT);
	CHECK(stage == STAGE_MOUNTS);
	CHECK(look_holds("/", "base host"));
	return ACT_PASSED;
}

Test(enter, there_must_be_a_base)
{
	hand_plan_open(&plan);
	isolated_test(CLONE_NEWNS, enter_nothing, NULL);
}

/* Two layers in the folder: what is in both is the upper one's. */
static void add_image(uint32_t phase)
{
	char layers[512];
	const char *upper = look_folder("folder");
	const char *lower = look_folder("lower");
	size_t size;

	cr_assert_eq(mkdir(lower, 0755), 0);
	cr_assert_eq(mkdir(look_folder("lower/sub"), 0755), 0);
	cr_assert_eq(mkdir(look_folder("lower/etc"), 0755), 0);
	cr_assert_eq(symlink("/nowhere", look_folder("lower/etc/hosts")), 0);
	cr_assert_eq(symlink("nothing", look_folder("lower/below")), 0);
	size = (size_t)snprintf(layers, sizeof(layers), "%s%c%s", upper, '\0', lower) + 1;
	hand_plan_image(phase, layers, size);
}

#define IMAGE_ROOT ".sealed below bound dev etc inner proc sub tmp var"

static int look_at_image(void)
{
	CHECK(look_holds("/", IMAGE_ROOT));
	CHECK(look_says("/inner", "inner text"));
	CHECK(look_says("/etc/hosts", "localhost\n"));
	CHECK(look_mode("/etc/hosts") == (S_IFREG | 0444));
	CHECK(look_holds("/sub", "deep"));
	CHECK(look_holds("/dev", "null"));
	CHECK(look_holds("/bound", "inner sub"));
	CHECK(look_create("/new") == EROFS);
	CHECK(look_create("/sub/new") == EROFS);
	CHECK(look_write("/inner") == EROFS);
	CHECK(look_remount("/") == EPERM);
	CHECK(look_flags("/", ST_RDONLY | ST_NOSUID | ST_NODEV));
	CHECK(look_create("/tmp/new") == 0);
	return ACT_PASSED;
}

Test(enter, the_root_of_an_image)
{
	add_image(BASE);
	expect_inside(look_at_image);
	cr_expect(look_holds(look_folder("folder"), "inner sub"), "the layers stay as they are");
	cr_expect(look_holds(look_folder("lower"), "below etc sub"));
}

static int look_at_own_image(void)
{
	CHECK(look_holds("/", IMAGE_ROOT));
	CHECK(look_says("/etc/hosts", "localhost\n"));
	CHECK(look_create("/new") == 0);
	CHECK(look_write("/inner") == 0);
	CHECK(unlink("/sub/deep") == 0);
	CHECK(unlink("/below") == 0);
	CHECK(look_write("/.sealed") == EROFS);
	CHECK(unlink("/.sealed") != 0);
	CHECK(look_create("/bound/new") == EROFS);
	CHECK(look_flags("/", ST_NOSUID | ST_NODEV));
	return ACT_PASSED;
}

Test(enter, a_root_of_the_sandboxs_own)
{
	add_image(SANDBOX);
	expect_inside(look_at_own_image);
	cr_expect(look_says(look_folder("folder/inner"), "inner text"));
	cr_expect(look_holds(look_folder("folder/sub"), "deep"));
	cr_expect(look_holds(look_folder("lower"), "below etc sub"));
}

Test(enter, a_layer_that_is_gone)
{
	static const char layers[] = "/nonexistent/layer";

	hand_plan_image(SANDBOX, layers, sizeof(layers));
	expect_failure(-ENOENT, STAGE_MOUNTS);
}
