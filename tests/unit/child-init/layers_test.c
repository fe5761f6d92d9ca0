/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of a persistent sandbox: a factory with a state directory, and the test as a
 * supervisor that names what it likes, beside an msp-store that puts there what it can. Neither
 * makes another directory a layer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/layer_role.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "hand_plan.h"
#include "look.h"
#include "places.h"
#include "supervised.h"

#define BASE PLAN_PHASE_BASE
#define SANDBOX PLAN_PHASE_SANDBOX
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

#define SLOT 5 /* of the sandbox */
#define ONE 11 /* of its executions */
#define TWO 12

static uint32_t place; /* index of the record that has one */

/* A tree in which a shell runs. */
static void prepare(void)
{
	static const char *const links[] = { "/bin", "/lib", "/lib64" };
	static char targets[3][16];
	struct plan_mount *mount;

	(void)look_folder_make();
	hand_plan_begin();
	hand_plan_add(PLAN_BIND, BASE, "/usr", "/usr")->attributes = READ_ONLY;
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "usr%s", links[i]);
		hand_plan_add(PLAN_SYMLINK, BASE, links[i], targets[i]);
	}
	hand_plan_add(PLAN_DEVICE, BASE, "/dev/null", "/dev/null")->device = makedev(1, 3);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/proc", NULL);
	hand_plan_add(PLAN_DIRECTORY, BASE, "/place", NULL);
	hand_plan_add(PLAN_PROC, SANDBOX, "/proc", "proc");
	mount = hand_plan_add(PLAN_TMPFS, SANDBOX, "/place", "tmpfs");
	mount->place = hand_plan_put("workspace", sizeof("workspace"));
	place = hand_plan.profile.mount_count - 1;
	hand_plan_allow("/");
	hand_plan.profile.memory_bytes = (uint64_t)1 << 30;
	hand_plan.profile.pids = 128;
	supervised_state(look_folder(""));
}

static void clean(void)
{
	supervised_end();
	look_folder_remove();
}

TestSuite(layers, .init = prepare, .fini = clean, .timeout = 120);

#define LOWER_ID "00000000000000000000000001"
#define UPPER_ID "00000000000000000000000002"
#define LOWER "layers/" LOWER_ID
#define UPPER "layers/" UPPER_ID

static void name_layers(void)
{
	supervised_layer(place, LAYER_LOWER, LOWER_ID);
	supervised_workspace(place, LAYER_LOWER, look_folder("folder"));
	supervised_layer(place, LAYER_UPPER, UPPER_ID);
	supervised_layer(place, LAYER_WORK, UPPER_ID);
}

static void add_layers(void)
{
	for (const char *const *name =
		     (const char *const[]){ "layers", UPPER, LOWER, LOWER "/workspace", NULL };
	     *name; name++)
		cr_assert_eq(mkdir(look_folder(*name), 0755), 0);
	name_layers();
}

Test(layers, files_of_a_place_last)
{
	struct channel init;
	struct streams streams;

	supervised_begin(LIMITS_CGROUP);
	add_layers();
	init = supervised_create(SLOT, true);
	streams = supervised_spawn(&init, ONE,
				   "cd /place; cat inner; echo one >>inner; echo new >new");
	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "inner text");
	streams = supervised_spawn(&init, TWO, "cat /place/new; echo /proc/1/fd/* /proc/$$/fd/*");
	cr_assert_eq(supervised_await(&init, TWO)->status, 0);
	cr_expect_not_null(strstr(supervised_read(&streams.out), "new\n/proc/1/fd/* "));
	cr_expect(look_says(look_folder(UPPER "/workspace/inner"), "inner textone\n"));
	cr_expect(look_says(look_folder(UPPER "/workspace/new"), "new\n"));
	cr_expect(look_says(look_folder("folder/inner"), "inner text"));
	fd_close(&init.fd); /* the sandbox ends */
	supervised_workspace(place, LAYER_WRITE, look_folder("folder"));
	init = supervised_create(SLOT + 1, true);
	streams = supervised_spawn(&init, ONE, "ls /place");
	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "inner\nsub\n", "of another sandbox");
}

/* The start of a sandbox of these layers ends with this errno, and the factory goes on. */
static void expect_failure(int error)
{
	const struct channel init = supervised_create(SLOT, true);
	static struct channel_message message;
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(&init, &message, 0, &wrong), 1);
	cr_assert_eq(message.type, IPC_TYPE_network_socket);
	channel_message_done(&message);
	cr_assert_eq(channel_receive(&init, &message, 0, &wrong), 1);
	cr_assert_eq(message.type, IPC_TYPE_init_failed);
	cr_expect_eq(ipc_body(&message, init_failed)->stage, STAGE_MOUNTS);
	cr_expect_eq(ipc_body(&message, init_failed)->error, (uint32_t)error, "%s",
		     strerror((int)ipc_body(&message, init_failed)->error));
	cr_expect(supervised_ends(&init));
}

/* The true layers, once more. */
static void expect_success(void)
{
	const struct channel init = supervised_create(SLOT, true);
	struct streams streams = supervised_spawn(&init, ONE, "ls /place");

	cr_assert_eq(supervised_await(&init, ONE)->status, 0);
	cr_expect_str_eq(supervised_read(&streams.out), "inner\nsub\n");
	fd_close(&streams.in);
}

static void remove_lower(void)
{
	cr_assert_eq(rmdir(look_folder(LOWER "/workspace")), 0);
	cr_assert_eq(rmdir(look_folder(LOWER)), 0);
}

static void link_lower(void)
{
	remove_lower();
	cr_assert_eq(symlink(look_folder("folder"), look_folder(LOWER)), 0);
}

static void link_lower_to_a_layer(void)
{
	remove_lower();
	cr_assert_eq(symlink(UPPER_ID, look_folder(LOWER)), 0);
}

static void link_place(void)
{
	cr_assert_eq(rmdir(look_folder(LOWER "/workspace")), 0);
	cr_assert_eq(symlink(look_folder("folder"), look_folder(LOWER "/workspace")), 0);
}

static void link_upper_place(void)
{
	cr_assert_eq(symlink(look_folder("folder"), look_folder(UPPER "/workspace")), 0);
}

static void link_work(void)
{
	cr_assert_eq(symlink(look_folder("folder"), look_folder(UPPER "/work-workspace")), 0);
}

static void link_layers(void)
{
	cr_assert_eq(rename(look_folder("layers"), look_folder("away")), 0);
	cr_assert_eq(symlink("away", look_folder("layers")), 0);
}

static void put_file_for_place(void)
{
	int fd;

	cr_assert_eq(rmdir(look_folder(LOWER "/workspace")), 0);
	fd = open(look_folder(LOWER "/workspace"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	fd_close(&fd);
}

/* A sandbox's directory, which an id names in another folder. */
static void move_lower_to_sandboxes(void)
{
	cr_assert_eq(mkdir(look_folder("sandboxes"), 0700), 0);
	cr_assert_eq(rename(look_folder(LOWER), look_folder("sandboxes/" LOWER_ID)), 0);
}

/* msp-store, taken over, could rename what is in the state directory, where a workload made links;
 * no list of system calls of it has a call that makes one. */
static void refuse(void (*put)(void), int error)
{
	supervised_begin(LIMITS_CGROUP);
	add_layers();
	put();
	expect_failure(error);
	cr_expect(look_holds(look_folder("folder"), "inner sub"));
}

#define NO_LAYER(name, put, error)                                                                 \
	Test(layers, name)                                                                         \
	{                                                                                          \
		refuse(put, error);                                                                \
	}

NO_LAYER(a_layer_that_is_gone, remove_lower, ESTALE)
NO_LAYER(a_link_out, link_lower, ESTALE)
NO_LAYER(a_link_to_another_layer, link_lower_to_a_layer, ESTALE)
NO_LAYER(a_link_for_a_place, link_place, ELOOP)
NO_LAYER(a_link_for_the_uppers_place, link_upper_place, ELOOP)
NO_LAYER(a_link_for_the_work_directory, link_work, ELOOP)
NO_LAYER(a_link_for_all_layers, link_layers, ESTALE)
NO_LAYER(a_file_for_a_place, put_file_for_place, ENOTDIR)
NO_LAYER(a_sandboxs_own_directory, move_lower_to_sandboxes, ESTALE)

Test(layers, the_true_ones)
{
	supervised_begin(LIMITS_CGROUP);
	add_layers();
	expect_success();
}

Test(layers, a_state_directory_that_was_replaced)
{
	cr_assert_eq(mkdir(look_folder("state"), 0700), 0);
	supervised_state(look_folder("state"));
	supervised_begin(LIMITS_CGROUP);
	cr_assert_eq(rmdir(look_folder("state")), 0);
	cr_assert_eq(symlink(".", look_folder("state")), 0);
	add_layers();
	expect_failure(ESTALE);
}

Test(layers, without_a_state_directory_there_are_none)
{
	supervised_state("");
	supervised_begin(LIMITS_CGROUP);
	add_layers();
	expect_failure(ESTALE);
	supervised_workspace(place, LAYER_WRITE, look_folder("folder"));
	expect_success();
}

/* An id is one, or the message a breach of the protocol: no text of it leads anywhere. */
Test(layers, an_id_has_one_form)
{
	static const char *const wrong[] = { ".",
					     "..",
					     "/",
					     "../folder",
					     "/etc",
					     "0000000000000000000000000",
					     "../../../../../../../../..",
					     "../0000000000000000000/../",
					     "/0000000000000000000000000",
					     "0000000000000/000000000000",
					     ".0000000000000000000000000",
					     "0000000000000000000000000.",
					     "0000000000000000000000000U",
					     "0000000000000000000000000\n" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		supervised_begin(LIMITS_CGROUP);
		supervised_layer(place, LAYER_UPPER, wrong[i]);
		cr_expect(supervised_ends(supervised_factory()), "%s", wrong[i]);
		supervised_end();
		supervised_break_off();
	}
	supervised_begin(LIMITS_CGROUP);
	add_layers();
	expect_success();
}

/* A workspace has a descriptor, a layer has an id; neither takes the other's part. */
Test(layers, a_workspace_is_no_layer)
{
	static const struct {
		const char *id;
		uint32_t role;
	} rows[] = { { "", LAYER_UPPER },
		     { "", LAYER_WORK },
		     { LOWER_ID, LAYER_READ },
		     { LOWER_ID, LAYER_WRITE },
		     { LOWER_ID, LAYER_ROLE_COUNT },
		     { "", 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		supervised_begin(LIMITS_CGROUP);
		supervised_layer(place, rows[i].role, rows[i].id);
		cr_expect(supervised_ends(supervised_factory()), "%zu", i);
		supervised_end();
		supervised_break_off();
	}
}

Test(layers, fewer_layers_than_came)
{
	const struct ipc_sandbox_create create = { .slot = SLOT, .layers = 1, .lasts = true };
	struct channel init;
	int ends[2];

	supervised_begin(LIMITS_CGROUP);
	supervised_layer(place, LAYER_LOWER, LOWER_ID);
	supervised_layer(place, LAYER_LOWER, LOWER_ID);
	cr_assert_eq(channel_pair(ends), 0);
	init = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_INIT, IPC_SERVE };
	cr_assert_eq(
		channel_send(supervised_factory(), IPC_TYPE_sandbox_create, &create, &ends[1], 0),
		0);
	fd_close(&ends[1]);
	cr_expect(supervised_ends(supervised_factory()));
	cr_expect(supervised_ends(&init));
}

Test(layers, layers_of_a_record_without_a_place)
{
	supervised_begin(LIMITS_CGROUP);
	supervised_workspace(place - 1, LAYER_WRITE, look_folder("folder"));
	(void)supervised_ask(SLOT, true);
	cr_expect(supervised_ends(supervised_factory()));
}

Test(layers, too_many_layers)
{
	supervised_begin(LIMITS_CGROUP);
	for (uint32_t i = 0; i < PLACES_LAYERS_MAX; i++)
		supervised_layer(place, LAYER_LOWER, LOWER_ID);
	supervised_layer(place, LAYER_LOWER, LOWER_ID);
	cr_expect(supervised_ends(supervised_factory()));
}
