/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox gets in place of a record's own mount, in nested namespaces as an init does it.
 * Layers are beneath a state directory that is opened outside of them, as the launcher does, and
 * workspaces are opened there too, as the path opener does.
 */
#include "places.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/identity.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/layer_role.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "isolated.h"
#include "look.h"
#include "mounts.h"

#define BASE PLAN_PHASE_BASE
#define SANDBOX PLAN_PHASE_SANDBOX
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define NESTED (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)

#define MIDDLE_ID "0000000000000000000000000m"
#define UPPER_ID "0000000000000000000000000p"
#define OTHER_ID "0000000000000000000000000t"
#define MIDDLE "layers/" MIDDLE_ID
#define UPPER "layers/" UPPER_ID
#define OTHER "layers/" OTHER_ID

static struct plan plan;
static struct shown shown;
static struct places places;
static int state;      /* the state directory */
static uint32_t place; /* index of the record */
static int expected_error;
static int (*look)(void);

static void make(const char *name)
{
	cr_assert_eq(mkdir(look_folder(name), 0755), 0, "%s", name);
}

static void write_file(const char *name, const char *text)
{
	int fd = open(look_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text), "%s", name);
	fd_close(&fd);
}

static struct plan_mount *add_place(uint32_t kind, uint32_t phase, const char *source)
{
	struct plan_mount *mount = hand_plan_add(kind, phase, "/place", source);

	mount->place = hand_plan_put("place", sizeof("place"));
	mount->attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	place = hand_plan.profile.mount_count - 1;
	return mount;
}

static void prepare(void)
{
	(void)look_folder_make();
	for (const char *const *name =
		     (const char *const[]){ "layers", UPPER, UPPER "/place", MIDDLE,
					    MIDDLE "/place", OTHER, "host", NULL };
	     *name; name++)
		make(*name);
	places.hosts[0] = places.hosts[1] = -1;
	state = open(look_folder(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(MIDDLE "/place/from-middle", "middle");
	write_file(MIDDLE "/place/both", "middle");
	write_file("host/from-host", "host");
	write_file("host/both", "host");
	hand_plan_begin();
	hand_plan_add(PLAN_DIRECTORY, BASE, "/place", NULL);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/proc", NULL);
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc");
}

TestSuite(places, .init = prepare, .fini = look_folder_remove, .timeout = 60);

static int add_layer(uint32_t role, const char *id)
{
	struct ipc_sandbox_layer layer = { places.count, place, role, "" };

	(void)snprintf(layer.id, sizeof(layer.id), "%s", id);
	return places_add(&places, &layer);
}

static int add(uint32_t role, const char *name)
{
	fd_close(&places.hosts[0]);
	places.hosts[0] = open(look_folder(name), O_PATH | O_CLOEXEC);
	return add_layer(role, "");
}

static void add_upper(const char *id)
{
	cr_assert_eq(add_layer(LAYER_UPPER, id), 0);
	cr_assert_eq(add_layer(LAYER_WORK, id), 0);
}

static void add_layers(void)
{
	cr_assert_eq(add_layer(LAYER_LOWER, MIDDLE_ID), 0);
	cr_assert_eq(add(LAYER_LOWER, "host"), 0);
	add_upper(UPPER_ID);
}

static int enter(void)
{
	uint32_t stage = STAGE_NONE;
	int error;

	if (dup3(state, STATE_FD, O_CLOEXEC) != STATE_FD)
		return ACT_FAILED;
	fd_close(&state);
	error = mounts_enter(&plan, 0, &shown, &places, &stage);
	if (error != expected_error || (error && stage != STAGE_MOUNTS)) {
		(void)fprintf(stderr, "%s: %s\n", stage_text(stage), strerror(-error));
		return ACT_FAILED;
	}
	places_clear(&places);
	(void)close(STATE_FD);
	return error ? ACT_PASSED : look();
}

static int stage_and_nest(void *unused)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int host = mounts_stage();
	int status = -1;
	uint32_t stage;
	pid_t pid;

	CHECK(host >= 0);
	CHECK(mounts_build_base(&plan, 0, host, &shown, &stage) == 0);
	fd_close(&host);
	CHECK(unshare(NESTED) == 0);
	CHECK(identity_map("/host/proc", true, uid, uid, gid) == 0);
	pid = fork();
	if (pid == 0)
		_exit(enter());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_inside(int (*looks)(void))
{
	look = looks;
	hand_plan_open(&plan);
	isolated_test(CLONE_NEWNS, stage_and_nest, NULL);
}

static void expect_failure(int error)
{
	expected_error = error;
	expect_inside(NULL);
}

static int look_at_overlay(void)
{
	CHECK(look_holds("/place", "both from-host from-middle"));
	CHECK(look_says("/place/both", "middle"));
	CHECK(look_says("/place/from-host", "host"));
	CHECK(look_create("/place/new") == 0);
	CHECK(unlink("/place/both") == 0);
	CHECK(look_write("/place/from-host") == 0);
	CHECK(look_holds("/place", "from-host from-middle new"));
	CHECK(look_flags("/place", ST_NOSUID | ST_NODEV));
	return ACT_PASSED;
}

Test(places, an_overlay_of_two_lowers)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	add_layers();
	expect_inside(look_at_overlay);
	cr_expect(look_holds(look_folder("host"), "both from-host"));
	cr_expect(look_holds(look_folder(MIDDLE "/place"), "both from-middle"));
	cr_expect(look_says(look_folder("host/from-host"), "host"));
	cr_expect(look_holds(look_folder(UPPER "/place"), "both from-host new"));
	cr_expect_eq(look_mode(look_folder(UPPER "/place/both")), S_IFCHR, "a whiteout");
}

static int look_at_mode(void)
{
	CHECK(look_mode("/place") == (S_IFDIR | 0710));
	CHECK(look_flags("/place", ST_NOSUID | ST_NODEV | ST_NOEXEC));
	return ACT_PASSED;
}

Test(places, the_mode_is_that_of_the_upper_directory)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs")->attributes |= MOUNT_ATTR_NOEXEC;
	add_layers();
	cr_assert_eq(chmod(look_folder(UPPER "/place"), 0710), 0);
	expect_inside(look_at_mode);
}

/* Does the file say the text anywhere? */
static bool mentions(const char *path, const char *text)
{
	static char content[16384];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t size;

	while (used < sizeof(content) - 1 &&
	       (size = read(fd, content + used, sizeof(content) - 1 - used)) > 0)
		used += (size_t)size;
	fd_close(&fd);
	content[used] = '\0';
	return strstr(content, text) != NULL;
}

static int look_for_names(void)
{
	CHECK(mentions("/proc/self/mountinfo", " /place "));
	CHECK(!mentions("/proc/self/mountinfo", "middle"));
	CHECK(!mentions("/proc/self/mountinfo", "upperdir=/"));
	CHECK(!mentions("/proc/self/mountinfo", strrchr(look_folder(""), '-')));
	CHECK(look_holds("/", ".sealed place proc"));
	CHECK(look_holds("/..", ".sealed place proc"));
	CHECK(look_holds("/proc/self/cwd", ".sealed place proc"));
	CHECK(chdir(look_folder(UPPER "/place")) != 0 && errno == ENOENT);
	for (int fd = 3; fd < 64; fd++)
		CHECK(fcntl(fd, F_GETFD) == -1 || fchdir(fd) != 0);
	return ACT_PASSED;
}

Test(places, the_layers_have_no_names_inside)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	add_layers();
	expect_inside(look_for_names);
}

static int confine_and_look(void)
{
	struct kernel_landlock_ruleset attr = { .handled_access_fs = LANDLOCK_FS_ALL };
	int fd = open("/place", O_PATH | O_CLOEXEC);
	int ruleset;

	attr = landlock_fit(attr, landlock_abi());
	ruleset = landlock_create(&attr);
	CHECK(ruleset >= 0 && landlock_allow(ruleset, &attr, fd, UINT64_MAX) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && landlock_enter(ruleset) == 0);
	CHECK(look_says("/place/both", "middle"));
	CHECK(look_says("/place/from-host", "host"));
	CHECK(look_write("/place/from-host") == 0);
	CHECK(look_create("/place/new") == 0);
	CHECK(rename("/place/new", "/place/renamed") == 0);
	CHECK(open("/proc/version", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	return ACT_PASSED;
}

Test(places, rules_are_about_the_merged_paths)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	add_layers();
	expect_inside(confine_and_look);
}

static int look_at_set_user_id(void)
{
	struct stat status;

	CHECK(stat("/place/tool", &status) == 0 && (status.st_mode & S_ISUID));
	CHECK(look_write("/place/tool") == 0); /* copied up */
	CHECK(chmod("/place/tool", 04755) == 0);
	CHECK(look_flags("/place", ST_NOSUID));
	return ACT_PASSED;
}

Test(places, set_user_id_bits_mean_nothing)
{
	write_file("host/tool", "#!/bin/sh\n");
	cr_assert_eq(chmod(look_folder("host/tool"), 04755), 0);
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs")->attributes = 0;
	add_layers();
	expect_inside(look_at_set_user_id);
}

static int look_at_bind_below(void)
{
	CHECK(look_holds("/place", "both from-middle inner sub"));
	CHECK(look_says("/place/sub/deep", "deep text"));
	CHECK(look_create("/place/sub/new") == 0);
	CHECK(unlink("/place/inner") == 0);
	return ACT_PASSED;
}

Test(places, a_binds_source_is_the_lowest_layer)
{
	add_place(PLAN_BIND, BASE, look_folder("folder"))->attributes = READ_ONLY;
	cr_assert_eq(add_layer(LAYER_LOWER, MIDDLE_ID), 0);
	add_upper(UPPER_ID);
	expect_inside(look_at_bind_below);
	cr_expect(look_holds(look_folder("folder"), "inner sub"));
	cr_expect(look_holds(look_folder("folder/sub"), "deep"));
	cr_expect(look_holds(look_folder(UPPER "/place"), "inner sub"));
}

static int look_at_one_below(void)
{
	CHECK(look_holds("/place", "both from-middle"));
	CHECK(look_create("/place/new") == 0);
	return ACT_PASSED;
}

Test(places, a_bind_needs_no_other_layer)
{
	add_place(PLAN_BIND, BASE, look_folder(MIDDLE "/place"))->attributes = READ_ONLY;
	add_upper(UPPER_ID);
	expect_inside(look_at_one_below);
	cr_expect(look_holds(look_folder(UPPER "/place"), "new"));
}

static int look_at_plain_bind(void)
{
	CHECK(look_holds("/place", "inner sub"));
	CHECK(look_create("/place/new") == EROFS);
	return ACT_PASSED;
}

Test(places, a_bind_without_layers_stays_one)
{
	add_place(PLAN_BIND, BASE, look_folder("folder"))->attributes = READ_ONLY;
	expect_inside(look_at_plain_bind);
}

static int look_at_read_only_bind(void)
{
	CHECK(look_holds("/place", "both from-host"));
	CHECK(look_says("/place/both", "host"));
	CHECK(look_create("/place/new") == EROFS);
	CHECK(look_write("/place/both") == EROFS);
	CHECK(look_flags("/place", ST_RDONLY | ST_NOSUID | ST_NODEV));
	return ACT_PASSED;
}

Test(places, a_workspace_that_is_only_read)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add(LAYER_READ, "host"), 0);
	expect_inside(look_at_read_only_bind);
	cr_expect(look_holds(look_folder("host"), "both from-host"));
}

static int look_at_written_bind(void)
{
	CHECK(look_holds("/place", "both from-host"));
	CHECK(look_create("/place/new") == 0);
	CHECK(look_flags("/place", ST_NOSUID | ST_NODEV));
	return ACT_PASSED;
}

Test(places, a_workspace_that_is_written)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	expect_inside(look_at_written_bind);
	cr_expect(look_holds(look_folder("host"), "both from-host new"));
}

/* What a mount point inside needs, the host does not get. */
Test(places, nothing_is_made_in_a_workspace_that_is_written)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	hand_plan_add(PLAN_TMPFS, SANDBOX, "/place/inside", "tmpfs");
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	expect_failure(-EROFS);
	cr_expect(look_holds(look_folder("host"), "both from-host"));
}

static int look_at_the_middle(void)
{
	CHECK(look_holds("/place", "both from-middle"));
	return look_create("/place/new") == 0 ? ACT_PASSED : ACT_FAILED;
}

/* A layer was made before the profile had the place. */
Test(places, a_layer_without_the_place_is_left_out)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add_layer(LAYER_LOWER, OTHER_ID), 0);
	cr_assert_eq(add_layer(LAYER_LOWER, MIDDLE_ID), 0);
	add_upper(UPPER_ID);
	expect_inside(look_at_the_middle);
}

static int look_at_nothing(void)
{
	CHECK(look_holds("/place", ""));
	return look_create("/place/new") == 0 ? ACT_PASSED : ACT_FAILED;
}

Test(places, the_first_layer_gets_the_place)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	add_upper(OTHER_ID);
	expect_inside(look_at_nothing);
	cr_expect(look_holds(look_folder(OTHER), "place work-place"));
	cr_expect(look_holds(look_folder(OTHER "/place"), "new"));
	cr_expect_eq(look_mode(look_folder(OTHER "/work-place")), S_IFDIR | 0700);
	cr_expect(look_holds(look_folder("empty"), ""));
}

/* The workload owns the place, and may have closed it. */
Test(places, an_unreadable_place_is_one)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(chmod(look_folder(UPPER "/place"), 0), 0);
	add_layers();
	expect_inside(look_at_overlay);
}

Test(places, a_workspace_that_is_gone)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	make("gone");
	cr_assert_eq(add(LAYER_LOWER, "gone"), 0);
	add_upper(UPPER_ID);
	cr_assert_eq(rmdir(look_folder("gone")), 0);
	expect_failure(-ESTALE);
}

Test(places, another_directory_of_that_name)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	make("gone");
	cr_assert_eq(add(LAYER_LOWER, "gone"), 0);
	add_upper(UPPER_ID);
	cr_assert_eq(rmdir(look_folder("gone")), 0);
	make("gone (deleted)"); /* as the kernel calls it */
	make("gone");
	expect_failure(-ESTALE);
}

Test(places, a_workspace_that_was_renamed_is_found)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	add_layers();
	cr_assert_eq(rename(look_folder("host"), look_folder("ho\nst")), 0);
	expect_inside(look_at_overlay);
	cr_expect(look_holds(look_folder(UPPER "/place"), "both from-host new"));
}

Test(places, a_file_is_no_workspace)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add(LAYER_LOWER, "file"), 0);
	add_upper(UPPER_ID);
	expect_failure(-ENOTDIR);
}

Test(places, an_overlay_needs_its_upper_directory)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add(LAYER_LOWER, "host"), 0);
	cr_assert_eq(add_layer(LAYER_LOWER, MIDDLE_ID), 0);
	expect_failure(-EINVAL);
}

Test(places, what_is_bound_is_alone)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	add_layers();
	expect_failure(-EINVAL);
}

Test(places, there_is_an_end_to_layers)
{
	const size_t deep = LAYERS_DEEP_MAX;

	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	for (size_t i = 0; i < deep; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "layers/%026zu", i);
		make(name);
		cr_assert_eq(add_layer(LAYER_LOWER, strchr(name, '/') + 1), 0);
		(void)strncat(name, "/place", sizeof(name) - strlen(name) - 1);
		make(name);
	}
	add_layers();
	expect_inside(look_at_overlay);
	while (places.count < PLACES_LAYERS_MAX)
		cr_assert_eq(add(LAYER_LOWER, "host"), 0);
	cr_expect_eq(add(LAYER_LOWER, "host"), -EPROTO);
	places_clear(&places);
	cr_expect_eq(add(LAYER_LOWER, "host"), 0);
}

Test(places, roles_are_a_closed_set)
{
	cr_expect_eq(add(0, "host"), -EPROTO);
	cr_expect_eq(add(LAYER_UPPER, "host"), -EPROTO, "a workspace is no layer");
	cr_expect_eq(add_layer(LAYER_READ, UPPER_ID), -EPROTO, "a layer is no workspace");
	cr_expect_eq(add_layer(LAYER_WRITE, UPPER_ID), -EPROTO);
	cr_expect_eq(add(LAYER_WORK, "host"), -EPROTO);
	cr_expect_eq(add_layer(0, UPPER_ID), -EPROTO);
	cr_expect_eq(add_layer(UINT32_MAX, UPPER_ID), -EPROTO);
	cr_expect_eq(add(LAYER_ROLE_COUNT, "host"), -EPROTO);
	cr_expect_eq(add(UINT32_MAX, "host"), -EPROTO);
	cr_expect_eq(places.count, 0);
}

Test(places, one_sandbox_at_a_time)
{
	const struct ipc_sandbox_layer again = { 1, 0, LAYER_UPPER, OTHER_ID };
	const struct ipc_sandbox_layer other = { 0, 0, LAYER_UPPER, OTHER_ID };

	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	hand_plan_open(&plan);
	add_layers();
	cr_expect_eq(places_add(&places, &again), -EPROTO);
	cr_expect_not(places_fit(&places, 3, &plan, &hand_plan.profile));
	cr_expect_not(places_fit(&places, 5, &plan, &hand_plan.profile));
	cr_expect(places_fit(&places, 4, &plan, &hand_plan.profile));
	cr_expect_eq(places_add(&places, &other), 0);
	cr_expect_eq(places.count, 1, "the others never came to be");
	cr_expect(places_fit(&places, 0, &plan, &hand_plan.profile));
	cr_expect_eq(places.count, 0);
}

Test(places, only_records_with_a_place_have_any)
{
	add_place(PLAN_TMPFS, SANDBOX, "tmpfs");
	hand_plan_open(&plan);
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	cr_expect(places_fit(&places, 1, &plan, &hand_plan.profile));
	place--;
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	cr_expect_not(places_fit(&places, 3, &plan, &hand_plan.profile));
	places_clear(&places);
	place += 2;
	cr_assert_eq(add(LAYER_WRITE, "host"), 0);
	cr_expect_not(places_fit(&places, 1, &plan, &hand_plan.profile));
}
